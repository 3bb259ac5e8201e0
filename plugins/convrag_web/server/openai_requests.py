"""The requests of OpenAI's chat protocol, as far as they bear on an answer; other fields are ignored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, create_model


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

    model: str
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


def narrow_choices(base: type[BaseModel], models: Sequence[str], domains: Sequence[str]) -> type[Any]:
    """A class of requests whose `model` and `domain` are of these; the first model is the default."""
    domain = Field(None, description=base.model_fields["domain"].description)
    fields: dict[str, Any] = {
        "model": (Literal[tuple(models)], models[0]),
        "domain": (Literal[tuple(domains)] | None, domain),
    }
    return create_model(base.__name__, __base__=base, __doc__=base.__doc__, **fields)
