"""The evidence that a generator sees. All of it is immutable plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from convrag.api.passages import Passage
from convrag.api.printable import format_evidence_html


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """A passage as the model sees it.

    Args:
        number: the number by which the answer cites it, as [number]; above 0, and different for
            each passage of a turn.
        passage: the passage.
        text: the text that is shown: all, a part, or a hint.
        hint: whether the text only points to the full text in an earlier message.
        score: the score that ranked the passage in this turn, which the pipeline fills in; None if
            it was not ranked.

    Example:
        >>> passage = Passage("tea-2", "Green tea is brewed at about eighty degrees.", title="Tea")
        >>> EvidenceItem(1, passage, passage.content).hint
        False
    """

    number: int
    passage: Passage
    text: str
    hint: bool = False
    score: float | None = field(default=None, compare=False)

    @property
    def all_text(self) -> str:
        """All that an answer may rest on: the passage's title and text, and what is shown beyond.

        A hint is no such text.
        """
        content = self.passage.content if self.passage.text.strip() else ""
        if not content:
            return self.text
        if self.hint or self.text in content:
            return content
        if content in self.text:
            return self.text
        return f"{content}\n{self.text}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The passages that the model sees in this turn.

    Args:
        items: the passages in the order in which they are shown.
        trace: what was left out or saved, as plain data, for the record.

    Example:
        >>> passages = [Passage("tea-1", "Kettles whistle."), Passage("tea-2", "Tea is brewed.")]
        >>> items = [EvidenceItem(n, each, each.text) for n, each in enumerate(passages, 1)]
        >>> evidence = Evidence(tuple(items))
        >>> [item.number for item in evidence.items]
        [1, 2]
    """

    items: tuple[EvidenceItem, ...] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        """Show the passages in a notebook."""
        return format_evidence_html(self)
