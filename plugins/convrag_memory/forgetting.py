"""`memory=forgetting`: a budget of tokens, for the turns that are newest or that later turns used
most.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, log
from typing import Annotated

from annotated_types import Ge, Interval

from convrag import LLM, MemoryView, Question, Turn
from convrag.sdk.llm.history import HistoryReader, continue_reading
from convrag.sdk.text.analysis import stem_content_words
from convrag_memory.recent import ReportingMemory, TurnTokens


class Retention(HistoryReader):
    """The turns of a conversation, oldest first, with the uses of each; it depends on the turns and their order alone.

    A later turn uses an earlier one if its question returns to the earlier one's words, or its
    answer to the passages.

    Args:
        overlap: the least share of a question's content words, each weighed by its rarity in the
            conversation, that a turn must hold for the question to return to it.
    """

    def __init__(self, overlap: float) -> None:
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
        for stem in dict.fromkeys(stem_content_words(f"{turn.question}\n{turn.answer}")):
            self._by_word[stem].append(number)
        for passage_id in dict.fromkeys(passage.id for passage in turn.passages):
            self._by_passage[passage_id].append(number)

    def find_used(self, question: str, passage_ids: Iterable[str] = ()) -> list[int]:
        """The numbers of the turns that a question with these passages uses, in order."""
        used = {
            number for passage_id in passage_ids for number in self._by_passage.get(passage_id, ())
        }
        return sorted(used | self._find_with_words(dict.fromkeys(stem_content_words(question))))

    def find_ages(self, question: str) -> list[float]:
        """The age of each turn for a question, in turns since its last use, divided by the number
        of its uses plus 1.

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


@dataclass(kw_only=True, eq=False)
class ForgettingMemory(ReportingMemory):
    """Show the later stages the turns of the greatest weights, as many as fit into a budget of tokens.

    A turn's weight is exp(-t / S): t is the number of turns since it was said or last used, and S
    is 1 plus the number of its uses. It is Ebbinghaus's curve of forgetting as MemoryBank has it
    (Zhong et al., AAAI 2024, arXiv 2305.10250): each use lets the curve begin anew and fall less
    steeply. A later turn uses an earlier one if its question returns to the words of it, or its
    answer rests on a passage of it. A turn to which the question itself returns weighs 1: what fell
    out comes back when it is spoken of again, for the conversation keeps everything.

    The trace has the weights of the turns that are seen (`weights`), and the ids of those that have
    fallen out since the question before (`fell_out`) or came back (`recalled`); the run's report
    counts them.

    Args:
        llm: counts tokens.
        tokens: the budget, for the questions and answers of all turns that are seen (1500: as
            rewriter.history_tokens of rewriter=condense). The last turns may exceed it.
        last: how many of the last turns are seen whatever their size, since most references point
            to the last one.
        overlap: the least share of a question's content words, each weighed by its rarity in the
            conversation, that a turn must hold for the question to return to it, above 0 and at
            most 1 (.5: at least half).
    """

    libraries = ("PyStemmer",)

    llm: LLM
    tokens: Annotated[int, Ge(1)] = 1500
    last: Annotated[int, Ge(1)] = 1
    overlap: Annotated[float, Interval(gt=0, le=1)] = 0.5

    def view(self, question: Question) -> MemoryView:
        """The turns that fit, in the order of the conversation."""
        history, state = question.history, question.state(self)
        if not history:
            return MemoryView(())
        tokens = TurnTokens(self.llm.count_tokens, state.setdefault("tokens", {}))
        retention = continue_reading(state, history[:-1], lambda: Retention(self.overlap))
        before = self._choose(
            retention, history[-1].question, tokens
        )  # what the question of the last turn has seen
        retention.update(history)
        seen = self._choose(retention, question.text, tokens)
        newest = len(history) - 1
        trace = {
            "turns": len(history),
            "seen": len(seen),
            "tokens": tokens.sum(history[n] for n in seen),
            "tokens_of_all": tokens.sum(history),
            "weights": {history[n].id: weight for n, weight in seen.items()},
            "fell_out": [history[n].id for n in before if n not in seen],
            "recalled": [history[n].id for n in seen if n not in before and n != newest],
        }
        return MemoryView(tuple(history[n] for n in seen), trace)

    def _choose(self, retention: Retention, question: str, tokens: TurnTokens) -> dict[int, float]:
        """The numbers of the turns that a question sees, in order, with their weights.

        The last ones first, then by weight; of equal weights the newer one first. A turn that does
        not fit is left out, and a lighter one may take its place.
        """
        turns, ages = retention.turns, retention.find_ages(question)
        always = range(max(len(turns) - self.last, 0), len(turns))
        chosen = set(always)
        left = self.tokens - tokens.sum(turns[n] for n in always)
        for n in sorted(range(always.start), key=lambda n: (ages[n], -n)):
            if left <= 0:
                break
            if (size := tokens.count(turns[n])) <= left:
                chosen.add(n)
                left -= size
        return {n: round(exp(-ages[n]), 4) for n in sorted(chosen)}
