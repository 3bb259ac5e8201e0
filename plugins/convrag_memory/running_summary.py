"""The running summary of a conversation: blocks of turns, each summarised once."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from convrag import LLM, LLMError, PromptTemplate, Turn
from convrag.sdk.llm.rewriter import format_exchanges
from convrag.sdk.storage import answer_again
from convrag.sdk.text.analysis import count_words, find_stems, take_words
from convrag.sdk.text.sentences import find_sentence_spans, split_sentences

SENTENCES = 3
"""The most sentences of one turn: a few say what a long answer is about."""

SHORTEST = 4
"""Words of a sentence that may be taken: shorter ones say little."""

LONGEST = 60
"""Words of a sentence that may be taken: longer ones are tables and lists."""


class Extract(NamedTuple):
    """A sentence of an answer.

    Args:
        score: its significance.
        turn: the number of its turn, from 0.
        place: its number in the answer, from 0.
        text: the sentence.
    """

    score: float
    turn: int
    place: int
    text: str


def extract_sentences(turns: Sequence[Turn], first: int) -> list[Extract]:
    """Extract the sentences of turns that say most, in order, at most SENTENCES of each turn.

    A sentence's score is Luhn's (1958): the square of the number of its significant words, divided
    by the number of all its words. Significant are the content words of the question that it
    answers, and those that at least two sentences of these turns have.

    Args:
        turns: oldest first.
        first: the number of the first of them in the conversation.
    """
    sentences_of_turns = []
    counts: Counter[str] = Counter()
    for turn in turns:
        source = turn.answer if turn.answer.strip() else turn.question
        sentences = [(text, find_stems(text)) for text in dict.fromkeys(split_sentences(source))]
        sentences_of_turns.append(sentences)
        for _, stems in sentences:
            counts.update(stems)
    repeated = {stem for stem, count in counts.items() if count > 1}
    extracts: list[Extract] = []
    for number, (turn, sentences) in enumerate(zip(turns, sentences_of_turns, strict=True), first):
        significant = repeated.union(find_stems(turn.question))
        scored = []
        for place, (text, stems) in enumerate(sentences):
            words = count_words(text)
            significant_words = len(stems & significant)
            if significant_words and SHORTEST <= words <= LONGEST:
                score = round(significant_words**2 / words, 6)
                scored.append(Extract(score, number, place, text))
        scored.sort(key=lambda each: (-each.score, each.place))
        extracts += sorted(scored[:SENTENCES], key=lambda each: each.place)
    return extracts


def keep_best(extracts: Iterable[Extract], words: int) -> list[Extract]:
    """Choose the best extracts that have at most so many words together, and put them in order.

    Each turn's best sentence comes before the second one of any other turn, so that all topics stay
    as long as there is room. Of equal ones, the newer one comes first.
    """
    by_turn: dict[int, list[Extract]] = {}
    for each in extracts:
        by_turn.setdefault(each.turn, []).append(each)
    ranked: list[tuple[int, Extract]] = []
    for of_turn in by_turn.values():
        of_turn.sort(key=lambda each: (-each.score, each.place))
        ranked += enumerate(of_turn)
    ranked.sort(key=lambda pair: (pair[0], -pair[1].score, -pair[1].turn))
    best: list[Extract] = []
    for _, each in ranked:
        size = count_words(each.text)
        if size <= words:
            best.append(each)
            words -= size
    return sorted(best, key=lambda each: (each.turn, each.place))


MOST_TIMES = 2
"""The longest reply, as a multiple of the words that were asked for; a longer one is cut."""


class SummarySoFar(NamedTuple):
    """The summary of all turns until the end of a block.

    Args:
        text: the summary.
        extracts: its sentences, if no language model wrote it.
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
            before: the summary of all turns before the block.
            block: the turns, oldest first.
            first: the number of the first of them in the conversation, from 0.
        """
        extracts = [*before.extracts, *extract_sentences(block, first)]
        best = keep_best(extracts, self.words)
        return SummarySoFar(" ".join(each.text for each in best), tuple(best))


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
        """Continue the summary as ExtractingSentences does, by one call. Raises LLMError."""
        prompt = self.template.render(
            self.sampling, summary=before.text, history=format_exchanges(block), words=self.words
        )
        # A question that is answered again has the same history, and the same summary of it
        with answer_again(0):
            reply = self.llm.complete(prompt)
        text = _shorten(reply.text.strip(), MOST_TIMES * self.words)
        if not text:
            raise LLMError("the reply with the summary is empty", model=reply.model)
        return SummarySoFar(text)


class RunningSummary:
    """The summaries of a conversation, one until the end of each block.

    They depend on the turns and their order alone.

    Args:
        summarising: writes the summaries.
        block: the turns of a block.
    """

    def __init__(self, summarising: ExtractingSentences | AskingModel, block: int) -> None:
        self.summaries: list[SummarySoFar] = []
        """The summaries after each block, oldest first."""
        self._summarising = summarising
        self._block = block
        self._read: tuple[Turn, ...] = ()

    def continues(self, turns: tuple[Turn, ...]) -> bool:
        """Whether turns begin with those that were summarised, or are the beginning of those."""
        n = min(len(turns), len(self._read))
        return turns[:n] == self._read[:n]

    def summarise(self, turns: tuple[Turn, ...]) -> None:
        """Summarise whole blocks of turns that are new, oldest first.

        Raises LLMError; the summaries of earlier blocks stay.
        """
        for start in range(len(self.summaries) * self._block, len(turns), self._block):
            before = self.summaries[-1] if self.summaries else SummarySoFar("")
            block = turns[start : start + self._block]
            self.summaries.append(self._summarising.write(before, block, start))
            self._read = (*self._read, *block)


def _shorten(text: str, words: int) -> str:
    """Shorten a text to a number of words, after its last whole sentence if it has one."""
    shortened = take_words(text, words)
    if shortened == text.rstrip():
        return text
    last_end = 0
    for _, end in find_sentence_spans(shortened):
        if shortened[:end].rstrip("\"'”’)").endswith((".", "!", "?", "。", "！", "？")):
            last_end = end
    whole = shortened[:last_end] if last_end else shortened
    return " ".join(whole.split())
