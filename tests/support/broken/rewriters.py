"""Rewriters that break a promise of theirs."""

from typing import Any

from broken.noting import ascii_only, breaks
from convrag import Query, Rewrite
from sound import SoundRewriter


@breaks("test_its_results_are_right")
class Weightless(SoundRewriter):
    """Gives queries that do not count."""

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite((Query(question.text, 0.0),))


@breaks("test_its_results_are_right")
class LateRewriter(SoundRewriter):
    """Searches for earlier questions alone."""

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite.of(question.history[-1].question if question.history else "")


@breaks("test_its_results_are_right")
class Trusting(SoundRewriter):
    """Expects passages of each turn."""

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite.of(
            " ".join([question.text, *(turn.passages[0].title for turn in question.history)])
        )


@breaks("test_its_results_are_right")
class Hasty(SoundRewriter):
    """Expects a first word."""

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite.of(question.text, first=question.text.split()[0])


@breaks("test_its_results_are_right")
class AsciiRewriter(SoundRewriter):
    """Knows one alphabet."""

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite.of(ascii_only(question.text))


@breaks("test_turns_one_after_the_other_equal_turns_from_the_start")
class Remembering(SoundRewriter):
    """Counts how often it was asked in a conversation."""

    def rewrite(self, question: Any) -> Rewrite:
        memory = question.state(self)
        memory["asked"] = memory.get("asked", 0) + 1
        return Rewrite.of(f"{question.text} {memory['asked']}")
