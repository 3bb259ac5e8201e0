"""Replies of language models in a file: a line of JSON for each, found again by the prompt and the attempt.

The prompt itself is not in it, so that a recording is small; its hash is, and its ends, for people who look. Which
model replied does not matter, and nothing of convrag's own version does.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path

from convrag.api.errors import DataError
from convrag.api.types import Completion, Prompt
from convrag.sdk.jsonl import Line, read_lines

_KEPT = ("text", "prompt_tokens", "completion_tokens", "cached_tokens", "model")
_SHOWN = 60  # characters of either end of a prompt


def key_of(prompt: Prompt) -> str:
    """A hash of messages, sampling and attempt. It must never change: recordings are kept in repositories."""
    messages = [[message.role, message.content] for message in prompt.messages]
    asked = [messages, dict(prompt.sampling), prompt.attempt]
    plain = json.dumps(asked, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return blake2b(plain.encode(), digest_size=16).hexdigest()


def ends_of(prompt: Prompt) -> str:
    """How the last message of a prompt begins and ends, for people."""
    text = " ".join(prompt.messages[-1].content.split()) if prompt.messages else ""
    return text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]} ... {text[-_SHOWN:]}"


def to_line(prompt: Prompt, completion: Completion) -> str:
    """One line of a recording: without what a call took at the time, so that it is the same whenever it was made."""
    row = {"key": key_of(prompt), "task": prompt.task, "prompt": ends_of(prompt)}
    return json.dumps(row | {name: getattr(completion, name) for name in _KEPT}, ensure_ascii=False)


def read(path: Path) -> dict[str, Completion]:
    """Key -> reply, which costs nothing now. Raises DataError, naming the line, for what is no recording."""
    replies: dict[str, Completion] = {}
    for line in read_lines(path):
        key, completion = _reply(line)
        if key in replies:
            raise line.error(f"the prompt {key} has a reply already")
        replies[key] = completion
    if not replies:
        raise DataError("it holds no reply", path=path)
    return replies


def _reply(line: Line) -> tuple[str, Completion]:
    row = line.json()
    try:
        key = row["key"]
        completion = Completion(**{name: row[name] for name in _KEPT if name in row}, cost_usd=0.0)
    except (KeyError, TypeError) as error:
        raise line.error(f"this is no recorded reply ({error!r})") from error
    if not isinstance(key, str) or not isinstance(completion.text, str):
        raise line.error("a recorded reply needs a key and a text, both of them strings")
    return key, completion
