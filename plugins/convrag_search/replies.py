"""The replies of language models that are asked what to search for."""

from pydantic import BaseModel


class Need(BaseModel):
    """Whether an utterance needs a search, and why."""

    search: bool
    why: str = ""


class Parts(BaseModel):
    """The questions that a question consists of."""

    parts: list[str]


class Gap(BaseModel):
    """The part of an answer that the passages lack, and the next query."""

    enough: bool = False
    missing: str = ""
    query: str = ""
