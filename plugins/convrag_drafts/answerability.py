"""Whether the shown passages answer the question: decided from the evidence spans and the retrieval scores."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from convrag import Evidence
from convrag.sdk.words import GRAMMAR_WORDS, find_stems
from convrag_drafts.evidence_spans import MarkedSpans

Answerability = Literal["answerable", "partial", "unanswerable", "conversational", "unknown"]
"""What was decided. Conversational: nothing is asked. Unknown: the spans could not be marked."""

VERDICT, COVERAGE, PASSAGES, SCORE = "verdict", "coverage", "passages", "score"
_VERDICTS = {"full": 1.0, "part": 0.5, "none": 0.0}


@dataclass(frozen=True)
class Weight:
    """How a feature counts: `weight * (value - mean) / scale`."""

    mean: float
    scale: float
    weight: float


@dataclass(frozen=True)
class Calibration:
    """A logistic regression that was fitted to turns with labels, and the probability from which on one is answered."""

    weights: Mapping[str, Weight]
    intercept: float
    threshold: float

    def compute_probability(self, features: Mapping[str, float]) -> float | None:
        """The probability that the passages answer the question; None where a feature is not known."""
        if not self.weights.keys() <= features.keys():
            return None
        parts = (each.weight * (features[name] - each.mean) / each.scale for name, each in self.weights.items())
        return 1 / (1 + math.exp(-max(-700.0, min(700.0, self.intercept + math.fsum(parts)))))


@dataclass(frozen=True)
class Decision:
    """What was decided, from which features; the probability of an answer where there is a calibration."""

    answerability: Answerability
    features: Mapping[str, float]
    probability: float | None = None


def compute_features(query: str, evidence: Evidence, marked: MarkedSpans) -> dict[str, float]:
    """What the decision is made from.

    `verdict`: 1, .5 or 0, as the model says that the spans answer the question in full, in part or not. `coverage`: the
    share of the question's content words that the spans have. `passages`: the share of the passages that have a span.
    `score`: the best retrieval score, where it is known.
    """
    wanted = find_stems(query, GRAMMAR_WORDS)
    found = frozenset[str]().union(*(find_stems(span.text, GRAMMAR_WORDS) for span in marked.spans))
    features = {
        VERDICT: _VERDICTS[marked.verdict] if marked.spans else 0.0,
        COVERAGE: len(wanted & found) / len(wanted) if wanted else 0.0,
        PASSAGES: len({span.passage for span in marked.spans}) / len(evidence.items) if evidence.items else 0.0,
    }
    scores = [item.score for item in evidence.items if item.score is not None and math.isfinite(item.score)]
    return features | ({SCORE: max(scores)} if scores else {})


def decide(query: str, evidence: Evidence, marked: MarkedSpans, calibration: Calibration | None) -> Decision:
    """Decide what becomes of a turn.

    Without a calibration the verdict of the model that marked the spans decides, and there is no answer without a span.
    With one, its probability decides between an answer and none.
    """
    features = compute_features(query, evidence, marked)
    if not marked.asks:
        return Decision("conversational", features)
    if marked.failure:
        return Decision("unknown", features)
    probability = calibration.compute_probability(features) if calibration and evidence.items else None
    if calibration and probability is not None:
        answered = probability >= calibration.threshold
    else:
        answered = features[VERDICT] > 0
    if not answered:
        return Decision("unanswerable", features, probability)
    return Decision("answerable" if features[VERDICT] == 1 else "partial", features, probability)
