"""Chores: requests of chat programs for titles, tags, follow-ups and completions of their own.

They need no document. They are recognized by the forms in which Open WebUI, LibreChat, NextChat and
others send them. A language model answers them without a search; without one, the reply is as
little as the program accepts.
"""

import json
import re
from collections.abc import Sequence

from convrag import Message
from convrag.sdk.tasks.turns import make_title

_TALK = r"\b(?:the|our|this|a) (?:conversation|chat)\b"
_TITLE = re.compile(
    r"\A\s*(?:please )?(?:generate|provide|create|write|give|suggest|make)\b[^.?!]{0,80}?\btitle\b"
    r"(?: \([^)]*\))?,? (?:for|summari[sz]ing|that (?:summari[sz]es|captures))\b"
    rf"[^.?!]{{0,40}}?{_TALK}"
    rf"|\A\s*(?:please )?analy[sz]e\b[^.?!]{{0,40}}?{_TALK}.{{0,160}}?\btitle\b"
    r"|\b(?:give|find) this (?:conversation|chat) a (?:name|title)\b",
    re.IGNORECASE | re.DOTALL,
)
"""A request for the title of a conversation, in words."""

_TASK = re.compile(r"\A### Task:(?:(?!<context>).)*<chat_history>", re.DOTALL)
"""A task of Open WebUI."""

_TOOLS = re.compile(r"\AAvailable Tools: .*\bYour task is to choose\b", re.DOTALL)
"""Instructions to choose a tool of Open WebUI."""

_OTHER = re.compile(
    r"\A(?:Your task is to reflect .{1,80}\bemoji\b"
    r"|You have been provided with a set of responses from"
    r"|(?i:summari[sz]e (?:the|our) (?:conversation|chat|discussion)\b))"
)
"""Other chores, which have no reply without a language model."""

_JSON_FORM = re.compile(r'\{\s*"(?P<field>\w+)":\s*(?P<list>\[?)')
"""The JSON that a request asks for: an object with one field, which may be a list."""

_QUOTED_QUESTION = re.compile(r"^(?:user|human): *(.+)$", re.IGNORECASE | re.MULTILINE)

NO_MODEL = "This server has no language model for that: it answers questions out of documents."


def answer_chore(messages: Sequence[Message]) -> str | None:
    """Answer a chore as far as that needs no language model; None for any other request.

    A title is the first question. JSON that is asked for comes with nothing in it.

    Args:
        messages: the messages of the request, the last of which may be an instruction.
    """
    questions = [message.content for message in messages if message.role == "user"]
    if not questions:
        return None
    tool_order = _find_tool_order(messages[0])
    order = messages[-1].content if tool_order is None else tool_order
    if tool_order is not None or _TASK.search(order):
        return _fill_json_form(order, questions)
    if _TITLE.search(order):
        return _find_title(questions)
    if _OTHER.search(order):
        return NO_MODEL
    return None


def _find_tool_order(first: Message) -> str | None:
    """Return what the instructions to choose a tool ask for; None for any other message."""
    if first.role != "system":
        return None
    match = _TOOLS.search(first.content)
    return first.content[match.end() :] if match else None


def _fill_json_form(order: str, questions: Sequence[str]) -> str:
    """Return the JSON that a request asks for, with nothing in it but a title."""
    form = _JSON_FORM.search(order)
    if form is None:
        return NO_MODEL
    value: str | list[str] = ""
    if form["list"]:
        value = []
    elif form["field"] == "title":
        value = _find_title(questions)
    return json.dumps({form["field"]: value}, ensure_ascii=False)


def _find_title(questions: Sequence[str]) -> str:
    """Return the first question of the conversation, which the request may quote."""
    quoted = _QUOTED_QUESTION.search(questions[-1])
    return make_title(quoted[1] if quoted else questions[0])
