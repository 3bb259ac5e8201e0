"""What happened in a turn, in plain words: why its query was searched for, and where its tokens
went.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from convrag import Completion, Prompt, Run, TurnRecord, hookimpl
from convrag.sdk.data.transcript import describe_passage, list_sources
from convrag.sdk.output.printable import count
from convrag.sdk.search.queries import list_queries

REASONS = {
    "first_turn": "it is the first question",
    "pronoun": "a pronoun in it may refer to what was said",
    "ellipsis": "it continues what was said",
    "comparison": "it compares, perhaps with what was said",
    "short": "it is short",
    "standalone": "nothing in it refers to what was said",
    "always": "the gate always says so",
    "never": "the gate always says so",
}
"""Code of a reason in the trace of rewriter=condense -> the reason."""

_TOLD = {"prompt", "system", "edited", "condense", "gate", "exchanges", "known_share"} | {
    *("extracted_sentences", "representative_sentences", "cluster_sizes", "read_as")
}
"""Entries of a rewriter's trace that have words of their own, or none."""

_LONGEST = 120  # characters of an entry, or of a question that is quoted


class TraceObserver:
    """Observes a run, and prints each turn's lines when the turn is added to the results (`task.show=trace`).

    Args:
        print_lines: prints a text of several lines.
    """

    def __init__(self, print_lines: Callable[[str], object]) -> None:
        self.print_lines = print_lines

    @hookimpl
    def convrag_turn_finished(self, run: Run, record: TurnRecord) -> None:
        """Print the turn."""
        self.print_lines(f"turn {record.turn_id}\n{format_turn_trace([record])}")


def format_turn_trace(records: Sequence[TurnRecord]) -> str:
    """The explanation of the last turn, and the tokens of its prompts, as lines.

    Args:
        records: the turns of the conversation, at least one.
    """
    lines = [*explain_query(records), *_explain_tokens(records[-1].replies)]
    return "\n".join(f"  {heading:8} {text}" for heading, text in lines)


def explain_query(records: Sequence[TurnRecord], rewriter: str = "") -> list[tuple[str, str]]:
    """Explain the queries of the last turn, as lines of a heading and a text: ("Gate", "the
    question was ...").

    Args:
        records: the turns of the conversation, at least one.
        rewriter: the option that rewrites questions.
    """
    record = records[-1]
    trace = record.trace.get("rewriter", {})
    lines = [
        ("Asked", record.original_query),
        *(("Query", text) for text in list_queries(record.queries)),
    ]
    lines += _explain_memory(record.trace.get("memory", {}))
    if trace.get("edited"):
        lines.append(("Why", "you typed this query"))
    else:
        lines += [("Rewriter", rewriter), *_explain_rewriter(trace, records)]
    lines += _explain_searches(record.trace.get("search", {}))
    read_as = record.trace.get("retriever", {}).get("read_as", {})
    lines += [
        ("Read as", f"{near}, for {word}, which no passage has") for word, near in read_as.items()
    ]
    lines += [("Fallback", f"{stage}: {reason}") for stage, reason in record.fallbacks.items()]
    decision = record.trace.get("generator", {}).get("decision", {})
    lines += [("Read as", decision.get("read_as", "")), ("Decision", decision.get("why", ""))]
    lines += [
        (
            "",
            ", ".join(f"{name} {value:.2f}" for name, value in decision.get("signals", {}).items()),
        )
    ]
    lines += _explain_passages(records)
    lines += [("Failed", record.error)]
    lines += [
        (
            "Seconds",
            ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in record.timings.items()),
        )
    ]
    return [(heading, " ".join(text.split())) for heading, text in lines if text]


