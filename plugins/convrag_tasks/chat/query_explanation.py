"""Why a query was searched for: what the record of a turn says of it, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from convrag import TurnRecord
from convrag.sdk.queries import describe_query

REASONS = {
    "first_turn": "it is the first question",
    "pronoun": "a pronoun in it may refer to what was said",
    "ellipsis": "it continues what was said",
    "comparison": "it compares, perhaps with what was said",
    "short": "it is short",
    "standalone": "nothing in it refers to what was said",
    "continues": "it is similar to what was said",
    "new_topic": "it is about something new",
    "wordless": "it has no words to search for",
    "always": "the gate always says so",
    "never": "the gate always says so",
}
"""Code of a reason in the trace of rewriter=condense -> the reason."""

_TOLD = {"prompt", "system", "edited", "condense", "gate", "reasons", "exchanges", "selected", "similarities"} | {
    *("known_share", "rejected", "extracted_sentences", "representative_sentences", "selected_sentences"),
    *("num_extracted_sentences", "num_clusters", "cluster_sizes", "searched_ahead", "available"),
    *("links", "resolved"),
}
"""Entries of a rewriter's trace that have words of their own, or none."""

_LONGEST = 120  # characters of an entry, or of a question that is quoted


def explain_query(records: Sequence[TurnRecord], rewriter: str = "") -> list[tuple[str, str]]:
    """Explain the queries of the last turn, as lines of a heading and a text: ("Gate", "the question was ...").

    Args:
        records: the turns of the conversation, at least one.
        rewriter: the option that rewrites questions.
    """
    record = records[-1]
    trace = record.trace.get("rewriter", {})
    lines = [("Asked", record.original_query), *_list_queries(record)]
    lines += _explain_memory(record.trace.get("memory", {}))
    if trace.get("edited"):
        lines.append(("Why", "you typed this query"))
    elif trace.get("rewriting") == "off":
        lines.append(("Why", "rewriting is off: the question is the query"))
    else:
        lines += [("Rewriter", rewriter), *_explain_rewriter(trace, records)]
    lines += [("Fallback", f"{stage}: {reason}") for stage, reason in record.fallbacks.items()]
    lines += _explain_passages(record)
    lines += [("Failed", record.error)]
    lines += [("Seconds", ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in record.timings.items()))]
    return [(heading, " ".join(text.split())) for heading, text in lines if text]


def _list_queries(record: TurnRecord) -> Iterator[tuple[str, str]]:
    for query in record.queries:
        described = describe_query(query)
        yield "Query", f"{query.text} ({described})" if described else query.text


