"""Requests that ask for no document: chat programs want titles, tags, follow-ups and completions
for themselves.

They are told by the shapes in which Open WebUI, LibreChat, NextChat and others send them. A
language model answers them without a search; where there is none, they get what they ask for in its
barest form.
"""

import json
import re
from collections.abc import Sequence

from convrag import Message
from convrag.sdk.tasks.turns import make_title

_TALK = r"\b(?:the|our|this|a) (?:conversation|chat)\b"
_TITLE = re.compile(
    r"\A\s*(?:please )?(?:generate|provide|create|write|give|suggest|make)\b[^.?!]{0,80}?\btitle\b"
    rf"(?: \([^)]*\))?,? (?:for|summari[sz]ing|that (?:summari[sz]es|captures))\b[^.?!]{{0,40}}?{_TALK}"
    rf"|\A\s*(?:please )?analy[sz]e\b[^.?!]{{0,40}}?{_TALK}.{{0,160}}?\btitle\b"
    r"|\b(?:give|find) this (?:conversation|chat) a (?:name|title)\b",
    re.IGNORECASE | re.DOTALL,
)
_TASK = re.compile(r"\A### Task:(?:(?!<context>).)*<chat_history>", re.DOTALL)
_TOOLS = re.compile(r"\AAvailable Tools: .*\bYour task is to choose\b", re.DOTALL)
_OTHER = re.compile(
    r"\A(?:Your task is to reflect .{1,80}\bemoji\b|You have been provided with a set of responses from"
    r"|(?i:summari[sz]e (?:the|our) (?:conversation|chat|discussion)\b))"
)
_FORMAT = re.compile(r'\{\s*"(\w+)":\s*(\[?)')
_QUOTED_QUESTION = re.compile(r"^(?:user|human): *(.+)$", re.IGNORECASE | re.MULTILINE)

NO_MODEL = "This server has no language model for that: it answers questions out of documents."


def answer_chore(messages: Sequence[Message]) -> str | None:
    """Answer a request that asks for no document, as far as can be done without a language model;
    None for any other.

    A title is the first question. What is asked for as JSON gets its form, with nothing in it.

    Args:
        messages: of the request, the last of which may be an instruction.
    """
    spoken = [message.content for message in messages if message.role == "user"]
    tools = _TOOLS.search("".join(each.content for each in messages[:1] if each.role == "system"))
    order = tools.string[tools.end() :] if tools else messages[-1].content if messages else ""
    if not spoken:
        return None
    if tools or _TASK.search(order):
        if not (form := _FORMAT.search(order)):
            return NO_MODEL
        value = [] if form[2] else _find_title(spoken) if form[1] == "title" else ""
        return json.dumps({form[1]: value}, ensure_ascii=False)
    if _TITLE.search(order):
        return _find_title(spoken)
    return NO_MODEL if _OTHER.search(order) else None


def _find_title(spoken: Sequence[str]) -> str:
    """The first question of the conversation that is quoted in the request, or that stands before
    it.
    """
    quoted = _QUOTED_QUESTION.search(spoken[-1])
    return make_title(quoted[1] if quoted else spoken[0])
