"""The forms of replies that this package's prompts ask for. A text that is empty is no reply."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, StringConstraints

from convrag.sdk.llm.rewriter import MAX_CHARACTERS, clean_reply


def _clean(text: str) -> str:
    line = clean_reply(text)
    if not line or len(line) > 2 * MAX_CHARACTERS:
        raise ValueError(f"write one question, of at most {2 * MAX_CHARACTERS} characters")
    return line


Line = Annotated[str, AfterValidator(_clean)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class QuestionReply(BaseModel):
    """A question that stands alone."""

    question: Line


class TextReply(BaseModel):
    """A passage, an answer or a summary."""

    text: Text


class BothReply(QuestionReply, TextReply):
    """A question that stands alone, and what might answer it."""


class SwitchReply(BaseModel):
    """Whether a question begins another topic."""

    switched: bool


class DualViewReply(BaseModel):
    """What is asked, and a rewrite for each kind of search."""

    asked: str = ""
    words: Line
    vectors: Line