def _explain_memory(trace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """How much of the history the turn has seen, and the summary of the rest."""
    if "turns" not in trace or "seen" not in trace:
        return
    tokens = f", {trace['tokens']} of {trace['tokens_of_all']} tokens" if "tokens_of_all" in trace else ""
    yield "Memory", f"{trace['seen']} of {_count(trace['turns'], 'turn')} seen{tokens}"
    for name, text in (("fell_out", "out of view since the last question"), ("recalled", "seen again")):
        if isinstance(turns := trace.get(name), list | tuple) and turns:
            yield "", f"{text}: {', '.join(map(str, turns))}"
    if trace.get("summary"):
        yield "", f"summary of {_count(trace.get('summarised', '?'), 'turn')}: {_quote(trace['summary'])}"


def _explain_rewriter(trace: Mapping[str, Any], records: Sequence[TurnRecord]) -> Iterator[tuple[str, str]]:
    if "condense" in trace:
        yield "Gate", _explain_gate(trace)
    if trace.get("searched_ahead"):
        yield "Ahead", "the question itself was searched for while it was rewritten"
    if "exchanges" in trace:
        seen = "exchange" if trace["exchanges"] == 1 else f"{trace['exchanges']} exchanges"
        yield "History", f"the rewriter saw the last {seen}"
    yield from _explain_links(trace, records)
    yield from _explain_selection(trace, records)
    yield from _explain_sentences(trace)
    if isinstance(share := trace.get("known_share"), float):
        yield "Drift", f"{share:.0%} of the query's new words were said before"
    if "rejected" in trace:
        yield "Rejected", f"the rewrite {_quote(trace['rejected'])}"
    rest = {name: entry for name, entry in trace.items() if name not in _TOLD}
    if described := _describe_entries(rest):
        yield "Trace", described


def _explain_gate(trace: Mapping[str, Any]) -> str:
    codes = [reason for reason in trace.get("reasons", ()) if isinstance(reason, str)]
    because = "; ".join(REASONS.get(code, code) for code in codes)
    decision = "rewritten" if trace["condense"] else "searched for as it is"
    return f"the question was {decision}: {because} (gate {trace.get('gate', 'unknown')})"


def _explain_links(trace: Mapping[str, Any], records: Sequence[TurnRecord]) -> Iterator[tuple[str, str]]:
    """What each reference of the question was linked to, and in which turn that was named, as rewriter=resolve does."""
    numbers = {record.turn_id: record.number for record in records}
    for link in trace.get("links", ()) if isinstance(trace.get("links"), list | tuple) else ():
        if isinstance(link, Mapping) and "antecedent" in link:
            turn = numbers.get(str(link.get("turn")), link.get("turn", "?"))
            said = f"{_quote(link.get('phrase', ''))} is {_quote(link['antecedent'])}, turn {turn}"
            yield "Link", f"{said} ({link.get('kind', '')}: {link.get('rule', '')})"


def _explain_selection(trace: Mapping[str, Any], records: Sequence[TurnRecord]) -> Iterator[tuple[str, str]]:
    """The turns that the rewriter chose of the history, with the scores by which it did."""
    if not isinstance(selected := trace.get("selected"), list | tuple):
        return
    of = f" of {trace['available']}" if "available" in trace else ""
    yield "Selected", f"{_count(len(selected), 'turn')}{of} of the history"
    turns = {record.turn_id: record for record in records}
    for turn_id in map(str, selected):
        turn = turns.get(turn_id)
        named = f"turn {turn.number}, {_quote(turn.original_query)}" if turn else turn_id
        yield "", f"{named}{_describe_scores(trace, turn_id)}"


def _describe_scores(trace: Mapping[str, Any], turn_id: str) -> str:
    similarities, reasons = trace.get("similarities"), trace.get("reasons")
    if isinstance(similarities, Mapping) and isinstance(similarity := similarities.get(turn_id), float):
        return f": similarity {similarity:.2f}"
    for reason in reasons if isinstance(reasons, list | tuple) else ():
        if isinstance(reason, Mapping) and reason.get("turn_id") == turn_id:
            flags = [name for name, value in reason.items() if value is True]
            scores = [f"{name} {value:.2f}" for name, value in reason.items() if isinstance(value, float) and value]
            return f": {', '.join([*flags, *scores])}".replace("_", " ")
    return ""


def _explain_sentences(trace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The sentences of the history that a rewriter such as mmr chose."""
    selected = trace.get("selected_sentences")
    if not isinstance(selected, list | tuple) or not selected:
        return
    of = f" of {trace['num_extracted_sentences']}" if "num_extracted_sentences" in trace else ""
    clusters = f", in {_count(trace['num_clusters'], 'cluster')}" if "num_clusters" in trace else ""
    yield "Selected", f"{len(selected)}{of} sentences of the history{clusters}"
    for each in selected:
        if isinstance(each, Mapping) and "sentence" in each:
            turn = f"turn {each.get('turn', '?')}" if each.get("turn") != 0 else "summary"
            yield "", f"{turn}, {each.get('speaker', '?')}: {_quote(each['sentence'])}"


def _explain_passages(record: TurnRecord) -> Iterator[tuple[str, str]]:
    hints = sum(item.hint for item in record.evidence.items)
    repeated = f", {hints} of them as hints at earlier ones" if hints else ""
    cited = len(record.answer.citations)
    yield "Passages", f"{len(record.hits)} found, {len(record.evidence.items)} read{repeated}, {cited} cited"
    for item in record.evidence.items:
        if item.passage.place and item.passage.id in record.answer.citations:
            yield "", f"[{item.number}] {item.passage.place}"


def _describe_entries(trace: Mapping[str, Any]) -> str:
    """The short entries of a trace that have no words of their own."""
    told = []
    for name, entry in trace.items():
        text = " ".join(map(str, entry)) if isinstance(entry, list | tuple) else str(entry)
        if entry is not None and not isinstance(entry, Mapping) and 0 < len(text) <= _LONGEST:
            told.append(f"{name.replace('_', ' ')} {text}")
    return ", ".join(told)


def _quote(text: object) -> str:
    line = " ".join(str(text).split())
    return f'"{line}"' if len(line) <= _LONGEST else f'"{line[:_LONGEST]} ..."'


def _count(number: object, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
