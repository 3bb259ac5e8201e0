"""The report of `generator=ginger`: outcomes, nuggets, sentences and words of topics."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from convrag import Report, TurnRecord


def describe_untagged(replies: int) -> str:
    """Say that a model ignores the tags."""
    had = "1 reply" if replies == 1 else f"{replies} replies"
    return (
        f"{had} had no tags: this model does not follow the format; detector=sentences needs none"
    )


def count_topic_words(traces: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Count the clusters that have a word among the words of their topic, over the traces."""
    counts: Counter[str] = Counter()
    for trace in traces:
        for cluster in trace.get("clusters", ()):
            counts.update(cluster.get("words", ()))
    return counts


def rank_words(counts: Counter[str], most: int) -> list[tuple[str, int]]:
    """Rank words by the number of their clusters; equal ones are in alphabetical order."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]


TITLE = "ginger"

_LISTED = 10
"""The most words of topics that the summary lists."""

_SAVED = 50
"""The most words of topics in metrics.json."""


def report_outcomes(records: Iterable[TurnRecord]) -> Report | None:
    """Report outcomes, nuggets, sentences and words of topics.

    None where no turn was answered by this generator, as where answers come from a file.
    """
    traces = [record.trace.get("generator", {}) for record in records]
    traces = [trace for trace in traces if "outcome" in trace]
    counts = _count_outcomes(traces)
    if not counts["answered"] + counts["single"] + counts["unanswerable"]:
        return None
    lines = [
        f"{counts['answered'] + counts['single']} turns answered from {counts['nuggets']} nuggets "
        f"({counts['single']} of them from a single one), {counts['unanswerable']} unanswerable; "
        f"{counts['sentences']} sentences, {counts['reduced']} of them reduced to a quotation, "
        f"{counts['left_out']} left out, {counts['unsupported']} flagged as unsupported"
    ]
    numbers: dict[str, Any] = dict(counts)
    if counts["untagged"]:
        lines.append(describe_untagged(counts["untagged"]))
    words = count_topic_words(traces)
    if words:
        topics = format_topic_words(words)
        lines.append(f"words of topics, with the number of clusters: {topics}")
        numbers["topic_words"] = dict(rank_words(words, _SAVED))
    return Report(TITLE, tuple(lines), numbers)


def _count_outcomes(traces: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Count the outcomes of the generator's traces, and their nuggets and sentences."""
    names = "answered single unanswerable nuggets sentences reduced left_out unsupported"
    counts = Counter(dict.fromkeys(names.split(), 0))
    for trace in traces:
        sentences = trace.get("sentences", ())
        counts[str(trace["outcome"])] += 1
        counts["nuggets"] += len(trace.get("nuggets", ()))
        counts["sentences"] += len(sentences)
        counts["reduced"] += trace.get("reduced", 0)
        counts["left_out"] += trace.get("left_out", 0)
        counts["untagged"] += trace.get("untagged", 0)
        counts["unsupported"] += sum(not sentence["supported"] for sentence in sentences)
    return counts


def format_topic_words(words: Counter[str]) -> str:
    """Format the words that most clusters have, with their numbers: "moon (28), space (18)"."""
    return ", ".join(f"{word} ({number})" for word, number in rank_words(words, _LISTED))
