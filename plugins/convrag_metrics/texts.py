"""Answers as they are compared: without citation marks, maybe cut, as words."""

from __future__ import annotations

import re
import string
from functools import lru_cache
from typing import Literal

from convrag import TurnRecord

Citations = Literal["remove", "keep"]

# Code is matched first, and left alone: `items[0]` cites nothing.
CODE_OR_CITATION = re.compile(
    r"```.*?```|`[^`\n]*`|[^\S\n]*\[\s*(?P<numbers>\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\s*\]", re.DOTALL
)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def without_citations(text: str) -> str:
    """A text without the marks `[1]`, `[1, 2]`, and the space before them; code stays as it is."""
    if "[" not in text:
        return text.strip()
    return CODE_OR_CITATION.sub(lambda found: "" if found["numbers"] else found[0], text).strip()


def cut(text: str, words: int | None) -> str:
    """A text's first so many words, white space between them as it was; None leaves all."""
    if words is None:
        return text
    ends = [match.end() for _, match in zip(range(words), re.finditer(r"\S+", text), strict=False)]
    return text[: ends[-1]] if ends else ""


def scored_text(record: TurnRecord, citations: Citations = "remove", max_words: int | None = None) -> str:
    """The answer of a turn as it is compared."""
    answer = record.answer.text
    return cut(without_citations(answer) if citations == "remove" else answer.strip(), max_words)


def normalised(text: str) -> list[str]:
    """SQuAD's tokens: small letters, no ASCII punctuation, no articles, split at white space."""
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


@lru_cache(maxsize=4096)
def normalised_passage(text: str) -> tuple[str, ...]:
    """The same of a passage: many turns show the same ones."""
    return tuple(normalised(text))


def lacks(record: TurnRecord, what: Literal["ranking", "answer", "evidence"]) -> bool:
    """Whether a turn was put together from files (task=evaluate) that do not have this of any turn."""
    given = record.trace.get("evaluate", {}).get("given")
    return given is not None and what not in given


def evidence_texts(record: TurnRecord) -> list[str]:
    """The full texts of the passages that the answer was given, also where a hint stood for one; each once."""
    texts = (item.passage.text or item.text for item in record.evidence.items)
    return list(dict.fromkeys(text for text in texts if text.strip()))
