"""What happened in a turn, as lines for the terminal (`task.show=trace`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from convrag import Completion, Prompt, Query, Run, TurnRecord, hookimpl
from convrag.sdk.queries import describe_query

_HIDDEN = ("prompt", "system")  # the hash of a prompt, and whose trace it is
_LONGEST = 120  # characters of an entry


class TraceObserver:
    """Observes a run, and prints each turn's lines when the turn is added to the results.

    Args:
        print_lines: prints a text of several lines.
    """

    def __init__(self, print_lines: Callable[[str], object]) -> None:
        self.print_lines = print_lines

    @hookimpl
    def convrag_turn_finished(self, run: Run, record: TurnRecord) -> None:
        """Print the turn."""
        self.print_lines(f"turn {record.turn_id}: {record.original_query}\n{format_turn_trace(record)}")


def format_turn_trace(record: TurnRecord) -> str:
    """A turn's rewriter, queries, passages, tokens and seconds; what each stage could not do stands with it."""
    lines = [f"  rewriter: {_format_entries(record.trace.get('rewriter', {}))}"]
    lines += [f"  {stage} fell back: {reason}" for stage, reason in record.fallbacks.items()]
    lines += [f"  searched for: {query.text!r}{_format_note(query)}" for query in record.queries]
    hints = sum(item.hint for item in record.evidence.items)
    shown = f"{len(record.evidence.items)} shown" + (f", {hints} of them as hints" if hints else "")
    lines += [f"  passages: {len(record.hits)} retrieved, {shown}", *_format_tokens(record.replies)]
    lines.append("  seconds: " + ", ".join(f"{stage} {took:.2f}" for stage, took in record.timings.items()))
    return "\n".join([*lines, f"  failed: {record.error}"] if record.error else lines)


def count_parts(prompt: Prompt, tokens: int) -> dict[str, int]:
    """The tokens of a prompt by part: instructions, history, evidence and question; parts that are empty are left out.

    The number of all tokens is the model's own. Each part has its share of the characters, so the parts are estimates.

    Args:
        prompt: messages before the last one that is no instruction are history, as are those inputs of that name that
            stand in the last message.
        tokens: of the whole prompt.
    """
    said = [message.content for message in prompt.messages if message.role != "system"]
    last = said[-1] if said else ""

    def count_characters(texts: Iterable[object]) -> int:
        return sum(len(text) for text in texts if isinstance(text, str) and text in last)

    history = [text for turn in _list_mappings(prompt.inputs.get("history")) for text in turn.values()]
    evidence = [text for item in _list_mappings(prompt.inputs.get("evidence")) for text in item.values()]
    found = {
        "history": sum(map(len, said[:-1])) + count_characters(history),
        "evidence": count_characters(evidence),
        "question": count_characters([prompt.inputs.get("question")]),
    }
    whole = sum(len(message.content) for message in prompt.messages)
    characters = {"instructions": max(whole - sum(found.values()), 0), **found}
    return {part: round(tokens * size / whole) for part, size in characters.items() if size and whole}


def _format_tokens(replies: Iterable[tuple[Prompt, Completion]]) -> list[str]:
    """A line for each task: the tokens of its prompts by part, and of the replies."""
    tasks: dict[str, list[tuple[Prompt, Completion]]] = {}
    for prompt, completion in replies:
        if completion.prompt_tokens:  # rules read none
            tasks.setdefault(prompt.task, []).append((prompt, completion))
    lines = []
    for task, asked in tasks.items():
        parts: dict[str, int] = {}
        for prompt, completion in asked:
            for part, tokens in count_parts(prompt, completion.prompt_tokens).items():
                parts[part] = parts.get(part, 0) + tokens
        total = sum(completion.prompt_tokens for _, completion in asked)
        calls = f" ({len(asked)} calls)" if len(asked) > 1 else ""
        by_part = ", ".join(f"{part} {tokens:,}" for part, tokens in parts.items())
        replied = sum(completion.completion_tokens for _, completion in asked)
        lines.append(f"  tokens of {task!r}{calls}: {total:,} ({by_part}); reply {replied:,}")
    return lines


def _format_entries(trace: Mapping[str, Any]) -> str:
    """The short entries of a trace: numbers, words, and lists of such."""
    shown = []
    for name, entry in trace.items():
        text = " ".join(map(str, entry)) if isinstance(entry, list | tuple) else str(entry)
        nested = isinstance(entry, Mapping) or (isinstance(entry, list | tuple) and any(map(_is_nested, entry)))
        if name not in _HIDDEN and not nested and 0 < len(text) <= _LONGEST:
            shown.append(f"{name} {text}")
    return ", ".join(shown) or "nothing to say"


def _is_nested(entry: object) -> bool:
    return isinstance(entry, Mapping | list | tuple)


def _list_mappings(given: Any) -> list[Mapping[str, Any]]:
    return [each for each in given if isinstance(each, Mapping)] if isinstance(given, list | tuple) else []


def _format_note(query: Query) -> str:
    described = describe_query(query)
    return f" ({described})" if described else ""
