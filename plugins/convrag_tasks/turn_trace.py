"""A turn in plain words: why its query was searched for, and where its tokens went."""

from collections import OrderedDict
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

_EXPLAINED = {
    "prompt",
    "system",
    "edited",
    "condense",
    "gate",
    "exchanges",
    "known_share",
    "searched_ahead",
    "extracted_sentences",
    "representative_sentences",
    "cluster_sizes",
    "read_as",
    "reasoning",
}
"""Entries of a rewriter's trace that have words of their own, or none."""

_CONVERSATIONS = 200
"""Conversations whose turns are kept; more than run side by side."""

_LONGEST = 120  # characters of an entry, or of a question that is quoted


class TraceObserver:
    """An observer of a run that prints each turn's lines (`task.show=trace`).

    Args:
        print_lines: a function that prints a text of several lines.
    """

    def __init__(self, print_lines: Callable[[str], object]) -> None:
        self.print_lines = print_lines
        self._earlier: OrderedDict[tuple[str, str], list[TurnRecord]] = OrderedDict()
        """The turns of the conversations that went on last: a turn may cite their passages."""

    @hookimpl
    def convrag_turn_finished(self, run: Run, record: TurnRecord) -> None:
        """Print the turn."""
        conversation = (record.domain, record.conversation_id)
        records = self._earlier.setdefault(conversation, [])
        self._earlier.move_to_end(conversation)
        records.append(record)
        if len(self._earlier) > _CONVERSATIONS:
            self._earlier.popitem(last=False)
        self.print_lines(f"turn {record.turn_id}\n{format_turn_trace(records)}")


def format_turn_trace(records: Sequence[TurnRecord]) -> str:
    """Format the explanation of the last turn, and the tokens of its prompts, as lines.

    Args:
        records: the turns of the conversation, at least one.
    """
    record = records[-1]
    lines = [*explain_query(records), *_explain_tokens(record.replies)]
    formatted = [f"  {heading:8} {text}" for heading, text in lines]
    return "\n".join([*_diagnose_follow_up(record), *formatted])


def _diagnose_follow_up(record: TurnRecord) -> Iterator[str]:
    """Yield the lines with which the Perplexity-style assistant reports a follow-up question.

    They are about rewriter=condense and generator=chat; other turns have none.
    """
    if record.trace.get("rewriter", {}).get("condense"):
        yield "  Detected follow-up question, condensing..."
        yield "  Query condensation:"
        yield f"    Original: {_join_lines(record.original_query)}"
        yield f"    Standalone: {_join_lines(record.rewritten_query)}"
    chat = record.trace.get("generator", {})
    if record.number == 1 or "new_snippets" not in chat:
        return
    yield f"  Follow-up turn (#{record.number}): plain question only"
    snippets = chat["snippets"]
    new = chat["new_snippets"]
    if snippets and snippets == new:
        yield f"  Added {count(new, 'new snippet')} as evidence note"
    elif snippets:
        yield f"  Added {count(snippets, 'snippet')} as evidence note, {new} of them new"


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def explain_query(records: Sequence[TurnRecord], rewriter: str = "") -> list[tuple[str, str]]:
    """Explain the queries of the last turn.

    Args:
        records: the turns of the conversation, at least one.
        rewriter: the option that rewrites questions.

    Returns:
        Lines of a heading and a text: ("Gate", "the question was ...").
    """
    record = records[-1]
    rewriter_trace = record.trace.get("rewriter", {})
    lines = [("Asked", record.original_query)]
    lines += [("Query", text) for text in list_queries(record.queries)]
    lines += _explain_memory(record.trace.get("memory", {}))
    if rewriter_trace.get("edited"):
        lines.append(("Why", "you typed this query"))
    else:
        lines.append(("Rewriter", rewriter))
        lines += _explain_rewriter(rewriter_trace, records)
    lines += _explain_searches(record.trace.get("search", {}))
    read_as = record.trace.get("retriever", {}).get("read_as", {})
    for word, near in read_as.items():
        lines.append(("Read as", f"{near}, for {word}, which no passage has"))
    lines += _explain_carried(record)
    for stage, reason in record.fallbacks.items():
        lines.append(("Fallback", f"{stage}: {reason}"))
    lines += _explain_decision(record.trace.get("generator", {}).get("decision", {}))
    lines += _explain_passages(records)
    lines.append(("Failed", record.error))
    seconds = [f"{stage} {value:.2f}" for stage, value in record.timings.items()]
    lines.append(("Seconds", ", ".join(seconds)))
    return [(heading, " ".join(text.split())) for heading, text in lines if text]


