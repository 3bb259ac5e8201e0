"""`detector=sentences`: the sentences of a passage that have the words of the query."""

from __future__ import annotations

from convrag import ConfigError, Detector, Nugget, Passage
from convrag.sdk.sentences import sentence_spans
from convrag_ginger.tokens import stems


class SentencesDetector(Detector):
    """Take the sentences that share enough words with the query: no LLM, no model, no cost.

    A sentence's score is the share of the query's words (English stems, without stop words) that it has. Words that
    stand in the title or in the sentence before count for a part, since a sentence goes on about what was named there;
    but a word of the query it must have itself.

    Args:
        threshold: the least score, 0 to 1; more finds fewer nuggets, and leaves more questions unanswered. A question
            that stands alone names about three things (whom or what, which side of it, under which condition), and a
            nugget may answer a part: one of three, or two in its surroundings.
        best: the least share of the score of the passage's best sentence, 0 to 1: what is less than half as near to the
            question as that is there for something else.
        context: what a word counts for that stands only in the title or in the sentence before, 0 to 1.
        least_words: words of the shortest sentence; what is shorter is a heading.

    Raises:
        ConfigError: a number is out of range.
    """

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
        wanted = frozenset(stems(query))
        if wanted.isdisjoint(stems(passage.text)):
            return []
        title = wanted.intersection(stems(passage.title))
        before: frozenset[str] = frozenset()
        found: list[tuple[float, Nugget]] = []
        for start, end in sentence_spans(passage.text):
            text = passage.text[start:end]
            own = wanted.intersection(stems(text))
            if own and text != passage.title and len(text.split()) >= self.least_words:
                score = (len(own) + self.context * len((title | before) - own)) / len(wanted)
                found.append((score, Nugget(text, passage.id, start, end)))
            before = own
        least = max(self.threshold, self.best * max((score for score, _ in found), default=0.0))
        return [nugget for score, nugget in found if score >= least]
