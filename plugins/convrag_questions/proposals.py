"""The forms of the replies of the language model."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, field_validator


class Proposal(BaseModel):
    """A question with its answer, or an empty question where the passage is good for none.

    `quote` is the sentence of the passage that the answer rests on; `standalone` is the question as it would be asked
    without the conversation.
    """

    question: str
    answer: str = ""
    quote: str = ""
    standalone: str = ""

    @field_validator("*", mode="before")
    @classmethod
    def _clean(cls, value: Any) -> Any:
        return " ".join(value.split()) if isinstance(value, str) else "" if value is None else value


class Solution(BaseModel):
    """The answer that was found in the passage; empty if there is none in it."""

    answer: str

    @field_validator("answer", mode="before")
    @classmethod
    def _clean(cls, value: Any) -> Any:
        return "" if value is None else value


class Comparison(BaseModel):
    """Whether two answers say the same."""

    same: bool


class Clarity(BaseModel):
    """Whether a question can be understood without its conversation."""

    clear: bool
