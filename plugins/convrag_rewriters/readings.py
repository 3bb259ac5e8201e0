"""The reply of a language model that was asked for the readings of a question."""

from math import isfinite

from pydantic import BaseModel, Field

from convrag.sdk.llm.rewriter import MAX_CHARACTERS, clean_reply
from convrag.sdk.text.analysis import split_words


class ReadingReply(BaseModel):
    """One reading: a question that stands alone, and its weight."""

    question: str
    weight: float = 1.0


class ReadingsReply(BaseModel):
    """Whether a question is ambiguous, why, and its readings."""

    ambiguous: bool | None = None
    why: str = ""
    readings: list[ReadingReply] = Field(min_length=1)

    def weigh_readings(self, question: str, most: int) -> list[tuple[str, float]]:
        """Return different readings, heaviest first, with weights that add up to 1.

        An unambiguous question has one reading; others have at most `most`.

        Readings with the same words are one, with their weights added. What is empty or far longer
        than the question is no reading; where no weight is usable, all count alike.
        """
        longest = max(MAX_CHARACTERS, 2 * len(question))
        texts: dict[str, str] = {}
        weights: dict[str, float] = {}
        for reading in self.readings:
            text = clean_reply(reading.question)
            if text and len(text) <= longest:
                key = " ".join(split_words(text)) or text
                texts.setdefault(key, text)
                usable = isfinite(reading.weight) and reading.weight > 0
                weights[key] = weights.get(key, 0.0) + (reading.weight if usable else 0.0)
        if not any(weights.values()):
            weights = dict.fromkeys(weights, 1.0)
        best = sorted((key for key in weights if weights[key]), key=lambda key: -weights[key])
        kept = best[: 1 if self.ambiguous is False else most]
        total = sum(weights[key] for key in kept)
        return [(texts[key], weights[key] / total) for key in kept]
