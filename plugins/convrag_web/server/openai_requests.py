"""The requests of OpenAI's chat protocol, as far as they bear on an answer; other fields are ignored."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field

from convrag import Question, Turn
from convrag_web.server.errors import RequestError


def _mend(text: str) -> str:
    """Replace NUL, which PostgreSQL cannot keep, by U+FFFD."""
    return text.replace("\0", "\ufffd")


def _require_text(text: str) -> str:
    if not text.strip():
        raise ValueError("it must be a text that is not empty")
    return text


Text = Annotated[str, AfterValidator(_mend)]
"""Any text of a client."""

FilledText = Annotated[Text, AfterValidator(_require_text), Field(min_length=1, pattern=r"\S")]
"""A text that is not blank."""

Nothing = Annotated[list[Any], Field(max_length=0)] | None
"""A list that must be empty, of what is not supported."""


class TextPart(BaseModel):
    """A part of a message's content. Images, sounds and files are not supported."""

    type: Literal["text"]
    text: Text


Content = Text | list[TextPart]


class SystemMessage(BaseModel):
    """An instruction. It is accepted and has no effect: prompts are the configuration's."""

    role: Literal["system", "developer"]
    content: Content = ""


class UserMessage(BaseModel):
    """A question."""

    role: Literal["user"]
    content: FilledText | Annotated[list[TextPart], Field(min_length=1)]


class AssistantMessage(BaseModel):
    """An answer."""

    role: Literal["assistant"]
    content: Content | None = None
    tool_calls: Nothing = None


ChatMessage = Annotated[SystemMessage | UserMessage | AssistantMessage, Field(discriminator="role")]


class TextFormat(BaseModel):
    """The only format of answers."""

    type: Literal["text"]


class StreamOptions(BaseModel):
    """Options of a streamed reply."""

    include_usage: bool = Field(False, description="whether a last chunk tells the tokens")


class CompletionRequest(BaseModel):
    """A conversation whose last question is to be answered. The messages are the whole history: nothing is kept."""

    model: str | None = Field(None, description="its name; by default the first of GET /v1/models")
    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = 1
    tools: Nothing = None
    functions: Nothing = None
    response_format: TextFormat | None = None
    logprobs: Literal[False] | None = None
    top_logprobs: Literal[0] | None = None
    audio: None = None
    modalities: list[Literal["text"]] | None = None
    convrag: bool = Field(False, description="whether the reply has the whole record of the turn under `convrag`")
    domain: str | None = Field(None, description="the corpus to ask, where the model has several")


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
