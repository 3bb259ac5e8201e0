"""The forms of the replies that this package asks language models for."""

from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator

MOST_SPANS = 100
"""The most quotations of a reply that are looked at."""


class Quotation(BaseModel):
    """A quotation from the passage with a number."""

    passage: int
    quote: str


class SpansReply(BaseModel):
    """What a model marked: quotations, whether they answer the question, and whether there is a question at all."""

    asks: bool = True
    answered: Literal["full", "part", "none"]
    spans: list[Quotation] = Field(max_length=MOST_SPANS)

    @field_validator("answered", mode="before")
    @classmethod
    def _lower(cls, value: Any) -> Any:
        return value.strip().lower() if isinstance(value, str) else value


class Choice(BaseModel):
    """Which of two drafts a judge finds better."""

    better: Literal["A", "B", "tie"]

    @field_validator("better", mode="before")
    @classmethod
    def _tidy(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return "tie" if value.strip().lower() == "tie" else value.strip().upper()
