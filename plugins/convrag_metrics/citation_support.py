"""Whether the texts that a sentence cites support it: by the words in common, or by asking an LLM."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from pydantic import BaseModel

from convrag import LLM, LLMError, PromptTemplate
from convrag.sdk.structured_output import ask_json
from convrag.sdk.words import GRAMMAR_WORDS, stem_words

SupportCase = tuple[str, Sequence[str]]
"""A sentence, and the texts that it cites."""
SupportJudge = Callable[[SupportCase], bool | None]
"""A case -> whether the texts support the sentence; None where that could not be found out."""

_WORD = re.compile(r"[^\W_]+(?:(?:[-'’.]|(?<=\d),(?=\d))[^\W_]+)*")


class Verdict(BaseModel):
    """The form of an LLM's reply."""

    supported: bool


def has_lexical_support(case: SupportCase, threshold: float) -> bool:
    """Whether the cited texts together have enough of a sentence's content words (as English stems), and its numbers.

    A sentence without content words is supported.

    Args:
        case: the sentence and the texts.
        threshold: the share of the content words that the texts must have.
    """
    sentence, texts = case
    wanted = dict.fromkeys(stem_words(_content_words(sentence)))
    words = frozenset[str]().union(*(_find_words(text) for text in texts))
    numbers = [word for word in _split_words(sentence) if any(character.isdigit() for character in word)]
    if not all(number in words for number in numbers):
        return False
    stems = frozenset[str]().union(*(_find_stems(text) for text in texts))
    return not wanted or sum(stem in stems for stem in wanted) >= threshold * len(wanted)


def ask_for_support(llm: LLM, template: PromptTemplate, case: SupportCase) -> bool | None:
    """Whether an LLM finds the sentence supported; None where the call fails or the reply cannot be read."""
    sentence, texts = case
    try:
        return ask_json(llm, template.render(sentence=sentence, sources=list(texts)), Verdict).supported
    except LLMError:
        return None


def _split_words(text: str) -> list[str]:
    return [match[0].lower().replace("’", "'") for match in _WORD.finditer(text)]


def _content_words(text: str) -> list[str]:
    return [word.removesuffix("'s") for word in _split_words(text) if word not in GRAMMAR_WORDS]


@lru_cache(maxsize=4096)
def _find_words(text: str) -> frozenset[str]:
    return frozenset(_split_words(text))


@lru_cache(maxsize=4096)
def _find_stems(text: str) -> frozenset[str]:
    return frozenset(stem_words(_content_words(text)))
