"""The answers that are assessed: whether a turn has one, what it rests on, and its length in words."""

from __future__ import annotations

import re

from convrag import Passage, TurnRecord

_CITATIONS = re.compile(r"\s*\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\](?=(\w?))")


def has_answer(record: TurnRecord) -> bool:
    """Whether the turn has an answer, which may be empty; task=evaluate may have been given rankings alone."""
    given = record.trace.get("evaluate", {}).get("given")
    return given is None or "answer" in given


def shown_passages(record: TurnRecord) -> list[Passage]:
    """The passages that the system showed its model, each once, in order."""
    return list({item.passage.id: item.passage for item in record.evidence.items if item.passage.text}.values())


def rests_on_few_nuggets(record: TurnRecord, min_nuggets: int) -> bool:
    """Whether the generator's trace (generator=ginger) says that it detected fewer than `min_nuggets` nuggets."""
    nuggets = record.trace.get("generator", {}).get("nuggets")
    return nuggets is not None and len(nuggets) < min_nuggets


def split_words(answer: str) -> list[str]:
    """The words of an answer, separated by white space; citations such as [1] or [2, 3] are not words."""
    return _CITATIONS.sub(lambda found: " " if found[1] else "", answer).split()


def truncate_answer(answer: str, max_words: int | None) -> str:
    """The first `max_words` words of an answer, without citations; an answer that is no longer stays as it is."""
    words = split_words(answer)
    return answer if max_words is None or len(words) <= max_words else " ".join(words[:max_words])
