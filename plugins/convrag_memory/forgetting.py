"""`memory=forgetting`: a budget of tokens for the newest turns and the most used ones."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, log
from typing import Annotated

from annotated_types import Ge, Interval

from convrag import LLM, MemoryView, Question, Turn
from convrag.sdk.llm.history import HistoryReader, continue_reading
from convrag.sdk.text.analysis import stem_content_words
from convrag_memory.reports import ReportingMemory
from convrag_memory.turn_tokens import TurnTokens


class Retention(HistoryReader):
    """The turns of a conversation, oldest first, with the uses of each.

    It depends on the turns and their order alone. A later turn uses an earlier one if its question
    returns to the earlier one's words, or its answer to the passages.

    Args:
        overlap: the least share of a question's content words, each weighed by its rarity in the
            conversation, that a turn must hold for the question to return to it.
    """

    def __init__(self, overlap: float) -> None:
        self.uses: list[int] = []
        """The number of times that each turn was used."""
        self.last_used: list[int] = []
        """The number of the turn that last used each turn; its own where none did."""
        self._overlap = overlap
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        self._by_passage: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, turn: Turn) -> None:
        """Add a turn, which may use earlier ones."""
        number = len(self.turns)
        passage_ids = list(dict.fromkeys(passage.id for passage in turn.passages))
        for used in self.find_used(turn.question, passage_ids):
            self.uses[used] += 1
            self.last_used[used] = number
        self.uses.append(0)
        self.last_used.append(number)
        stems = stem_content_words(f"{turn.question}\n{turn.answer}")
        for stem in dict.fromkeys(stems):
            self._by_word[stem].append(number)
        for passage_id in passage_ids:
            self._by_passage[passage_id].append(number)

    def find_used(self, question: str, passage_ids: Iterable[str] = ()) -> list[int]:
        """Find the numbers of the turns that a question with these passages uses, in order."""
        stems = dict.fromkeys(stem_content_words(question))
        used = self._find_with_words(stems)
        for passage_id in passage_ids:
            used.update(self._by_passage.get(passage_id, ()))
        return sorted(used)

    def find_ages(self, question: str) -> list[float]:
        """Return the age of each turn for a question.

        It is the number of turns since its last use, divided by the number of its uses plus 1. A
        turn that the question itself uses has age 0.
        """
        now = len(self.turns)
        ages = [
            (now - last) / (1 + uses) for last, uses in zip(self.last_used, self.uses, strict=True)
        ]
        for number in self.find_used(question):
            ages[number] = 0.0
        return ages

    def _find_with_words(self, stems: Iterable[str]) -> set[int]:
        """Find the turns that have enough of these words."""
        weights: defaultdict[int, float] = defaultdict(float)
        total = 0.0
        for stem in stems:
            numbers = self._by_word.get(stem, ())
            rarity = log(1 + len(self.turns) / max(len(numbers), 1))
            total += rarity
            for number in numbers:
                weights[number] += rarity
        return {number for number, weight in weights.items() if weight >= self._overlap * total}


@dataclass(kw_only=True, eq=False)
class ForgettingMemory(ReportingMemory):
    """Show the later stages the turns of the greatest weights that fit into a budget of tokens.

    A turn's weight is exp(-t / S): t is the number of turns since it was said or last used, and S
    is 1 plus the number of its uses. It is Ebbinghaus's curve of forgetting as MemoryBank has it
    (Zhong et al., AAAI 2024, arXiv 2305.10250): each use lets the curve begin anew and fall less
    steeply. A later turn uses an earlier one if its question returns to the words of it, or its
    answer rests on a passage of it. A turn to which the question itself returns weighs 1: a turn
    that fell out comes back when the user speaks of it again, since the conversation keeps all.

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
        """Return the turns that fit, in the order of the conversation."""
        history = question.history
        state = question.state(self)
        if not history:
            return MemoryView(())
        tokens = TurnTokens(self.llm.count_tokens, state.setdefault("tokens", {}))
        retention = continue_reading(state, history[:-1], lambda: Retention(self.overlap))
        # The turns that the question of the last turn saw
        before = self._choose(retention, history[-1].question, tokens)
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
        """Choose the turns that a question sees: number -> weight, in order.

        The last ones are chosen first, then those of the greatest weight; of equal weights the
        newer one first. A turn that does not fit is left out, and a lighter one may take its place.
        """
        turns = retention.turns
        ages = retention.find_ages(question)
        first_always = max(len(turns) - self.last, 0)
        chosen = set(range(first_always, len(turns)))
        left = self.tokens - tokens.sum(turns[first_always:])
        for n in sorted(range(first_always), key=lambda n: (ages[n], -n)):
            if left <= 0:
                break
            size = tokens.count(turns[n])
            if size <= left:
                chosen.add(n)
                left -= size
        return {n: round(exp(-ages[n]), 4) for n in sorted(chosen)}
