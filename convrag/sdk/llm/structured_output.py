"""JSON replies of language models, read as pydantic models."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from convrag.api.completions import Prompt
from convrag.api.errors import LLMError
from convrag.api.stage import LLM
from convrag.sdk.llm.prompts import add_complaint

if TYPE_CHECKING:
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")

__all__ = ["UnreadableReply", "ask_json", "read_json"]

REPLY_LIBRARIES = {"json_repair": "json-repair"}
"""Their versions are part of the fingerprints of stages that read a language model's replies."""

RETRY_MESSAGE = (
    "This reply could not be read: {complaint}. Reply again, with the JSON alone, in the form that "
    "was asked for."
)
"""The message to a model whose reply could not be read."""

_OPENING = re.compile(r"[{\[]")
_BRACKET = re.compile(r"[{}\[\]]")

_SHOWN = 200
"""Characters of a reply in an error message."""


class UnreadableReply(LLMError):
    """A reply does not have the JSON that was asked for.

    Args:
        complaint: what is wrong with it.
        text: the reply.
    """

    def __init__(self, complaint: str, text: str) -> None:
        self.complaint = complaint
        self.text = text
        beginning = " ".join(text.split())[:_SHOWN]
        super().__init__(f"the reply cannot be read: {complaint}. It begins: {beginning!r}")


def read_json(text: str, model: type[M]) -> M:
    """Read the JSON in a reply as an instance of `model`; if several values fit, the last one.

    Markdown fences, words before and after, trailing commas, single quotes and comments are
    accepted. A reply that was cut off is read as far as it goes. Raises UnreadableReply.
    """
    complaint = ""
    for value in _find_candidates(text):
        try:
            return model.model_validate(value)
        except ValueError as error:  # pydantic's ValidationError is one
            complaint = complaint or _describe_error(error)
    raise UnreadableReply(complaint or "there is no JSON in it", text)


def ask_json(llm: LLM, prompt: Prompt, model: type[M]) -> M:
    """Ask an LLM for JSON; if its reply cannot be read, ask once more, saying what is wrong.

    Servers that take a schema are sent that of the model (`convrag.Prompt`).

    Raises:
        UnreadableReply: the second reply cannot be read either.
        LLMError: the LLM gave no reply.
    """
    prompt = replace(prompt, schema=make_schema(model))
    reply = llm.complete(prompt).text
    try:
        return read_json(reply, model)
    except UnreadableReply as error:
        complaint = error.complaint
    again = add_complaint(prompt, reply, RETRY_MESSAGE.format(complaint=complaint))
    return read_json(llm.complete(again).text, model)


def make_schema(model: type["BaseModel"]) -> dict[str, Any]:
    """Make the JSON schema of a model; empty where no server would take it.

    That is where the model is not an object, or has types that JSON does not have. All fields are
    required, so that a grammar leaves none out. Descriptions are left out: the prompt has them, and
    they are part of no request's key.
    """
    from pydantic.errors import PydanticInvalidForJsonSchema

    try:
        schema = model.model_json_schema()
    except PydanticInvalidForJsonSchema:
        return {}
    if schema.get("type") != "object":
        return {}
    return {"title": model.__name__, **_simplify_schema(schema)}


def _simplify_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Require all fields and no other ones, and leave out what only readers need."""
    simple = {name: value for name, value in schema.items() if name not in _FOR_READERS}
    for place in ("properties", "$defs"):
        if place in simple:
            members = simple[place].items()
            simple[place] = {name: _simplify_schema(member) for name, member in members}
    if isinstance(simple.get("items"), dict):
        simple["items"] = _simplify_schema(simple["items"])
    if "properties" in simple:
        simple["required"] = list(simple["properties"])
        simple["additionalProperties"] = False
    return simple


_FOR_READERS = frozenset({"title", "description", "default"})
"""The entries of a schema that say nothing about the form of a value."""


def _find_candidates(text: str) -> Iterator[Any]:
    """Yield the JSON values that may be meant, the most likely first.

    Valid values come first, and the last of them before the others, which may be drafts or
    examples. Repaired values follow, then values inside of broken ones.
    """
    whole, broken = _find_outermost_values(text)
    yield from reversed(whole)
    yield from _repair_values(reversed(broken))
    for part in reversed(broken):
        inner_whole, inner_broken = _find_outermost_values(part[1:])
        yield from reversed(inner_whole)
        yield from _repair_values(reversed(inner_broken))


def _find_outermost_values(text: str) -> tuple[list[Any], list[str]]:
    """Find the JSON objects and lists that are not inside others.

    Returns:
        The valid values, and the bracketed parts that are not valid JSON.
    """
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
            end = _find_closing_bracket(text, start)
            broken.append(text[start:end])
        place = _OPENING.search(text, end)
    return whole, broken


def _find_closing_bracket(text: str, start: int) -> int:
    """Find the end of the part that a bracket opens: that of the text if it is not closed."""
    depth = 0
    for place in _BRACKET.finditer(text[start:]):
        depth += 1 if place[0] in "{[" else -1
        if depth == 0:
            return start + place.end()
    return len(text)


def _repair_values(parts: Iterable[str]) -> Iterator[Any]:
    """Yield the objects and lists that json_repair makes of broken JSON."""
    from json_repair import repair_json

    for part in parts:
        try:
            value = repair_json(part, return_objects=True, skip_json_loads=True)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict | list) and value:
            yield value


def _describe_error(error: Any) -> str:
    """Describe the errors that pydantic found in a value, in one line."""
    descriptions = []
    for detail in error.errors(include_url=False, include_input=False)[:3]:
        place = ".".join(str(part) for part in detail["loc"]) or "the whole"
        descriptions.append(f"{place}: {detail['msg']}")
    return "; ".join(descriptions)
