"""The requests of OpenAI's protocol, as far as they bear on an answer; other fields are ignored."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field

from convrag import Message, Question, Turn
from convrag.sdk.llm.streaming import mend_surrogates
from convrag.sdk.types import Role
from convrag_web.server.citations import LIST
from convrag_web.server.errors import RequestError
from convrag_web.server.task import ServeTask


def _mend(text: str) -> str:
    """Replace NUL, which PostgreSQL cannot keep, and half a surrogate pair by U+FFFD."""
    return mend_surrogates(text.replace("\0", "\ufffd"))


def _require_text(text: str) -> str:
    if not text.strip():
        raise ValueError("it must be a text that is not empty")
    return text


Text = Annotated[str, AfterValidator(_mend)]
"""Any text of a client."""

FilledText = Annotated[Text, AfterValidator(_require_text), Field(min_length=1, pattern=r"\S")]
"""A text that is not blank."""


class ContentPart(BaseModel):
    """A part of a message's content: a text; an image, a sound or a file, which task.attachments=ignore reads past."""

    type: str
    text: Text = ""


class ChatMessage(BaseModel):
    """A message. Users' and assistants' texts are the conversation; calls and results of tools are read past.

    Instructions (system, developer) have no effect: prompts are the configuration's.
    """

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Text | list[ContentPart] | None = None
    tool_calls: list[Any] | None = None
    function_call: Any = None


class TextFormat(BaseModel):
    """The only format of answers."""

    type: Literal["text"]


class StreamOptions(BaseModel):
    """Options of a streamed reply."""

    include_usage: bool = Field(False, description="whether a last chunk tells the tokens")


class ModelRequest(BaseModel):
    """What every request has."""

    model: str | None = Field(None, description="its name; by default the first of GET /v1/models")
    domain: str | None = Field(None, description="the corpus to ask, where the model has several")
    stream: bool | None = False
    tool_choice: Literal["auto", "none"] | None = None
    convrag: bool = Field(
        False, description="whether the reply has the whole record of the turn under `convrag`"
    )


class CompletionRequest(ModelRequest):
    """A conversation whose last question is to be answered. The messages are the whole history: nothing is kept."""

    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = 1
    tools: list[Any] | None = Field(None, description="accepted; none is ever called")
    functions: Annotated[list[Any], Field(max_length=0)] | None = None
    response_format: TextFormat | None = None
    logprobs: Literal[False] | None = None
    top_logprobs: Literal[0] | None = None
    audio: None = None
    modalities: list[Literal["text"]] | None = None


class FunctionTool(BaseModel):
    """A tool of the client's."""

    type: Literal["function", "custom", "namespace"]


class OtherItem(BaseModel):
    """What is no message: a call of a tool, its result, a reasoning. It is read past."""

    type: str


class AnswerText(BaseModel):
    """How the answer is written."""

    format: TextFormat | None = None


class ResponseRequest(ModelRequest):
    """A question, or a conversation whose last question is to be answered, after the response that came before it."""

    input: FilledText | Annotated[list[ChatMessage | OtherItem], Field(min_length=1)]
    instructions: Text | None = Field(
        None, description="no effect, but with a model without search"
    )
    previous_response_id: str | None = Field(
        None, description="the response that this one continues"
    )
    store: bool | None = Field(True, description="whether the conversation is kept, as on the page")
    tools: list[FunctionTool] | None = Field(None, description="accepted; none is ever called")
    text: AnswerText | None = None
    background: Literal[False] | None = None
    conversation: None = None
    prompt: None = None
    metadata: dict[str, Any] | None = None

    def list_messages(self) -> list[ChatMessage | OtherItem]:
        """The instructions and the input as messages."""
        given = (
            [ChatMessage(role="user", content=self.input)]
            if isinstance(self.input, str)
            else self.input
        )
        return (
            [ChatMessage(role="system", content=self.instructions), *given]
            if self.instructions
            else [*given]
        )


