"""Whether cited texts support a sentence: by words, by an NLI model, or by an LLM."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

from convrag import LLM, LLMError, PromptTemplate
from convrag.sdk.structured_output import ask_json

Case = tuple[str, Sequence[str]]
"""A sentence, and the texts that it cites."""
Judge = Callable[[Case], bool | None]
"""A case -> whether the texts support the sentence; None where there is no telling."""

_WORD = re.compile(r"[^\W_]+(?:(?:[-'’.]|(?<=\d),(?=\d))[^\W_]+)*")
_local = threading.local()


def lexical(case: Case, threshold: float) -> bool:
    """Whether the cited texts together have enough of a sentence's content words (as English stems), and its numbers.

    A sentence without content words is supported.
    """
    sentence, texts = case
    wanted = dict.fromkeys(_stems(_content(sentence)))
    words = frozenset[str]().union(*(_words_of(text) for text in texts))
    numbers = [word for word in _words(sentence) if any(character.isdigit() for character in word)]
    if not all(number in words for number in numbers):
        return False
    stems = frozenset[str]().union(*(_stems_of(text) for text in texts))
    return not wanted or sum(stem in stems for stem in wanted) >= threshold * len(wanted)


def asked(llm: LLM, template: PromptTemplate, case: Case) -> bool | None:
    """What an LLM says; None where it gives no readable answer."""
    from convrag_metrics.verdict import Verdict

    sentence, texts = case
    try:
        return ask_json(llm, template.render(sentence=sentence, sources=list(texts)), Verdict).supported
    except LLMError:
        return None


def _words(text: str) -> list[str]:
    return [match[0].lower().replace("’", "'") for match in _WORD.finditer(text)]


def _content(text: str) -> list[str]:
    return [word.removesuffix("'s") for word in _words(text) if word not in _ignored()]


def _stems(words: list[str]) -> list[str]:
    if not hasattr(_local, "stemmer"):  # a stemmer is not thread-safe
        from Stemmer import Stemmer

        _local.stemmer = Stemmer("english")
    found: list[str] = _local.stemmer.stemWords(words)
    return found


@lru_cache(maxsize=4096)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(_words(text))


@lru_cache(maxsize=4096)
def _stems_of(text: str) -> frozenset[str]:
    return frozenset(_stems(_content(text)))


@cache
def _ignored() -> frozenset[str]:
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    return frozenset(STOPWORDS_EN_PLUS)
