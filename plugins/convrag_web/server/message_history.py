"""The messages of a request as a question with its history.

    user, assistant, user                 one turn, and a question
    user, user                            a turn without an answer, and a question
    assistant, user                       a greeting, which is dropped, and a question
    user, assistant, assistant, user      one turn, whose answer has two paragraphs, and a question

System and developer messages are dropped: prompts are the configuration's, so that what was measured is what is served.
"""

from __future__ import annotations

from collections.abc import Sequence

from convrag import Question, Turn
from convrag_web.server.errors import RequestError
from convrag_web.server.openai_requests import AssistantMessage, Content, SystemMessage, TextPart, UserMessage


def make_question(
    messages: Sequence[SystemMessage | UserMessage | AssistantMessage],
    *,
    conversation_id: str,
    domain: str,
    hide_history: bool = False,
) -> Question:
    """Make the question that the last user message asks, with the turns before it.

    Args:
        messages: of the request, in order.
        conversation_id: of the question.
        domain: the corpus that it is about.
        hide_history: whether the question is to be answered without its history.

    Raises:
        RequestError: the last message is not a user's.
    """
    exchanges = _pair(messages)
    if not exchanges or not isinstance(_last_spoken(messages), UserMessage):
        raise RequestError(400, "messages: the last message must be the user's, with the question", param="messages")
    *earlier, (text, _) = exchanges
    history = tuple(
        Turn(f"{conversation_id}<::>{number}", question, answer)
        for number, (question, answer) in enumerate(earlier, start=1)
    )
    number = len(exchanges)
    return Question(
        text=text,
        conversation_id=conversation_id,
        turn_id=f"{conversation_id}<::>{number}",
        domain=domain,
        number=number,
        history=() if hide_history else history,
    )


def check_lengths(
    messages: Sequence[SystemMessage | UserMessage | AssistantMessage], most: int, characters: int
) -> None:
    """Raise RequestError where there are more messages than allowed, or one has more characters."""
    if len(messages) > most:
        text = f"messages: {len(messages)} are too many, the limit is {most} (task.max_messages)"
        raise RequestError(400, text, param="messages", code="too_many_messages")
    for place, message in enumerate(messages):
        check_length(read_content(message.content), f"messages.{place}.content", characters)


def check_length(text: str, param: str, most: int) -> None:
    """Raise RequestError where a text has more characters than allowed."""
    if len(text) > most:
        text = f"{param}: {len(text)} characters are too many, the limit is {most} (task.max_characters)"
        raise RequestError(400, text, param=param, code="text_too_long")


def read_content(content: Content | None) -> str:
    """The text of a message; its parts are paragraphs."""
    if isinstance(content, list):
        return "\n\n".join(part.text for part in content if isinstance(part, TextPart))
    return content or ""


def _pair(messages: Sequence[object]) -> list[tuple[str, str]]:
    """Questions with their answers, which may be empty."""
    exchanges: list[tuple[str, str]] = []
    for place, message in enumerate(messages):
        if isinstance(message, UserMessage):
            text = read_content(message.content)
            if not text.strip():
                param = f"messages.{place}.content"
                raise RequestError(400, f"{param}: it must be a text that is not empty", param=param)
            exchanges.append((text, ""))
        elif isinstance(message, AssistantMessage) and exchanges:
            question, answer = exchanges[-1]
            exchanges[-1] = (question, "\n\n".join(filter(None, [answer, read_content(message.content)])))
    return exchanges


def _last_spoken(messages: Sequence[object]) -> object:
    return next((each for each in reversed(messages) if not isinstance(each, SystemMessage)), None)
