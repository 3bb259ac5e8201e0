"""The form of an LLM's reply on support."""

from pydantic import BaseModel


class Verdict(BaseModel):
    """Whether the sources support the sentence."""

    supported: bool