def _explain_carried(record: TurnRecord) -> Iterator[tuple[str, str]]:
    """Yield the passages that retriever=carry has carried from earlier turns, and their ranks."""
    ranks = {hit.passage.id: rank for rank, hit in enumerate(record.hits, 1)}
    for each in record.trace.get("retriever", {}).get("carried", ()):
        rank = ranks.get(each["id"])
        place = f"rank {rank}" if rank else "not among the best"
        yield "Carried", f"{each['name']}, from turn {each['number']}: {place}"


def _explain_decision(decision: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the generator's decision to answer, with the signals that it rests on."""
    yield "Read as", decision.get("read_as", "")
    yield "Decision", decision.get("why", "")
    signals = [f"{name} {value:.2f}" for name, value in decision.get("signals", {}).items()]
    yield "", ", ".join(signals)


def _explain_memory(trace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield how much of the history the turn has seen, and the summary of the rest."""
    if "turns" not in trace or "seen" not in trace:
        return
    tokens = ""
    if "tokens_of_all" in trace:
        tokens = f", {trace['tokens']} of {trace['tokens_of_all']} tokens"
    yield "Memory", f"{trace['seen']} of {count(trace['turns'], 'turn')} seen{tokens}"
    for name, text in (
        ("fell_out", "out of view since the last question"),
        ("recalled", "seen again"),
    ):
        turns = trace.get(name)
        if isinstance(turns, list | tuple) and turns:
            yield "", f"{text}: {', '.join(map(str, turns))}"
    if trace.get("summary"):
        summarised = count(trace.get("summarised", "?"), "turn")
        yield "", f"summary of {summarised}: {_quote(trace['summary'])}"


def _explain_searches(trace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the searches one after the other, and why there were no more."""
    steps = trace.get("steps", ())
    for number, step in enumerate(steps, 1):
        first, *others = dict.fromkeys(step["queries"])
        text = first
        if others:
            text += f" and {len(others)} more"
        if "missing" in step:
            text += f" (missing: {step['missing']})"
        yield f"Search {number}", f"{text}: {count(step.get('found', 0), 'passage')}"
    if trace.get("why"):
        yield ("No more" if steps else "No search"), str(trace["why"])


def _explain_rewriter(
    trace: Mapping[str, Any], records: Sequence[TurnRecord]
) -> Iterator[tuple[str, str]]:
    if "condense" in trace:
        yield "Gate", _explain_gate(trace)
    if trace.get("searched_ahead"):
        yield "Ahead", "the question was searched for while the model condensed it"
    if "exchanges" in trace:
        seen = "exchange" if trace["exchanges"] == 1 else f"{trace['exchanges']} exchanges"
        yield "History", f"the rewriter saw the last {seen}"
    share = trace.get("known_share")
    if isinstance(share, float):
        yield "Drift", f"{share:.0%} of the query's new words were said before"
    gated = {"reasons"} if "condense" in trace else set()
    rest = {name: entry for name, entry in trace.items() if name not in _EXPLAINED | gated}
    yield from _explain_entries(rest, records)


def _explain_gate(trace: Mapping[str, Any]) -> str:
    codes = [reason for reason in trace.get("reasons", ()) if isinstance(reason, str)]
    because = "; ".join(REASONS.get(code, code) for code in codes)
    decision = "rewritten" if trace["condense"] else "searched for as it is"
    return f"the question was {decision}: {because} (gate {trace.get('gate', 'unknown')})"


def _explain_entries(
    trace: Mapping[str, Any], records: Sequence[TurnRecord]
) -> Iterator[tuple[str, str]]:
    """Yield the entries that have no words of their own.

    Short ones are in one line, objects and turns in a line each. Turns are named with their
    questions: the history that a rewriter chose, with the scores by which it did.
    """
    turns = {
        record.turn_id: f"turn {record.number}, {_quote(record.original_query)}"
        for record in records
    }
    short = []
    for name, entry in trace.items():
        items = _list_items(entry, turns)
        lines = [_describe_item(item, turns) for item in items if item is not None]
        if any(isinstance(item, Mapping) or str(item) in turns for item in items):
            heading = name.partition("_")[0].capitalize()
            yield from zip([heading, *[""] * len(lines)], lines, strict=False)
            continue
        text = " ".join(lines)
        if 0 < len(text) <= _LONGEST:
            short.append(f"{name.replace('_', ' ')} {text}")
    if short:
        yield "Trace", ", ".join(short)


def _list_items(entry: object, turns: Mapping[str, str]) -> Sequence[object]:
    """List the items of an entry; an object has one for each turn that it names."""
    if isinstance(entry, Mapping):
        # other keys belong to other stages
        return [{key: value} for key, value in entry.items() if str(key) in turns]
    if isinstance(entry, list | tuple):
        return entry
    return [entry]


def _describe_item(item: object, turns: Mapping[str, str]) -> str:
    """Describe a value, or the names and values of an object.

    `turn 1, "How far is it?": similarity 0.53, last`
    """
    if isinstance(item, Mapping):
        return _describe_object(item, turns)
    if isinstance(item, float):
        return f"{item:.2f}"
    text = str(item)
    if text in turns:
        return turns[text]
    return _quote(item) if len(text) > _LONGEST else text


def _describe_object(item: Mapping[Any, Any], turns: Mapping[str, str]) -> str:
    """Describe the names and values of an object; a name is enough for True, a turn for itself."""
    parts = []
    for key, value in item.items():
        if not value:
            continue
        name = turns.get(str(key), str(key).replace("_", " "))
        text = _describe_item(value, turns)
        if value is True:
            parts.append(name)
        elif text in turns.values():
            parts.append(text)
        else:
            parts.append(f"{name} {text}")
    return ", ".join(parts)


def _explain_passages(records: Sequence[TurnRecord]) -> Iterator[tuple[str, str]]:
    """Yield how many passages were found, read and cited, and the cited ones.

    An answer may cite a passage of an earlier turn.
    """
    record = records[-1]
    sources = list_sources(records)
    hints = sum(item.hint for item in record.evidence.items)
    repeated = f", {hints} of them as hints at earlier ones" if hints else ""
    cited = [source for source in sources if source.cited]
    number = len(record.answer.citations)
    yield "Passages", f"{len(record.hits)} found, {len(sources)} read{repeated}, {number} cited"
    for source in cited:
        yield "", f"[{source.number}] {describe_passage(source.passage)}"


def _quote(text: object) -> str:
    line = " ".join(str(text).split())
    return f'"{line}"' if len(line) <= _LONGEST else f'"{line[:_LONGEST]} ..."'


def _explain_tokens(replies: Iterable[tuple[Prompt, Completion]]) -> Iterator[tuple[str, str]]:
    """Yield a line for each task, with the tokens of its prompts and of the replies."""
    by_task: dict[str, list[Completion]] = {}
    for prompt, completion in replies:
        if completion.prompt_tokens:  # rules read none
            by_task.setdefault(prompt.task, []).append(completion)
    for task, completions in by_task.items():
        prompt_tokens = sum(each.prompt_tokens for each in completions)
        completion_tokens = sum(each.completion_tokens for each in completions)
        calls = count(len(completions), "call")
        yield "Tokens", f"{task}, {calls}: {prompt_tokens:,}; reply {completion_tokens:,}"
