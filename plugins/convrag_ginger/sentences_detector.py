"""`detector=sentences`: the sentences of a passage that share enough words with the query."""

from __future__ import annotations

from convrag import ConfigError, Detector, Nugget, Passage
from convrag.sdk.sentences import find_sentence_spans
from convrag_ginger.tokens import stem_content_words


class SentencesDetector(Detector):
    """Take the sentences that share enough words with the query: no LLM, no model, no cost.

    A sentence's score is the share of the query's words (English stems, without stop words) that it has. Words that
    stand only in the title or in the sentence before count for a part, since a sentence often continues what was named
    there. A sentence that has no word of the query itself is no nugget.

    Args:
        threshold: the least score, 0 to 1; a higher one finds fewer nuggets, and leaves more questions unanswered. A
            standalone question names about three things, and a nugget may answer a part: the default asks for one of
            three in the sentence, or two in its context.
        best: the least share of the best score in the passage, 0 to 1. A sentence with less than half of the best
            score is mostly about something else.
        context: weight of a word that stands only in the title or in the sentence before, 0 to 1.
        least_words: the fewest words of a sentence; shorter ones are headings.

    Raises:
        ConfigError: a number is out of range.
    """

    libraries = ("bm25s",)

    def __init__(
        self, *, threshold: float = 0.33, best: float = 0.5, context: float = 0.5, least_words: int = 4
    ) -> None:
        shares = {"threshold": threshold, "best": best, "context": context}
        if wrong := [f"detector.{name}={value}" for name, value in shares.items() if not 0 <= value <= 1]:
            raise ConfigError(f"{', '.join(wrong)}: between 0 and 1")
        if least_words < 1:
            raise ConfigError(f"detector.least_words={least_words}: at least 1")
        self.threshold = threshold
        self.best = best
        self.context = context
        self.least_words = least_words

    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        """The sentences that match, in order."""
        wanted = frozenset(stem_content_words(query))
        if wanted.isdisjoint(stem_content_words(passage.text)):
            return []
        in_title = wanted.intersection(stem_content_words(passage.title))
        in_previous: frozenset[str] = frozenset()
        scored: list[tuple[float, Nugget]] = []
        for start, end in find_sentence_spans(passage.text):
            text = passage.text[start:end]
            shared = wanted.intersection(stem_content_words(text))
            if shared and text != passage.title and len(text.split()) >= self.least_words:
                score = (len(shared) + self.context * len((in_title | in_previous) - shared)) / len(wanted)
                scored.append((score, Nugget(text, passage.id, start, end)))
            in_previous = shared
        least = max(self.threshold, self.best * max((score for score, _ in scored), default=0.0))
        return [nugget for score, nugget in scored if score >= least]
