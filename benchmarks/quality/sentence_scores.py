"""Scores of sentences that need no model, to compare ways to select nuggets.

The position in the passage; the share of the question's words; BM25; LSA; LexRank (Erkan and Radev
2004), also biased to the question (Otterbacher et al. 2005). "placed" scores are discounted by the
position in the passage, with half of the scores of a sentence's neighbours.
"""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from convrag_ginger.length_limit import stem_content
from mtrag_contexts import ContextTurn


@dataclass
class Sentences:
    """The n sentences of a turn: scores by name, (n,) each, word counts, and the eligible ones."""

    turn: ContextTurn
    scores: dict[str, Any]
    words: Any
    eligible: Any
    cosines: Any

    def measure(self, chosen: Any) -> float:
        return self.turn.measure(
            [span for span, keep in zip(self.turn.sentences, chosen, strict=True) if keep]
        )[0]


def read_sentences(turn: ContextTurn) -> Sentences:
    """Score the sentences of a turn's contexts."""
    titles = {passage.id: passage.title.strip() for passage in turn.passages}
    words = np.array([len(text.split()) for text in turn.texts], dtype=float)
    named = [
        text == titles[span.passage_id]
        for text, span in zip(turn.texts, turn.sentences, strict=True)
    ]
    eligible = (words >= 4) & ~np.array(named)
    scores, cosines = _score(turn)
    scores["coverage + biased LexRank"] = peak(scores["coverage"]) + peak(scores["biased LexRank"])
    passages = [span.passage_id for span in turn.sentences]
    scores |= {
        f"{name} placed": _place(values, passages, eligible) for name, values in scores.items()
    }
    return Sentences(turn, scores, words, eligible, cosines)


def _score(turn: ContextTurn) -> tuple[dict[str, Any], Any]:
    """The scores by name, (n,) each, and the cosines between the sentences, (n, n)."""
    query = set(stem_content(turn.question.standalone))
    stems = [stem_content(text) for text in turn.texts]
    n = len(stems)
    vocabulary = {
        stem: column for column, stem in enumerate(sorted({stem for row in stems for stem in row}))
    }
    counts = np.zeros((n, len(vocabulary)))
    for row, words in enumerate(stems):
        for stem, count in Counter(words).items():
            counts[row, vocabulary[stem]] = count
    frequency = (counts > 0).sum(axis=0)
    wanted = np.array([stem in query for stem in vocabulary], dtype=float)
    vectors = _normalise(np.log1p(counts) * np.log((n + 1) / frequency))
    asked = _normalise(wanted[None] * np.log((n + 1) / frequency))[0]
    left, values, right = np.linalg.svd(vectors, full_matrices=False)
    rank = max(2, n // 4)
    reduced, reduced_query = (
        _normalise(left[:, :rank] * values[:rank]),
        _normalise((right[:rank] @ asked)[None])[0],
    )
    lengths = counts.sum(axis=1)
    saturated = counts * 2.2 / (counts + 1.2 * (0.25 + 0.75 * lengths / lengths.mean())[:, None])
    cosines = vectors @ vectors.T
    scores = {
        "position": np.ones(n),
        "coverage": np.array([len(query & set(row)) / max(1, len(query)) for row in stems]),
        "BM25": saturated @ (np.log(1 + (n - frequency + 0.5) / (frequency + 0.5)) * wanted),
        "LSA": np.maximum(0, reduced @ reduced_query),
        "LexRank": _walk(cosines, np.ones(n)),
        "biased LexRank": _walk(cosines, vectors @ asked),
    }
    return scores, cosines


def _place(values: Any, passages: list[str], eligible: Any) -> Any:
    """Discount scores by the position in the passage, with half of the neighbours' scores."""
    values = np.where(eligible, values, 0.0)
    placed = np.zeros(len(values))
    positions = Counter[str]()
    for index, id_ in enumerate(passages):
        if eligible[index]:
            positions[id_] += 1
            near = [
                n for n in (index - 1, index + 1) if 0 <= n < len(passages) and passages[n] == id_
            ]
            placed[index] = (values[index] + 0.5 * values[near].sum()) / math.log2(
                positions[id_] + 1
            )
    return placed


def _normalise(rows: Any) -> Any:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def peak(values: Any) -> Any:
    return values / values.max() if values.max() > 0 else values


def _walk(cosines: Any, start: Any) -> Any:
    """Compute LexRank's random walk: 85 % of its steps go to similar sentences."""
    start = start / start.sum() if start.sum() > 0 else np.full(len(start), 1 / len(start))
    others = cosines - np.diag(np.diag(cosines))
    sums = others.sum(axis=1, keepdims=True)
    steps = np.where(sums > 0, others / np.where(sums > 0, sums, 1), start)
    place = start
    for _ in range(50):
        place = 0.85 * place @ steps + 0.15 * start
    return place
