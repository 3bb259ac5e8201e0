"""The texts in requests: what they may contain, and how long they may be."""

from typing import Annotated

from pydantic import AfterValidator, Field

from convrag.sdk.llm.streaming import replace_unusable
from convrag_web.server.errors import RequestError


def _require_text(text: str) -> str:
    if not text.strip():
        raise ValueError("it must be a text that is not empty")
    return text


Text = Annotated[str, AfterValidator(replace_unusable)]
"""Any text."""

FilledText = Annotated[Text, AfterValidator(_require_text), Field(min_length=1, pattern=r"\S")]
"""A text that is not blank."""


SearchFilter = Annotated[
    str | None,
    Field(
        max_length=2000,
        description='what the fields of the passages must be: "product=kettle and year>=2023"',
    ),
]
"""A condition on the fields of passages, in the language of `retriever.filter`."""


def check_length(text: str, param: str, limit: int) -> None:
    """Raise RequestError if a text has more characters than the limit."""
    if len(text) > limit:
        message = (
            f"{param}: {len(text)} characters are too many, the limit is {limit} "
            "(task.max_characters)"
        )
        raise RequestError(400, message, param=param, code="text_too_long")