def _explain_memory(trace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """How much of the history the turn has seen, and the summary of the rest."""
    if "turns" not in trace or "seen" not in trace:
        return
    tokens = (
        f", {trace['tokens']} of {trace['tokens_of_all']} tokens"
        if "tokens_of_all" in trace
        else ""
    )
    yield "Memory", f"{trace['seen']} of {count(trace['turns'], 'turn')} seen{tokens}"
    for name, text in (
        ("fell_out", "out of view since the last question"),
        ("recalled", "seen again"),
    ):
        if isinstance(turns := trace.get(name), list | tuple) and turns:
            yield "", f"{text}: {', '.join(map(str, turns))}"
    if trace.get("summary"):
        yield (
            "",
            f"summary of {count(trace.get('summarised', '?'), 'turn')}: {_quote(trace['summary'])}",
        )


def _explain_searches(trace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What was searched for one after the other, and why no more."""
    for number, step in enumerate(trace.get("steps", ()), 1):
        first, *others = dict.fromkeys(step["queries"])
        more = f" and {len(others)} more" * bool(others) + f" (missing: {step.get('missing')})" * (
            "missing" in step
        )
        yield f"Search {number}", f"{first}{more}: {count(step.get('found', 0), 'passage')}"
    if trace.get("why"):
        yield ("No more" if trace.get("steps") else "No search"), str(trace["why"])


def _explain_rewriter(
    trace: Mapping[str, Any], records: Sequence[TurnRecord]
) -> Iterator[tuple[str, str]]:
    if "condense" in trace:
        yield "Gate", _explain_gate(trace)
    if "exchanges" in trace:
        seen = "exchange" if trace["exchanges"] == 1 else f"{trace['exchanges']} exchanges"
        yield "History", f"the rewriter saw the last {seen}"
    if isinstance(share := trace.get("known_share"), float):
        yield "Drift", f"{share:.0%} of the query's new words were said before"
    gated = {"reasons"} if "condense" in trace else set()
    rest = {name: entry for name, entry in trace.items() if name not in _TOLD | gated}
    yield from _explain_entries(rest, records)


def _explain_gate(trace: Mapping[str, Any]) -> str:
    codes = [reason for reason in trace.get("reasons", ()) if isinstance(reason, str)]
    because = "; ".join(REASONS.get(code, code) for code in codes)
    decision = "rewritten" if trace["condense"] else "searched for as it is"
    return f"the question was {decision}: {because} (gate {trace.get('gate', 'unknown')})"


def _explain_entries(
    trace: Mapping[str, Any], records: Sequence[TurnRecord]
) -> Iterator[tuple[str, str]]:
    """The entries that have no words of their own: short ones in one line, objects and turns in a
    line each.

    Turns stand there with their questions: the history that a rewriter chose, with the scores by
    which it did.
    """
    turns = {
        record.turn_id: f"turn {record.number}, {_quote(record.original_query)}"
        for record in records
    }
    short = []
    for name, entry in trace.items():
        title, items = name.replace("_", " "), entry if isinstance(entry, list | tuple) else [entry]
        if isinstance(entry, Mapping):
            items = [
                {key: value} for key, value in entry.items() if str(key) in turns
            ]  # others are of other stages
        lines = [_describe_item(item, turns) for item in items if item is not None]
        if any(isinstance(item, Mapping) or str(item) in turns for item in items):
            heading = name.partition("_")[0].capitalize()
            yield from zip([heading, *[""] * len(lines)], lines, strict=False)
        elif 0 < len(text := " ".join(lines)) <= _LONGEST:
            short.append(f"{title} {text}")
    if short:
        yield "Trace", ", ".join(short)


def _describe_item(item: object, turns: Mapping[str, str]) -> str:
    """A value, or the names and values of an object: `turn 1, "How far is it?": similarity 0.53,
    last`.
    """
    if isinstance(item, Mapping):
        told = {
            turns.get(str(name), str(name).replace("_", " ")): value
            for name, value in item.items()
            if value
        }
        shown = {name: _describe_item(value, turns) for name, value in told.items()}
        bare = [name for name, value in told.items() if value is True]
        return ", ".join(
            name if name in bare else text if text in turns.values() else f"{name} {text}"
            for name, text in shown.items()
        )
    if isinstance(item, float):
        return f"{item:.2f}"
    return turns.get(str(item)) or (_quote(item) if len(str(item)) > _LONGEST else str(item))


def _explain_passages(records: Sequence[TurnRecord]) -> Iterator[tuple[str, str]]:
    record, sources = records[-1], list_sources(records)
    hints = sum(item.hint for item in record.evidence.items)
    repeated = f", {hints} of them as hints at earlier ones" if hints else ""
    cited = [source for source in sources if source.cited]
    yield "Passages", f"{len(record.hits)} found, {len(sources)} read{repeated}, {len(cited)} cited"
    yield from (("", f"[{source.number}] {describe_passage(source.passage)}") for source in cited)


def _quote(text: object) -> str:
    line = " ".join(str(text).split())
    return f'"{line}"' if len(line) <= _LONGEST else f'"{line[:_LONGEST]} ..."'


def _explain_tokens(replies: Iterable[tuple[Prompt, Completion]]) -> Iterator[tuple[str, str]]:
    """A line for each task: the tokens of its prompts, and of the replies."""
    tasks: dict[str, list[Completion]] = {}
    for prompt, completion in replies:
        if completion.prompt_tokens:  # rules read none
            tasks.setdefault(prompt.task, []).append(completion)
    for task, asked in tasks.items():
        read, replied = (
            sum(getattr(each, f"{kind}_tokens") for each in asked)
            for kind in ("prompt", "completion")
        )
        yield "Tokens", f"{task}, {count(len(asked), 'call')}: {read:,}; reply {replied:,}"
