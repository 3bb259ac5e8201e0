"""Passages: what a search finds, what is selected of it, and the nuggets in it. All of it is immutable plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Passage:
    r"""A piece of text that is retrieved, shown to a model and cited.

    Args:
        id: unique in its domain's corpus.
        text: the text, without the title.
        title: of the document or section it is from; may be empty.
        url: where a reader finds it; may be empty.
        metadata: plain data that a data set or chunker keeps with it. A passage that was cut from a
            document has `document`, `start`, `end` and `place` (see
            `convrag.sdk.data.document_passages`).

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
        return self.text if self.text.startswith(self.title) else f"{self.title}\n{self.text}"

    @property
    def place(self) -> str:
        """Where it stands in its document, for people: "leave.md, 'Sick leave', page 3"; empty if
        in no document.
        """
        place = self.metadata.get("place")
        return place if isinstance(place, str) and "document" in self.metadata else ""

    @property
    def name(self) -> str:
        """What people know it by: its place, else its title, else its id."""
        return self.place or self.title or self.id


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found.

    Args:
        passage: the passage.
        score: what ranked it; higher is better. Its scale is the retriever's.

    Example:
        >>> Hit(Passage("tea-2", "Green tea is brewed at about eighty degrees."), 7.3).passage.id
        'tea-2'
    """

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True)
class Selection:
    """The passages that were chosen of those that were found.

    Args:
        hits: of those that were found, unchanged, in the order in which they are shown; the best
            first.
        trace: why these and so many, as plain data, for the record.
        fallback: why the selector could not do its work; empty if it could.

    Example:
        >>> hits = [Hit(Passage("tea-1", "Kettles whistle."), 2.0), Hit(Passage("tea-2", "Tea is brewed."), 0.1)]
        >>> len(Selection(tuple(hit for hit in hits if hit.score > 1), {"least": 1}).hits)
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
        passage_id: of the passage.
        start: of the span in the passage's text, in characters from 0.
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
