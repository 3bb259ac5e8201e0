"""The requests of OpenAI's protocol, as far as they bear on an answer; other fields are ignored."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from convrag_web.server.request_texts import FilledText, SearchFilter, Text

STOP: Any = Field(fail_fast=True)
"""A list is invalid at its first invalid item: a description of each would take seconds."""


class ContentPart(BaseModel):
    """A part of a message's content: a text, or an image, a sound or a file."""

    type: str
    text: Text = ""


class ChatMessage(BaseModel):
    """A message. The texts of users and assistants are the conversation.

    Calls of tools and their results are skipped. Instructions (system, developer) have no effect:
    prompts are the configuration's.
    """

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Text | Annotated[list[ContentPart], STOP] | None = None
    tool_calls: list[Any] | None = None
    function_call: Any = None


class TextFormat(BaseModel):
    """The only format of answers."""

    type: Literal["text"]


class StreamOptions(BaseModel):
    """Options of a streamed reply."""

    include_usage: bool = Field(False, description="whether a last chunk has the token counts")


class ModelRequest(BaseModel):
    """The fields that every request has."""

    model: str | None = Field(None, description="its name; by default the first of GET /v1/models")
    domain: str | None = Field(None, description="the corpus to ask, if the model has several")
    filter: SearchFilter = None
    stream: bool | None = False
    tool_choice: Literal["auto", "none"] | None = None
    convrag: bool = Field(
        False, description="whether the reply has the whole record of the turn under `convrag`"
    )


class CompletionRequest(ModelRequest):
    """A conversation whose last question is to be answered; nothing is stored.

    The messages are the whole history.
    """

    messages: Annotated[list[ChatMessage], Field(min_length=1, fail_fast=True)]
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = 1
    tools: list[Any] | None = Field(None, description="accepted; none is ever called")
    functions: Annotated[list[Any], Field(max_length=0)] | None = None
    response_format: TextFormat | None = None
    logprobs: Literal[False] | None = None
    top_logprobs: Literal[0] | None = None
    audio: None = None
    modalities: Annotated[list[Literal["text"]], STOP] | None = None


class FunctionTool(BaseModel):
    """A tool that the client offers."""

    type: Literal["function", "custom", "namespace"]


class OtherItem(BaseModel):
    """An item that is not a message (a tool call, its result, a reasoning); skipped."""

    type: str


class AnswerText(BaseModel):
    """The format of the answer."""

    format: TextFormat | None = None


class ResponseRequest(ModelRequest):
    """A question, or a conversation whose last question is to be answered.

    It may continue an earlier response.
    """

    input: (
        FilledText | Annotated[list[ChatMessage | OtherItem], Field(min_length=1, fail_fast=True)]
    )
    instructions: Text | None = Field(
        None, description="without effect, except with a model without search"
    )
    previous_response_id: str | None = Field(
        None, description="the response that this one continues"
    )
    store: bool | None = Field(
        True, description="whether the conversation is stored, as on the page"
    )
    tools: Annotated[list[FunctionTool], STOP] | None = Field(
        None, description="accepted; none is ever called"
    )
    text: AnswerText | None = None
    background: Literal[False] | None = None
    conversation: None = None
    prompt: None = None
    metadata: dict[str, Any] | None = None

    def list_messages(self) -> list[ChatMessage | OtherItem]:
        """List the instructions and the input as messages."""
        messages: list[ChatMessage | OtherItem] = []
        if self.instructions:
            messages.append(ChatMessage(role="system", content=self.instructions))
        if isinstance(self.input, str):
            messages.append(ChatMessage(role="user", content=self.input))
        else:
            messages.extend(self.input)
        return messages
