"""Whether the texts that a sentence cites support it: by the words in common, or by asking an LLM."""

from collections.abc import Callable, Sequence

from pydantic import BaseModel

from convrag import LLM, LLMError, PromptTemplate
from convrag.sdk.structured_output import ask_json
from convrag.sdk.words import find_stems

SupportCase = tuple[str, Sequence[str]]
"""A sentence, and the texts that it cites."""
SupportJudge = Callable[[SupportCase], bool | None]
"""A case -> whether the texts support the sentence; None where that could not be found out."""


class Verdict(BaseModel):
    """The form of an LLM's reply."""

    supported: bool


def has_lexical_support(case: SupportCase, threshold: float) -> bool:
    """Whether the cited texts together have enough of a sentence's content words (as stems), and all of its numbers.

    A sentence without content words is supported.

    Args:
        case: the sentence and the texts.
        threshold: the share of the content words that the texts must have.
    """
    sentence, texts = case
    wanted, known = find_stems(sentence), frozenset[str]().union(*map(find_stems, texts))
    numbers = {stem for stem in wanted if any(map(str.isdigit, stem))}
    return numbers <= known and len(wanted & known) >= threshold * len(wanted)


def ask_for_support(llm: LLM, template: PromptTemplate, case: SupportCase) -> bool | None:
    """Whether an LLM finds the sentence supported; None where the call fails or the reply cannot be read."""
    sentence, texts = case
    try:
        return ask_json(llm, template.render(sentence=sentence, sources=list(texts)), Verdict).supported
    except LLMError:
        return None
