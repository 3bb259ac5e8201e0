"""Recordings: replies of language models in a JSONL file, found again by their prompts.

A line has a hash of the prompt and the attempt, the reply, and an excerpt of the prompt for
readers. The whole prompt is left out, so that recordings are small. The hash does not depend on the
model or on the version of convrag.
"""

import json
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from convrag.api.completions import Completion, Prompt
from convrag.api.errors import DataError
from convrag.sdk.data.jsonl import read_lines
from convrag.sdk.llm.thoughts import separate_thoughts
from convrag.store.json_text import format_json

_RECORDED = ("text", "prompt_tokens", "completion_tokens", "cached_tokens", "model")
"""The fields of a reply that a line has."""

_RECORDED_IF_PRESENT = ("finish_reason", "reasoning", "reasoning_tokens")
"""The fields of a reply that a line has where they say something."""

_SHOWN = 60
"""Characters of an excerpt at the beginning and at the end of a prompt."""


def compute_prompt_key(prompt: Prompt) -> str:
    """Hash messages, sampling and attempt.

    The hash must never change, since recordings are kept in repositories.
    """
    messages = [[message.role, message.content] for message in prompt.messages]
    request = [messages, dict(prompt.sampling), prompt.attempt]
    plain = json.dumps(request, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return blake2b(plain.encode(), digest_size=16).hexdigest()


def make_excerpt(prompt: Prompt) -> str:
    """Return the beginning and the end of a prompt's last message, for readers."""
    text = " ".join(prompt.messages[-1].content.split()) if prompt.messages else ""
    return text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]} ... {text[-_SHOWN:]}"


def format_reply(prompt: Prompt, completion: Completion) -> str:
    """Format a reply as a line of a recording.

    Time and cost are left out, so that the line is the same every time.
    """
    row: dict[str, Any] = {
        "key": compute_prompt_key(prompt),
        "task": prompt.task,
        "prompt": make_excerpt(prompt),
    }
    for name in _RECORDED:
        row[name] = getattr(completion, name)
    if completion.finish_reason not in ("", "stop"):
        row["finish_reason"] = completion.finish_reason
    if completion.reasoning:
        row["reasoning"] = completion.reasoning
        row["reasoning_tokens"] = completion.reasoning_tokens
    return format_json(row)


@dataclass(frozen=True)
class _ReplyRow:
    key: str
    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    model: str = ""
    finish_reason: str = ""
    reasoning: str = ""
    reasoning_tokens: int = 0


def read_recording(path: Path) -> dict[str, Completion]:
    """Read a recording: key -> reply, with a cost of 0.

    Raises:
        DataError: the recording is not valid; the message names the line.
    """
    replies: dict[str, Completion] = {}
    for line in read_lines(path):
        row = line.parse(_ReplyRow, "a recorded reply")
        if row.key in replies:
            raise line.error(f"the prompt {row.key} has a reply already")
        fields = {name: getattr(row, name) for name in (*_RECORDED, *_RECORDED_IF_PRESENT)}
        # Earlier versions left the thoughts in the text
        replies[row.key] = separate_thoughts(Completion(**fields, cost_usd=0.0))
    if not replies:
        raise DataError("it holds no reply", path=path)
    return replies
