"""Spans for the calls of language models in a stage."""

from collections.abc import Iterator, Sequence

from convrag.api.completions import Completion, Prompt
from convrag.api.records import Usage
from convrag.sdk.output.spans import Row, count_usage, make_span, to_nanoseconds


def make_call_spans(
    calls: Sequence[tuple[Prompt, Completion]], usage: Usage, start: int, end: int, *, parent: int
) -> Iterator[Row]:
    """Make a span for each call of a language model in a stage, in the order of the replies.

    The duration of a call is known, and its beginning is not. So the calls follow each other. Where
    they took longer together than the stage, it asked from several threads, and all of them begin
    with it. A reply from the store takes no time.

    Args:
        calls: prompts and replies.
        usage: of the stage; it tells whether the replies come from the store.
        start: of the stage, in nanoseconds since 1970.
        end: likewise.
        parent: the place of the stage's span in the turn's list.
    """
    is_stored = _find_whether_stored(usage)
    durations = []
    for _, reply in calls:
        duration = min(to_nanoseconds(reply.seconds), end - start)
        durations.append(0 if is_stored else duration)
    are_parallel = sum(durations) > end - start
    begin = start
    for (prompt, reply), duration in zip(calls, durations, strict=True):
        yield _make_call_span(prompt, reply, begin, begin + duration, is_stored, parent)
        if not are_parallel:
            begin += duration


def _find_whether_stored(usage: Usage) -> bool | None:
    """Return whether all replies come from the store; None where only some do."""
    if usage.calls and usage.reused:
        return None
    return bool(usage.reused)


def _make_call_span(
    prompt: Prompt, reply: Completion, start: int, end: int, is_stored: bool | None, parent: int
) -> Row:
    counted = count_usage(reply)
    messages = [{"role": each.role, "content": each.content} for each in prompt.messages]
    # As MLflow shows a chat
    message = {"role": "assistant", "content": reply.text}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    choice: Row = {"index": 0, "message": message}
    if reply.finish_reason:
        choice["finish_reason"] = reply.finish_reason
    return make_span(
        prompt.task,
        "CHAT_MODEL" if counted.get("tokens") else "TASK",  # rules count no tokens
        start,
        end,
        inputs={"messages": messages},
        outputs={"choices": [choice]},
        attributes={
            **counted,
            "model": reply.model or None,
            "convrag.stored": is_stored,
            "convrag.retries": reply.retries,
            "convrag.seconds": reply.seconds,
        },
        parent=parent,
    )
