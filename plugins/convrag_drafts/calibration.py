"""Learns from turns with labels when the passages answer a question: logistic regression and a threshold (Platt).

The regression makes a probability of the features. The threshold is where the mean of two shares is highest on those
turns: of the answerable ones that are answered, and of the unanswerable ones that are not.
To say how good that is on other turns, it is fitted to the conversations of one half and tested on those of the other.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from convrag import DataError, TurnRecord
from convrag.sdk.strict_json import format_json
from convrag_drafts.answerability import COVERAGE, PASSAGES, SCORE, VERDICT, Calibration, Weight

FEATURES = (VERDICT, COVERAGE, PASSAGES, SCORE)


def read_calibration(path: Path) -> Calibration:
    """Read a calibration. Raises DataError where the file is missing or has another form."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"this calibration cannot be read ({error.strerror})", path=path) from error
    except (ValueError, RecursionError) as error:
        raise DataError("this is no calibration: it is not JSON", path=path) from error
    try:
        weights = {name: _read_weight(data["features"][name]) for name in data["features"]}
        calibration = Calibration(weights, _read_number(data["intercept"]), _read_number(data["threshold"]))
    except (KeyError, TypeError, ValueError) as error:
        message = "this is no calibration: make one with task=calibrate_answerability"
        raise DataError(f"{message} ({type(error).__name__}: {error})", path=path) from error
    if unknown := sorted(set(weights) - set(FEATURES)):
        raise DataError(f"this calibration has features that nobody knows: {', '.join(unknown)}", path=path)
    return calibration


def format_calibration(calibration: Calibration, about: dict[str, Any]) -> str:
    """Format a calibration as JSON, with what is known about how it was made."""
    features = {name: asdict(weight) for name, weight in calibration.weights.items()}
    data = {"features": features, "intercept": calibration.intercept, "threshold": calibration.threshold}
    return format_json({**data, **about}, indent=2) + "\n"


def _read_weight(data: Any) -> Weight:
    weight = Weight(*(_read_number(data[name]) for name in ("mean", "scale", "weight")))
    if weight.scale <= 0:
        raise ValueError("a scale must be above 0")
    return weight


def _read_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{value!r} is no number")
    return float(value)


ANSWERED = {"ANSWERABLE": True, "PARTIAL": True, "UNANSWERABLE": False}
"""The label `answerability` of a data set -> whether the passages answer the question. Other labels are left out."""


class LabelledTurn(NamedTuple):
    """A turn: its conversation, the features of the decision, whether it was answered, and whether it should be."""

    conversation: str
    features: dict[str, float]
    decided: bool
    answerable: bool


class Quality(NamedTuple):
    """How good decisions are: shares of the turns with an answer, and without one, that were decided rightly.

    `accuracy` is the share of all turns; `balanced` the mean of the two.
    """

    turns: int
    answerable: float
    unanswerable: float
    accuracy: float

    @property
    def balanced(self) -> float:
        return (self.answerable + self.unanswerable) / 2

    def as_dict(self) -> dict[str, float]:
        """The figures by name."""
        return {name: round(value, 4) for name, value in {**self._asdict(), "balanced": self.balanced}.items()}


def read_turns(records: Iterable[TurnRecord]) -> list[LabelledTurn]:
    """The turns of generator=drafts that have features and a label."""
    turns = []
    for record in records:
        trace = record.trace.get("generator", {}).get("answerability")
        label = ANSWERED.get(_find_label(record))
        if not isinstance(trace, dict) or trace.get("decision") in (None, "conversational", "unknown") or label is None:
            continue
        features = {name: float(trace[name]) for name in FEATURES if isinstance(trace.get(name), int | float)}
        conversation = f"{record.domain} {record.conversation_id}"
        turns.append(LabelledTurn(conversation, features, trace["decision"] != "unanswerable", label))
    return turns


def fit(turns: Sequence[LabelledTurn]) -> Calibration:
    """Fit a calibration to turns of both kinds, with the features that all of them have."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    names = [name for name in FEATURES if all(name in turn.features for turn in turns)]
    values = np.array([[turn.features[name] for name in names] for turn in turns])
    answerable = np.array([turn.answerable for turn in turns])
    means, scales = values.mean(axis=0), values.std(axis=0)
    scales[scales == 0] = 1.0
    model = LogisticRegression().fit((values - means) / scales, answerable)
    weights = {
        name: Weight(float(mean), float(scale), float(weight))
        for name, mean, scale, weight in zip(names, means, scales, model.coef_[0], strict=True)
    }
    unset = Calibration(weights, float(model.intercept_[0]), 0.0)
    probabilities = [unset.compute_probability(turn.features) or 0.0 for turn in turns]
    threshold = choose_threshold(probabilities, [turn.answerable for turn in turns])
    return Calibration(weights, unset.intercept, threshold)


def measure(turns: Sequence[LabelledTurn], decided: Sequence[bool]) -> Quality:
    """How good decisions (whether to answer) are for turns of both kinds."""
    right = [turn.answerable == answered for turn, answered in zip(turns, decided, strict=True)]
    recalls = []
    for kind in (True, False):
        own = [hit for turn, hit in zip(turns, right, strict=True) if turn.answerable == kind]
        recalls.append(sum(own) / len(own) if own else 0.0)
    return Quality(len(turns), recalls[0], recalls[1], sum(right) / len(right))


def decide_other_half(turns: Sequence[LabelledTurn]) -> tuple[list[LabelledTurn], list[bool]] | None:
    """Fit to the conversations of each half, and decide the turns of the other.

    Returns:
        All turns, and what was decided; None where a half has turns of one kind only.
    """
    halves = [[turn for turn in turns if _half(turn.conversation) == half] for half in (0, 1)]
    if any(len({turn.answerable for turn in half}) < 2 for half in halves):
        return None
    decided: list[bool] = []
    for fitted, tested in (halves, halves[::-1]):
        calibration = fit(fitted)
        decided += [(calibration.compute_probability(turn.features) or 0.0) >= calibration.threshold for turn in tested]
    return [*halves[1], *halves[0]], decided


def choose_threshold(probabilities: Sequence[float], answerable: Sequence[bool]) -> float:
    """The probability from which on to answer: where the mean of both shares of right decisions is highest.

    Of several such places the middle one. Both kinds must be there.
    """
    total = sum(answerable)
    kinds = {value: [0, 0] for value in sorted(set(probabilities))}
    for value, label in zip(probabilities, answerable, strict=True):
        kinds[value][label] += 1
    cuts = [(one + other) / 2 for one, other in pairwise(kinds)]
    scores = [(1.0, 0.0)]  # the mean of the two shares, twice, where everything is answered
    refused = withheld = 0
    for cut, (unanswerable, others) in zip([*cuts, 1.0], kinds.values(), strict=True):
        refused += unanswerable
        withheld += others
        scores.append((1 - withheld / total + refused / (len(answerable) - total), cut))
    highest = max(scores)[0]
    best = [cut for score, cut in scores if score > highest - 1e-9]
    return best[len(best) // 2]


def _half(conversation: str) -> int:
    return int(hashlib.md5(conversation.encode(), usedforsecurity=False).hexdigest(), 16) % 2


def _find_label(record: TurnRecord) -> str:
    for name, value in record.labels.items():
        if name.casefold() == "answerability":
            first: Any = value[0] if isinstance(value, list | tuple) and value else value
            return str(first or "").strip().upper()
    return ""