_ROLES: dict[str, Role] = {
    "developer": "system",
    "system": "system",
    "user": "user",
    "assistant": "assistant",
}
_TEXTS = frozenset({"text", "input_text", "output_text"})
_FILES = re.compile(r"### Task:\n(?:(?!<chat_history>).)*<context>.*</context>\s*", re.DOTALL)
"""How Open WebUI puts files before a question."""
_REFUSED = "cannot be read beside the documents of the server; task.attachments=ignore lets it read past them"


def read_messages(
    messages: Sequence[ChatMessage | OtherItem], limits: ServeTask, param: str = "messages"
) -> list[Message]:
    """Read the texts of messages. What calls a tool, or is its result, is left out.

    Args:
        messages: of a request, in order.
        limits: how many there may be, and how long; whether images, sounds and files are left out,
            too.
        param: the field that they come from.

    Raises:
        RequestError: a question has no text, or an attachment; there are too many messages, or one
            is too long.
    """
    if len(messages) > limits.max_messages:
        text = f"{param}: {len(messages)} are too many, the limit is {limits.max_messages} (task.max_messages)"
        raise RequestError(400, text, param=param, code="too_many_messages")
    read = []
    for place, message in enumerate(messages):
        where = f"{param}.{place}.content"
        if (
            isinstance(message, OtherItem)
            or message.role not in _ROLES
            or message.tool_calls
            or message.function_call
        ):
            continue
        asks = message.role == "user"
        if isinstance(content := message.content or "", list):
            others = [index for index, part in enumerate(content) if part.type not in _TEXTS]
            if others and asks and limits.attachments == "refuse":
                name = f"{where}.{others[0]}.type"
                text = f"{name}: {content[others[0]].type} {_REFUSED}"
                raise RequestError(400, text, param=name, code="unsupported_parameter")
            content = "\n\n".join(part.text for part in content if part.type in _TEXTS)
        if asks and (files := _FILES.match(content)):
            if limits.attachments == "refuse":
                raise RequestError(
                    400, f"{where}: files {_REFUSED}", param=where, code="unsupported_parameter"
                )
            content = content[files.end() :]
        check_length(content, where, limits.max_characters)
        if asks and not content.strip():
            raise RequestError(400, f"{where}: it must be a text that is not empty", param=where)
        read.append(Message(_ROLES[message.role], content))
    return read


def make_question(
    messages: Sequence[Message],
    id: str,
    domain: str,
    earlier: Sequence[Turn] = (),
    hide_history: bool = False,
) -> Question:
    """Make the question that the last message asks, with the turns before it.

    Args:
        messages: of the request, in order.
        id: of the conversation.
        domain: the corpus that it is about.
        earlier: turns before the messages.
        hide_history: whether the question is to be answered without its history.

    Raises:
        RequestError: the last message is not a user's.
    """
    *pairs, (text, _) = pair_messages(messages)
    told = [
        Turn(f"{id}<::>{number}", *pair)
        for number, pair in enumerate(pairs, start=len(earlier) + 1)
    ]
    history = (*earlier, *told)
    number = len(history) + 1
    return Question(text, id, f"{id}<::>{number}", domain, number, () if hide_history else history)


def check_length(text: str, param: str, most: int) -> None:
    """Raise RequestError where a text has more characters than allowed."""
    if len(text) > most:
        text = f"{param}: {len(text)} characters are too many, the limit is {most} (task.max_characters)"
        raise RequestError(400, text, param=param, code="text_too_long")


def pair_messages(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Pair questions with their answers, which may be empty, as that of the last one, which is to
    be answered.

    Raises:
        RequestError: the last message is not a user's.
    """
    exchanges: list[tuple[str, str]] = []
    last = ""
    for message in messages:
        last = message.role if message.role != "system" else last
        if message.role == "user":
            exchanges.append((message.content, ""))
        elif message.role == "assistant" and exchanges:
            question, answer = exchanges[-1]
            exchanges[-1] = (
                question,
                "\n\n".join(filter(None, [answer, message.content.partition(LIST)[0]])),
            )
    if last != "user":
        raise RequestError(
            400,
            "messages: the last message must be the user's, with the question",
            param="messages",
        )
    return exchanges
