"""Passages, the hits of a search, their rankings and selections, and nuggets.

All are immutable plain data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_WORD_CONTINUES = re.compile(r"[\w+#&@/'\u2019-]|\.\w")
"""What after a title shows that its last word goes on: "Art" in "Artificial", "C" in "C++"."""

FieldValue = str | int | float | bool | list[str]
"""The value of a field of a passage; a date is a text, "2023-05-01"."""


@dataclass(frozen=True, slots=True)
class Passage:
    r"""A piece of text that is retrieved, shown to a model and cited.

    Args:
        id: unique in its domain's corpus.
        text: the text, without the title.
        title: the title of the document or section it is from; may be empty.
        url: where a reader finds it; may be empty.
        metadata: plain data that a data set or chunker adds. A passage that was cut from a document
            has `document`, `start`, `end` and `place` (see
            `convrag.sdk.data.document_passages`); one that has fields for filters has `fields`.

    Example:
        >>> passage = Passage("tea-2", "Green tea is brewed at about eighty degrees.", title="Tea")
        >>> passage.content
        'Tea\nGreen tea is brewed at about eighty degrees.'
    """

    id: str
    text: str
    title: str = ""
    url: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def content(self) -> str:
        """Title and text; the text alone if it begins with the title."""
        title = self.title_above
        return f"{title}\n{self.text}" if title else self.text

    @property
    def title_above(self) -> str:
        """The title to show above the text; empty if the text begins with it."""
        return "" if self.begins_with_title(self.text) else self.title.strip()

    def begins_with_title(self, text: str) -> bool:
        """Whether a text (the passage's or an excerpt) begins with the title, as whole words.

        "Art" is not the beginning of "Artificial neural networks".
        """
        title = self.title.strip()
        if not title or not text.startswith(title):
            return False
        return not _WORD_CONTINUES.match(text, len(title))

    @property
    def document(self) -> str:
        """The id of the document that it was cut from; empty if there is none."""
        document = self.metadata.get("document")
        return document if isinstance(document, str) else ""

    @property
    def place(self) -> str:
        """Its place in its document, for people: "leave.md, 'Sick leave', page 3"; may be empty."""
        place = self.metadata.get("place")
        return place if isinstance(place, str) and "document" in self.metadata else ""

    @property
    def fields(self) -> Mapping[str, FieldValue]:
        """Its fields, which filters compare: "year" -> 2023; may be empty.

        `convrag.sdk.data.fields` makes them of a data set's own.
        """
        fields = self.metadata.get("fields")
        return fields if isinstance(fields, Mapping) else {}

    @property
    def name(self) -> str:
        """The name that people see: its place, else its title, else its id."""
        return self.place or self.title or self.id


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found.

    Args:
        passage: the passage.
        score: the score that ranked it; higher is better. Its scale is the retriever's.

    Example:
        >>> Hit(Passage("tea-2", "Green tea is brewed at about eighty degrees."), 7.3).passage.id
        'tea-2'
    """

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True)
class Candidates:
    """The passages that a retriever found for the question of a turn.

    Args:
        hits: at most as many different passages as were wanted, best first.
        contenders: further passages, each of which replaces a hit that the reranker ranks lower.
            Without a reranker they are dropped.
        trace: how they were found, as plain data, for the record.

    Example:
        >>> hit = Hit(Passage("tea-1", "Kettles whistle."), 2.0)
        >>> Candidates([hit], trace={"carried": []}).contenders
        ()
    """

    hits: Sequence[Hit]
    contenders: Sequence[Hit] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The scores by which a ranker orders hits.

    Args:
        scores: a number for each hit, in the order of the hits; higher is better. If all are equal,
            the hits keep their order.
        trace: how they came about, as plain data, for the record.
        fallback: why the ranker could not do its work as chosen; empty if it could.

    Example:
        >>> Ranking([0.2, 0.9]).fallback
        ''
    """

    scores: Iterable[float]
    trace: Mapping[str, Any] = field(default_factory=dict)
    fallback: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """The passages that a selector chose.

    Args:
        hits: hits of the search, unchanged, in the order in which they are shown: the best first.
        trace: why these and so many, as plain data, for the record.
        fallback: why the selector could not do its work; empty if it could.

    Example:
        >>> hit = Hit(Passage("tea-1", "Kettles whistle."), 2.0)
        >>> len(Selection((hit,), {"least": 1}).hits)
        1
    """

    hits: tuple[Hit, ...]
    trace: Mapping[str, Any] = field(default_factory=dict)
    fallback: str = ""


@dataclass(frozen=True, slots=True)
class Nugget:
    """A span of a passage that answers (part of) a query.

    Args:
        text: `passage.text[start:end]`, without a change.
        passage_id: the id of the passage.
        start: the first character of the span in the passage's text, from 0.
        end: the character after its last one.

    Example:
        >>> passage = Passage("tea-2", "Green tea is brewed at about eighty degrees.")
        >>> nugget = Nugget("about eighty degrees", "tea-2", 23, 43)
        >>> nugget.text == passage.text[nugget.start : nugget.end]
        True
    """

    text: str
    passage_id: str
    start: int
    end: int
