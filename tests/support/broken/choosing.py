"""Memories, searches and selectors that break a promise of theirs."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from broken.noting import ascii_only, breaks
from convrag import Hit, MemoryView, Passage, Query, SearchStep, Selection, Turn
from sound import SoundMemory, SoundSearch, SoundSelector


@breaks("test_its_results_are_right")
class Listing(SoundMemory):
    """Gives the turns as they are."""

    def view(self, question: Any) -> Any:
        return SimpleNamespace(history=super().view(question).history)


@breaks("test_its_results_are_right")
class Greeting(SoundMemory):
    """Begins each conversation itself."""

    def view(self, question: Any) -> MemoryView:
        return MemoryView(question.history or (Turn("hello", "Hello", "How can I help?"),))


@breaks("test_its_results_are_right")
class Stressing(SoundMemory):
    """Shows the last turn twice."""

    def view(self, question: Any) -> MemoryView:
        return MemoryView((*question.history, *question.history[-1:]))


@breaks("test_its_results_are_right")
class Backwards(SoundMemory):
    """Shows the last turn first."""

    def view(self, question: Any) -> MemoryView:
        return MemoryView(question.history[::-1])


@breaks("test_its_results_are_right")
class Cutting(SoundMemory):
    """Cuts answers."""

    def view(self, question: Any) -> MemoryView:
        return MemoryView(tuple(replace(turn, answer=turn.answer[:3]) for turn in question.history))


@breaks("test_its_results_are_right")
class Taciturn(SoundMemory):
    """Sums up without a question."""

    def view(self, question: Any) -> MemoryView:
        said = " ".join(turn.answer for turn in question.history)
        return MemoryView((Turn("summary", "", said),) if question.history else ())


@breaks("test_its_results_are_right")
class Expecting(SoundMemory):
    """Expects passages of each turn."""

    def view(self, question: Any) -> MemoryView:
        history = tuple(turn for turn in question.history if turn.passages[0].text)
        return MemoryView(history)


@breaks("test_its_results_are_right")
class AsciiMemory(SoundMemory):
    """Knows one alphabet."""

    def view(self, question: Any) -> MemoryView:
        return MemoryView(tuple(turn for turn in question.history if ascii_only(turn.answer)))


@breaks("test_turns_one_after_the_other_equal_turns_from_the_start")
class Counting(SoundMemory):
    """Counts how often it was asked in a conversation."""

    def view(self, question: Any) -> MemoryView:
        state = question.state(self)
        state["asked"] = state.get("asked", 0) + 1
        return MemoryView(question.history[-state["asked"] :])


@breaks("test_its_results_are_right")
class LooksChosen(SoundSelector):
    """Gives something like a selection."""

    def select(self, question: Any, hits: Any, n: int) -> Any:
        return SimpleNamespace(hits=tuple(hits[:n]))


@breaks("test_its_results_are_right")
class Rescoring(SoundSelector):
    """Gives scores of its own."""

    def select(self, question: Any, hits: Any, n: int) -> Selection:
        return Selection(
            tuple(replace(hit, score=0.5) if len(hits) > 1 else hit for hit in hits[:n])
        )


@breaks("test_its_results_are_right")
class Repeating(SoundSelector):
    """Gives the best once more where there is room."""

    def select(self, question: Any, hits: Any, n: int) -> Selection:
        return Selection((*hits[: n - 1], hits[0]) if 1 < n <= len(hits) else tuple(hits[:n]))


@breaks("test_its_results_are_right")
class Apologising(SoundSelector):
    """Selects something in any case."""

    def select(self, question: Any, hits: Any, n: int) -> Selection:
        return Selection(tuple(hits[:n]) or (Hit(Passage("none", "Nothing was found."), 0.0),))


@breaks("test_its_results_are_right")
class Dividing(SoundSelector):
    """Divides by the largest score."""

    def select(self, question: Any, hits: Any, n: int) -> Selection:
        return Selection(
            tuple(
                hit
                for hit in hits[:n]
                if len(hits) < 2 or hit.score / max(h.score for h in hits) >= 0
            )
        )


@breaks("test_it_selects")
class Demanding(SoundSelector):
    """Wants as many as it was promised."""

    def select(self, question: Any, hits: Any, n: int) -> Selection:
        return Selection(tuple(hits[:n]) if len(hits) >= n else ())


@breaks("test_its_results_are_right")
class AsciiSelector(SoundSelector):
    """Knows one alphabet."""

    def select(self, question: Any, hits: Any, n: int) -> Selection:
        return Selection(tuple(hit for hit in hits[:n] if ascii_only(question.text)))


@breaks("test_it_ends_and_joins_what_was_found")
class Endless(SoundSearch):
    """Always has something to search for."""

    def plan(self, question: Any, steps: Any, seconds: float) -> SearchStep:
        return SearchStep((Query(f"kettle {len(steps)}"),))
