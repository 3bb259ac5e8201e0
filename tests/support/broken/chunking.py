"""Chunkers that break a promise of theirs."""

from dataclasses import replace
from typing import Any

from broken.noting import ascii_only, breaks
from convrag import Passage
from sound import SoundChunker


@breaks("test_its_results_are_right")
class TidyingChunker(SoundChunker):
    """Tidies what it has cut."""

    def chunk(self, document: Any) -> list[Passage]:
        return [
            replace(each, text=each.text.replace("Part", "Section"))
            for each in super().chunk(document)
        ]


@breaks("test_its_results_are_right")
class BackwardsChunker(SoundChunker):
    """Begins at the end."""

    def chunk(self, document: Any) -> list[Passage]:
        found = super().chunk(document)
        return found[::-1] if document.title else found


@breaks("test_passages_have_ids_of_their_own")
class Numbering(SoundChunker):
    """Numbers the passages of each document, and does not say of which."""

    def chunk(self, document: Any) -> list[Passage]:
        return [replace(each, id=each.id.rpartition("#")[2]) for each in super().chunk(document)]


@breaks("test_its_results_are_right")
class AsciiChunker(SoundChunker):
    """Knows one alphabet."""

    def chunk(self, document: Any) -> list[Passage]:
        if not document.title:
            ascii_only(document.text)
        return super().chunk(document)


@breaks("test_its_results_are_right")
class Keeping(SoundChunker):
    """Keeps blank documents."""

    def chunk(self, document: Any) -> list[Passage]:
        found = super().chunk(document)
        blank = not document.text and not found
        return [Passage("blank.txt#1", document.text)] if blank else found
