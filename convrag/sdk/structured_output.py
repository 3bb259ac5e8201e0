"""Structured replies: JSON as language models write it, read into a pydantic model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from convrag.api.errors import LLMError
from convrag.api.stages import LLM
from convrag.api.types import Message, Prompt

if TYPE_CHECKING:
    from pydantic import BaseModel

    M = TypeVar("M", bound=BaseModel)
else:
    M = TypeVar("M")

AGAIN = "This reply could not be read: {complaint}. Reply again, with the JSON alone, in the form that was asked for."
"""What a model is told whose reply could not be read."""

_OPENING = re.compile(r"[{\[]")
_SHOWN = 200  # characters of a reply that a message repeats


class UnreadableReply(LLMError):
    """A reply that is not the JSON that was asked for; `text` is the reply, `complaint` what is wrong with it."""

    def __init__(self, complaint: str, text: str) -> None:
        self.complaint = complaint
        self.text = text
        super().__init__(f"the reply cannot be read: {complaint}. It begins: {' '.join(text.split())[:_SHOWN]!r}")


def read_json(text: str, model: type[M]) -> M:
    """The JSON in a reply, as an instance of `model`; of several values that fit, the last.

    Fences, words before and after, trailing commas, single quotes, comments and missing ends are forgiven; a reply that
    was cut off is read as far as it goes. Raises UnreadableReply.
    """
    complaint = ""
    for value in _values(text):
        try:
            return model.model_validate(value)
        except ValueError as error:  # pydantic's ValidationError is one
            complaint = complaint or _summary(error)
    raise UnreadableReply(complaint or "there is no JSON in it", text)


def ask_json(llm: LLM, prompt: Prompt, model: type[M]) -> M:
    """Ask for JSON, and once more where the reply cannot be read, with the reply and what is wrong with it.

    Raises LLMError: UnreadableReply where the second reply is no better. What to do then is the stage's own affair.
    """
    reply = llm.complete(prompt).text
    try:
        return read_json(reply, model)
    except UnreadableReply as error:
        complaint = error.complaint
    said = (Message("assistant", reply), Message("user", AGAIN.format(complaint=complaint)))
    again = replace(prompt, messages=(*prompt.messages, *said), attempt=prompt.attempt + 1)
    return read_json(llm.complete(again).text, model)


def _values(text: str) -> Iterator[Any]:
    """What may be meant, the likeliest first: whole values, the last first (what comes before is a draft or an
    example); then what can be made of broken ones; then what stands inside those.
    """
    whole, broken = _outermost(text)
    yield from reversed(whole)
    yield from _repaired(reversed(broken))
    for part in reversed(broken):
        inner_whole, inner_broken = _outermost(part[1:])
        yield from reversed(inner_whole)
        yield from _repaired(reversed(inner_broken))


def _outermost(text: str) -> tuple[list[Any], list[str]]:
    """The JSON values of a text that stand in no other, and the bracketed parts that are none."""
    decoder = json.JSONDecoder()
    whole: list[Any] = []
    broken: list[str] = []
    place = _OPENING.search(text)
    while place:
        start = place.start()
        try:
            value, end = decoder.raw_decode(text, start)
            whole.append(value)
        except (ValueError, RecursionError):
            end = _closing(text, start)
            broken.append(text[start:end])
        place = _OPENING.search(text, end)
    return whole, broken


def _closing(text: str, start: int) -> int:
    """Where the bracket at `start` is closed again, by counting brackets; the end of the text where it is not."""
    depth = 0
    for place in re.finditer(r"[{}\[\]]", text[start:]):
        depth += 1 if place[0] in "{[" else -1
        if depth == 0:
            return start + place.end()
    return len(text)


def _repaired(parts: Iterable[str]) -> Iterator[Any]:
    from json_repair import repair_json

    for part in parts:
        try:
            value = repair_json(part, return_objects=True, skip_json_loads=True)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict | list) and value:
            yield value


def _summary(error: ValueError) -> str:
    """What pydantic has against a value, in one line."""
    errors = getattr(error, "errors", None)
    if errors is None:
        return str(error)
    found = errors(include_url=False, include_input=False)
    places = (f"{'.'.join(map(str, each['loc'])) or 'the whole'}: {each['msg']}" for each in found[:3])
    return "; ".join(places)
