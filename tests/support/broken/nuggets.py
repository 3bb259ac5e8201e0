"""Detectors and summarizers that break a promise of theirs."""

from dataclasses import replace
from typing import Any

from broken.noting import ascii_only, breaks
from convrag import Nugget
from sound import SoundDetector, SoundSummarizer


@breaks("test_its_results_are_right")
class Tidying(SoundDetector):
    """Looks into a text whose white space it has tidied."""

    def detect(self, query: str, passage: Any) -> list[Nugget]:
        return super().detect(query, replace(passage, text=" ".join(passage.text.split())))


@breaks("test_its_results_are_right")
class Backwards(SoundDetector):
    """Begins at the end."""

    def detect(self, query: str, passage: Any) -> list[Nugget]:
        return super().detect(query, passage)[::-1]


@breaks("test_its_results_are_right")
class Bytes(SoundDetector):
    """Counts bytes."""

    def detect(self, query: str, passage: Any) -> list[Nugget]:
        found = super().detect(query, passage)
        before = [len(passage.text[: nugget.start].encode()) for nugget in found]
        return [
            replace(n, start=at, end=at + len(n.text)) for n, at in zip(found, before, strict=True)
        ]


@breaks("test_its_results_are_right")
class Optimistic(SoundDetector):
    """Finds something in any passage."""

    def detect(self, query: str, passage: Any) -> list[Nugget]:
        return super().detect(query, passage) if passage.text else [Nugget("", passage.id, 0, 0)]


@breaks("test_its_results_are_right")
class Wordy(SoundSummarizer):
    """Does not count its words."""

    def summarize(self, query: str, nuggets: Any, words: int) -> str:
        return super().summarize(query, nuggets, words) + " and so on" * 20


@breaks("test_its_results_are_right")
class WantsTwoNuggets(SoundSummarizer):
    """Wants two nuggets."""

    def summarize(self, query: str, nuggets: Any, words: int) -> str:
        return super().summarize(query, nuggets[1:], words)


@breaks("test_its_results_are_right")
class AsciiSummarizer(SoundSummarizer):
    """Knows one alphabet."""

    def summarize(self, query: str, nuggets: Any, words: int) -> str:
        return ascii_only(super().summarize(query, nuggets, words))
