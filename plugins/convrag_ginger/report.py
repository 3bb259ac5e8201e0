"""The report of a run with GINGER: answered turns, sentences and topics."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from convrag import Report, TurnRecord


def count_topic_words(traces: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Word -> number of clusters that have it among the words of their topic, over the traces of the generator."""
    return Counter(
        word for trace in traces for cluster in trace.get("clusters", ()) for word in cluster.get("words", ())
    )


def rank_words(counts: Counter[str], most: int) -> list[tuple[str, int]]:
    """The words of most clusters, with the number of these; of equal ones in alphabetical order."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]


TITLE = "ginger"

_LISTED = 10
"""The most words of topics that the summary lists; metrics.json has 50."""


def report_outcomes(records: Iterable[TurnRecord]) -> Report | None:
    """Count outcomes, nuggets, sentences and words of topics; None where another generator, or none, answered."""
    counts: Counter[str] = Counter(
        answered=0, single=0, unanswerable=0, nuggets=0, sentences=0, reduced=0, left_out=0, unsupported=0
    )
    words: Counter[str] = Counter()
    for record in records:
        trace = record.trace.get("generator", {})
        if "outcome" in trace:
            words += count_topic_words([trace])
            sentences = trace.get("sentences", ())
            counts[str(trace["outcome"])] += 1
            counts["nuggets"] += len(trace["nuggets"])
            counts["sentences"] += len(sentences)
            counts["reduced"] += trace.get("reduced", 0)
            counts["left_out"] += trace.get("left_out", 0)
            counts["unsupported"] += sum(not sentence["supported"] for sentence in sentences)
    if not counts["answered"] + counts["single"] + counts["unanswerable"]:
        return None  # no turn was answered by this generator, as where answers come from a file
    line = (
        f"{counts['answered'] + counts['single']} turns answered from {counts['nuggets']} nuggets "
        f"({counts['single']} of them from a single one), {counts['unanswerable']} unanswerable; "
        f"{counts['sentences']} sentences, {counts['reduced']} of them reduced to a quotation, "
        f"{counts['left_out']} left out, {counts['unsupported']} flagged as unsupported"
    )
    if not words:
        return Report(TITLE, (line,), dict(counts))
    topics = f"words of topics, with the number of clusters: {format_topic_words(words)}"
    numbers = {**counts, "topic_words": dict(rank_words(words, 50))}
    return Report(TITLE, (line, topics), numbers)


def format_topic_words(words: Counter[str]) -> str:
    """The words that most clusters have, with their numbers: "moon (28), space (18)"."""
    return ", ".join(f"{word} ({number})" for word, number in rank_words(words, _LISTED))
