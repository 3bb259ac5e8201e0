"""Ways to select sentences without a model, beside detector=sentences, and how good a selection can
be at all.

Each way has a score for the sentences of all contexts of a turn (sentence_scores), and a rule that
cuts: 105 words (GINGER's three sentences), a third of the best score, the widest gap, MMR. The way
that is best on the half for development is compared on the other. The ceilings are scores by
logistic regression on the other half's gold, the best cut of these for each turn, and gold of a
given length.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convrag.sdk.text.clauses import shorten_by_clauses
from convrag_ginger.sentences_detector import SentencesDetector
from equal_length import compute_p
from mtrag_contexts import Span, read_turns, select
from sentence_scores import Sentences, peak, read_sentences

WORDS = 105


def cut_by_words(values: Any, sentences: Sentences) -> Any:
    order = np.argsort(-values, kind="stable")
    before = np.cumsum(sentences.words[order]) - sentences.words[order]
    chosen = np.zeros(len(values), dtype=bool)
    chosen[order[before < WORDS]] = True
    return chosen & (values > 0)


def cut_by_share(values: Any, sentences: Sentences) -> Any:
    return (values >= values.max() / 3) & (values > 0)


def cut_by_gap(values: Any, sentences: Sentences) -> Any:
    ordered = np.sort(values)[::-1]
    gaps = ordered[1:-1] - ordered[2:]
    return (values >= ordered[int(gaps.argmax()) + 1 if len(gaps) else -1]) & (values > 0)


def cut_by_mmr(values: Any, sentences: Sentences) -> Any:
    chosen, nearest = np.zeros(len(values), dtype=bool), np.zeros(len(values))
    while sentences.words[chosen].sum() < WORDS and (~chosen & (values > 0)).any():
        best = int(
            np.where(chosen | (values <= 0), -np.inf, 0.7 * peak(values) - 0.3 * nearest).argmax()
        )
        chosen[best] = True
        nearest = np.maximum(nearest, sentences.cosines[best])
    return chosen


def choose_by_expected_f1(values: Any, sentences: Sentences) -> Any:
    """The most probable sentences whose expected F1 is the highest."""
    order = np.argsort(-values, kind="stable")
    hits = np.cumsum((values * sentences.words)[order])
    best = int((2 * hits / (np.cumsum(sentences.words[order]) + hits[-1])).argmax())
    chosen = np.zeros(len(values), dtype=bool)
    chosen[order[: best + 1]] = True
    return chosen


def choose_best_cut(values: Any, sentences: Sentences) -> float:
    """The F1 of the best of all cuts, which the gold decides."""
    return max(sentences.measure(values >= value) for value in np.unique(values))


def measure_gold_of_length(sentences: Sentences, words: int) -> float:
    """The F1 of so many words, if all of them were gold as far as there is gold."""
    gold = len(sentences.turn.gold)
    return 2 * min(words, gold) / (words + gold)


def detect(sentences: Sentences, *, clauses: bool = False) -> list[Span]:
    """What detector=sentences finds; with `clauses` without the last clauses of a sentence of more
    than 20 words.
    """
    turn = sentences.turn
    spans = []
    for passage in turn.passages:
        for nugget in SentencesDetector().detect(turn.question.standalone, passage):
            short = shorten_by_clauses(nugget.text, 20).removesuffix(".") if clauses else ""
            end = (
                nugget.start + len(short) if short and nugget.text.startswith(short) else nugget.end
            )
            spans.append(Span(passage.id, nugget.start, end))
    return spans


def train(data: list[Sentences]) -> list[Any]:
    """The probability of each sentence, learnt from the gold of the other half."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = [
        np.column_stack([*map(peak, each.scores.values()), np.log(each.words), each.eligible])
        for each in data
    ]
    gold = [np.array([(text, 0) in each.turn.gold for text in each.turn.texts]) for each in data]
    found: list[Any] = [None] * len(data)
    for half in (0, 1):
        known = [n for n, each in enumerate(data) if each.turn.half != half]
        model = make_pipeline(StandardScaler(), LogisticRegression())
        weights = np.concatenate([data[n].words / data[n].words.sum() for n in known]) * 1000
        model.fit(
            np.vstack([rows[n] for n in known]),
            np.concatenate([gold[n] for n in known]),
            logisticregression__sample_weight=weights,
        )
        for n, each in enumerate(data):
            if each.turn.half == half:
                found[n] = model.predict_proba(rows[n])[:, 1]
    return found


def test_selection(mtrag_path: Path) -> None:
    pytest.importorskip("sklearn")
    turns = read_turns(mtrag_path)
    data = [read_sentences(turn) for turn in turns]
    both = "coverage + biased LexRank placed"
    ways: dict[str, tuple[str, Callable[[Any, Sentences], Any]]] = {
        **{
            f"{name}, 105 words": (name, cut_by_words)
            for name in data[0].scores
            if name.endswith(" placed")
        },
        "coverage + biased LexRank as it is, 105 words": (
            "coverage + biased LexRank",
            cut_by_words,
        ),
        f"{both}, a third of the best": (both, cut_by_share),
        f"{both}, widest gap": (both, cut_by_gap),
        f"{both}, MMR": (both, cut_by_mmr),
    }
    learnt = train(data)
    detected = [detect(each) for each in data]
    lengths = [len(each.turn.find_words(spans)) for each, spans in zip(data, detected, strict=True)]
    found = {
        "every sentence": [each.measure(np.ones(len(each.words), dtype=bool)) for each in data],
        "detector=sentences": [
            each.turn.measure(spans)[0] for each, spans in zip(data, detected, strict=True)
        ],
        "detector=sentences, first clauses": [
            each.turn.measure(detect(each, clauses=True))[0] for each in data
        ],
        **{
            name: [each.measure(cut(each.scores[score], each)) for each in data]
            for name, (score, cut) in ways.items()
        },
        "ceiling: trained on the other half": [
            each.measure(choose_by_expected_f1(values, each))
            for values, each in zip(learnt, data, strict=True)
        ],
        "ceiling: trained, the best cut": [
            choose_best_cut(v, each) for v, each in zip(learnt, data, strict=True)
        ],
        "ceiling: gold, 105 words": [measure_gold_of_length(each, WORDS) for each in data],
        "ceiling: gold, as many words as detector=sentences": [
            measure_gold_of_length(each, length) for each, length in zip(data, lengths, strict=True)
        ],
    }
    means: dict[tuple[str, int], float] = {}
    for name, values in found.items():
        line = f"{name:54}"
        for half in (0, 1):
            for domain in ("clapnq", "cloud", "both"):
                chosen = select(turns, domain, half)
                mean = float(np.array(values)[chosen].mean())
                means[name, half] = mean
                line += f" {mean:.3f} {mean / np.array(found['every sentence'])[chosen].mean():.2f}"
            line += "  |"
        print(line)
    best = max(ways, key=lambda name: means[name, 0])
    test = select(turns, "both", 1)
    differences = [found[best][n] - found["detector=sentences"][n] for n in test]
    p = compute_p([turns[n] for n in test], differences)
    print(
        f"best on the half for development: {best}; on the other {np.mean(differences):+.3f}, p {p:.2f}"
    )
    assert not (np.mean(differences) > 0 and p < 0.05), (
        f"{best} is better than detector=sentences: use it"
    )
