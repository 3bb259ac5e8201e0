"""Reads the messages of OpenAI's protocol as a question with its history."""

from collections.abc import Sequence
from typing import TypeGuard

from convrag import Message, Question, Turn
from convrag.sdk.llm.thoughts import split_thoughts
from convrag.sdk.types import Role
from convrag_web.server.cited_reply import LIST_START
from convrag_web.server.errors import RequestError
from convrag_web.server.openai_requests import ChatMessage, ContentPart, OtherItem
from convrag_web.server.options import MessageLimits
from convrag_web.server.request_texts import check_length

_ROLES: dict[str, Role] = {
    "developer": "system",
    "system": "system",
    "user": "user",
    "assistant": "assistant",
}
_TEXT_TYPES = frozenset({"text", "input_text", "output_text"})

_OPEN_WEBUI_TASK = "### Task:\n"
_OPEN_WEBUI_CHAT = "<chat_history>"
_FILES_START = "<context>"
_FILES_END = "</context>"

_REFUSED = (
    "cannot be read beside the documents of the server; task.attachments=ignore lets it read past "
    "them"
)


def read_messages(
    messages: Sequence[ChatMessage | OtherItem], limits: MessageLimits, param: str = "messages"
) -> list[Message]:
    """Read the texts of messages. Calls of tools and their results are skipped.

    Args:
        messages: the messages of a request, in order.
        limits: how many there may be, how long each may be, and whether attachments are skipped.
        param: the field that the messages come from.

    Raises:
        RequestError: a question has no text, or an attachment; there are too many messages, or one
            is too long.
    """
    if len(messages) > limits.max_messages:
        text = (
            f"{param}: {len(messages)} are too many, the limit is {limits.max_messages} "
            "(task.max_messages)"
        )
        raise RequestError(400, text, param=param, code="too_many_messages")
    read = []
    for place, message in enumerate(messages):
        if _is_conversation(message):
            content = _read_content(message, limits, f"{param}.{place}.content")
            read.append(Message(_ROLES[message.role], content))
    return read


def _is_conversation(message: ChatMessage | OtherItem) -> TypeGuard[ChatMessage]:
    """Return whether a message is not about a tool."""
    if isinstance(message, OtherItem):
        return False
    return message.role in _ROLES and not message.tool_calls and not message.function_call


def _read_content(message: ChatMessage, limits: MessageLimits, param: str) -> str:
    """Read the text of a message. Raises RequestError as `read_messages` does."""
    is_question = message.role == "user"
    refuses_files = is_question and limits.attachments == "refuse"
    content = message.content or ""
    if isinstance(content, list):
        if refuses_files:
            _check_parts(content, param)
        content = "\n\n".join(part.text for part in content if part.type in _TEXT_TYPES)
    files_end = _find_files_end(content) if is_question else 0
    if files_end:
        if refuses_files:
            message_text = f"{param}: files {_REFUSED}"
            raise RequestError(400, message_text, param=param, code="unsupported_parameter")
        content = content[files_end:].lstrip()
    if message.role == "assistant":  # a client may have been streamed thoughts, and kept them
        _, content = split_thoughts(content)
    check_length(content, param, limits.max_characters)
    if is_question and not content.strip():
        raise RequestError(400, f"{param}: it must be a text that is not empty", param=param)
    return content


def _find_files_end(text: str) -> int:
    """Return where the files end that Open WebUI puts before a question; 0 if there are none."""
    if not text.startswith(_OPEN_WEBUI_TASK):
        return 0
    start = text.find(_FILES_START)
    chat = text.find(_OPEN_WEBUI_CHAT)
    if start < 0 or 0 <= chat < start:
        return 0
    end = text.rfind(_FILES_END, start + len(_FILES_START))
    return end + len(_FILES_END) if end >= 0 else 0


def _check_parts(parts: Sequence[ContentPart], param: str) -> None:
    """Raise RequestError for a part that is not a text."""
    for place, part in enumerate(parts):
        if part.type not in _TEXT_TYPES:
            name = f"{param}.{place}.type"
            text = f"{name}: {part.type} {_REFUSED}"
            raise RequestError(400, text, param=name, code="unsupported_parameter")


def make_question(
    messages: Sequence[Message],
    id: str,
    domain: str,
    earlier: Sequence[Turn] = (),
    hide_history: bool = False,
) -> Question:
    """Make the question that the last message asks, with the turns before it.

    Args:
        messages: the messages of the request, in order.
        id: the id of the conversation.
        domain: the corpus that the question is about.
        earlier: the turns before the messages.
        hide_history: whether the question is to be answered without its history.

    Raises:
        RequestError: the last message is not a user's.
    """
    *pairs, (text, _) = pair_messages(messages)
    history = list(earlier)
    for question, answer in pairs:
        history.append(Turn(f"{id}<::>{len(history) + 1}", question, answer))
    number = len(history) + 1
    visible = () if hide_history else tuple(history)
    return Question(text, id, f"{id}<::>{number}", domain, number, visible)


def pair_messages(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Pair questions with their answers; the last one, which is to be answered, has an empty one.

    Several answers to a question are joined.

    Raises:
        RequestError: the last message is not a user's.
    """
    questions: list[str] = []
    answers: list[list[str]] = []
    last_role = ""
    for message in messages:
        if message.role != "system":
            last_role = message.role
        if message.role == "user":
            questions.append(message.content)
            answers.append([])
        elif message.role == "assistant" and questions:
            text = message.content.partition(LIST_START)[0]
            if text:
                answers[-1].append(text)
    if last_role != "user":
        text = "messages: the last message must be the user's, with the question"
        raise RequestError(400, text, param="messages")
    joined = ["\n\n".join(parts) for parts in answers]
    return list(zip(questions, joined, strict=True))
