"""How well each turn of a conversation is retained: its age, and the uses that later turns have made of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import exp, log

from convrag import Turn
from convrag.sdk.words import stem_content_words


class Retention:
    """The turns of a conversation, oldest first, with the uses of each; it depends on the turns and their order alone.

    A later turn uses an earlier one if its question returns to the earlier one's words, or its answer to the passages.

    Args:
        overlap: the least share of a question's content words, each weighed by its rarity in the conversation, that a
            turn must hold for the question to return to it.
    """

    def __init__(self, overlap: float) -> None:
        self.turns: tuple[Turn, ...] = ()
        self.uses: list[int] = []
        """How often each turn was used."""
        self.last_used: list[int] = []
        """The number of the turn that used it last; its own where none did."""
        self._overlap = overlap
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        self._by_passage: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, turn: Turn) -> None:
        """Add a turn, which may use earlier ones."""
        number = len(self.turns)
        for used in self.find_used(turn.question, (passage.id for passage in turn.passages)):
            self.uses[used] += 1
            self.last_used[used] = number
        self.uses.append(0)
        self.last_used.append(number)
        self.turns = (*self.turns, turn)
        for stem in dict.fromkeys(stem_content_words(f"{turn.question}\n{turn.answer}")):
            self._by_word[stem].append(number)
        for passage_id in dict.fromkeys(passage.id for passage in turn.passages):
            self._by_passage[passage_id].append(number)

    def find_used(self, question: str, passage_ids: Iterable[str] = ()) -> list[int]:
        """The numbers of the turns that a question with these passages uses, in order."""
        used = {number for passage_id in passage_ids for number in self._by_passage.get(passage_id, ())}
        return sorted(used | self._find_with_words(dict.fromkeys(stem_content_words(question))))

    def find_ages(self, question: str) -> list[float]:
        """The age of each turn for a question, in turns since its last use, divided by the number of its uses plus 1.

        A turn that the question itself uses has age 0.
        """
        now = len(self.turns)
        used = set(self.find_used(question))
        return [
            0.0 if number in used else (now - last) / (1 + uses)
            for number, (last, uses) in enumerate(zip(self.last_used, self.uses, strict=True))
        ]

    def _find_with_words(self, stems: Iterable[str]) -> set[int]:
        """The turns that hold enough of these words."""
        n = len(self.turns)
        held: defaultdict[int, float] = defaultdict(float)
        total = 0.0
        for stem in stems:
            numbers = self._by_word.get(stem, ())
            rarity = log(1 + n / max(len(numbers), 1))
            total += rarity
            for number in numbers:
                held[number] += rarity
        return {number for number, share in held.items() if share >= self._overlap * total}


def compute_weight(age: float) -> float:
    """The weight of a turn of this age (`Retention.find_ages`), from 1 down to 0: Ebbinghaus's curve of forgetting."""
    return exp(-age)
