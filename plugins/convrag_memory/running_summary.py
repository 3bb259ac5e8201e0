"""The running summary of a conversation: blocks of turns, each summarised once, by a model or by
extraction.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from convrag import LLM, LLMError, PromptTemplate, Turn
from convrag.sdk.llm.rewriter import format_exchanges
from convrag.sdk.storage import answer_again
from convrag.sdk.text.analysis import find_stems
from convrag.sdk.text.sentences import split_sentences

SENTENCES = 3
"""The most sentences of one turn: a few say what a long answer is about."""

SHORTEST, LONGEST = 4, 60
"""Words of a sentence that may be taken: shorter ones say little, longer ones are tables and lists.
"""


class Extract(NamedTuple):
    """A sentence of an answer: its score, the number of its turn (from 0), and its place in the answer."""

    score: float
    turn: int
    place: int
    text: str


def extract_sentences(turns: Sequence[Turn], first: int) -> list[Extract]:
    """The sentences of turns that say most, in order, at most SENTENCES of each turn.

    A sentence's score is Luhn's (1958): the square of the number of its significant words, divided
    by the number of all its words. Significant are the content words of the question that it
    answers, and those that at least two sentences of these turns have.

    Args:
        turns: oldest first.
        first: the number of the first of them in the conversation.
    """
    sources = [turn.answer if turn.answer.strip() else turn.question for turn in turns]
    said = [
        [(text, find_stems(text)) for text in dict.fromkeys(split_sentences(source))]
        for source in sources
    ]
    common = Counter(stem for sentences in said for _, stems in sentences for stem in stems)
    repeated = {stem for stem, count in common.items() if count > 1}
    found: list[Extract] = []
    for number, (turn, sentences) in enumerate(zip(turns, said, strict=True), first):
        significant = repeated.union(find_stems(turn.question))
        scored = [
            Extract(round(len(stems & significant) ** 2 / words, 6), number, place, text)
            for place, (text, stems) in enumerate(sentences)
            if SHORTEST <= (words := len(text.split())) <= LONGEST
        ]
        best = sorted(scored, key=lambda each: (-each.score, each.place))[:SENTENCES]
        found += sorted((each for each in best if each.score), key=lambda each: each.place)
    return found


def keep_best(extracts: Iterable[Extract], words: int) -> list[Extract]:
    """The best extracts that have so many words together, in order; of equal ones the newer one.

    Each turn's best sentence comes before the second one of any other turn, so that all topics are
    kept as long as there is room.
    """
    by_turn: dict[int, list[Extract]] = {}
    for each in extracts:
        by_turn.setdefault(each.turn, []).append(each)
    ranked = [
        (rank, each)
        for found in by_turn.values()
        for rank, each in enumerate(sorted(found, key=lambda each: (-each.score, each.place)))
    ]
    kept: list[Extract] = []
    for _, each in sorted(ranked, key=lambda pair: (pair[0], -pair[1].score, -pair[1].turn)):
        if (size := len(each.text.split())) <= words:
            kept.append(each)
            words -= size
    return sorted(kept, key=lambda each: (each.turn, each.place))


MOST_TIMES = 2
"""A reply may have so many times the words that were asked for; what is longer is cut behind a
sentence or a word.
"""


class SummarySoFar(NamedTuple):
    """The summary of all turns until the end of a block.

    `extracts` are the sentences that it consists of, where no language model wrote it.
    """

    text: str
    extracts: tuple[Extract, ...] = ()


@dataclass
class ExtractingSentences:
    """Takes sentences of the answers as they are.

    Args:
        words: that the summary may have.
    """

    words: int

    def write(self, before: SummarySoFar, block: Sequence[Turn], first: int) -> SummarySoFar:
        """Continue the summary with a block of turns: the best sentences until now.

        Args:
            before: that of all turns before the block.
            block: the turns, oldest first.
            first: the number of the first of them in the conversation, from 0.
        """
        kept = tuple(keep_best([*before.extracts, *extract_sentences(block, first)], self.words))
        return SummarySoFar(" ".join(each.text for each in kept), kept)


@dataclass
class AskingModel:
    """Asks a language model for a new summary.

    Args:
        llm: the language model.
        template: the prompt; it is given `summary`, `history` and `words`.
        sampling: of the calls.
        words: that the summary may have.
    """

    llm: LLM
    template: PromptTemplate
    sampling: dict[str, Any]
    words: int

    def write(self, before: SummarySoFar, block: Sequence[Turn], first: int) -> SummarySoFar:
        """As ExtractingSentences.write, by one call of the LLM. Raises LLMError."""
        prompt = self.template.render(
            self.sampling, summary=before.text, history=format_exchanges(block), words=self.words
        )
        with answer_again(
            0
        ):  # a question that is answered again has the same history, and the same summary of it
            reply = self.llm.complete(prompt)
        if not (text := _cut(reply.text.strip(), MOST_TIMES * self.words)):
            raise LLMError("the reply with the summary is empty", model=reply.model)
        return SummarySoFar(text)


class RunningSummary:
    """The summaries of a conversation, one until the end of each block. They depend on the turns and their order alone.

    Args:
        summarising: writes the summaries.
        block: the turns of a block.
    """

    def __init__(self, summarising: ExtractingSentences | AskingModel, block: int) -> None:
        self.summaries: list[SummarySoFar] = []
        """After each block, oldest first."""
        self._summarising = summarising
        self._block = block
        self._read: tuple[Turn, ...] = ()

    def continues(self, turns: tuple[Turn, ...]) -> bool:
        """Whether turns begin with those that were summarised, or are the beginning of those."""
        n = min(len(turns), len(self._read))
        return turns[:n] == self._read[:n]

    def summarise(self, turns: tuple[Turn, ...]) -> None:
        """Summarise whole blocks of turns that are new, oldest first. Raises LLMError; the blocks
        before it stay.
        """
        for start in range(len(self.summaries) * self._block, len(turns), self._block):
            before = self.summaries[-1] if self.summaries else SummarySoFar("")
            block = turns[start : start + self._block]
            self.summaries.append(self._summarising.write(before, block, start))
            self._read = (*self._read, *block)


def _cut(text: str, words: int) -> str:
    """The beginning of a text with at most so many words, cut behind its last whole sentence where
    it has one.
    """
    parts = text.split()
    if len(parts) <= words:
        return text
    ends = [
        n
        for n, word in enumerate(parts[:words], 1)
        if word.rstrip("\"'”’)").endswith((".", "!", "?", "。"))
    ]
    return " ".join(parts[: ends[-1] if ends else words])
