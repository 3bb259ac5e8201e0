"""GINGER without a language model: where nuggets are, and answers at equal length.

mtrag_contexts says what is gold. Answers: the share of the reference answer's content words, and of
their bigrams, each pair of answers cut to the shorter.
"""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convrag.api.stages import Detector
from convrag.store.store import Store
from convrag_basics.direct import DirectGenerator
from convrag_clusterers.topics import LsaClusterer
from convrag_datasets.mtrag import MtragDataset
from convrag_ginger.baselines import BaselineGenerator
from convrag_ginger.generator import GingerGenerator
from convrag_ginger.length_limit import stem_content
from convrag_ginger.llm_detector import LlmDetector
from convrag_ginger.sentences_detector import SentencesDetector
from convrag_ginger.summarizer import LlmSummarizer
from convrag_offline.extractive import ExtractiveLLM
from convrag_retrieval.rankers import BM25Ranker
from equal_length import answer_turns, compare_answers, split_bigrams
from ginger_toys import All as EverySentence
from mtrag_contexts import HALVES, ContextTurn, Span, read_turns, select

SELECTIONS = [(domain, half) for half in (0, 1) for domain in ("clapnq", "cloud", "both")]


@pytest.fixture(scope="module")
def turns(mtrag_path: Path) -> list[ContextTurn]:
    return read_turns(mtrag_path)


@pytest.fixture(scope="module")
def llm(mtrag_path: Path, tmp_path_factory: pytest.TempPathFactory) -> ExtractiveLLM:
    dataset = MtragDataset(path=mtrag_path, domain="clapnq+cloud")
    return ExtractiveLLM(dataset=dataset, store=Store(tmp_path_factory.mktemp("store")))


def measure_detector(turns: list[ContextTurn], detector: Detector) -> Any:
    """F1, precision and recall of each turn, (n, 3)."""
    rows = []
    for turn in turns:
        nuggets = [
            n
            for passage in turn.passages
            for n in detector.detect(turn.question.standalone, passage)
        ]
        rows.append(
            turn.measure([Span(nugget.passage_id, nugget.start, nugget.end) for nugget in nuggets])
        )
    return np.array(rows)


def test_spans(turns: list[ContextTurn], llm: ExtractiveLLM) -> None:
    detectors = {
        "every sentence": EverySentence(),
        "sentences": SentencesDetector(),
        "llm (extractive)": LlmDetector(llm=llm),
    }
    measured = {name: measure_detector(turns, detector) for name, detector in detectors.items()}
    for domain, half in SELECTIONS:
        chosen = select(turns, domain, half)
        for name, rows in measured.items():
            score, precision, recall = rows[chosen].mean(axis=0)
            ratio = score / measured["every sentence"][chosen, 0].mean()
            print(
                f"{HALVES[half]:11} {domain:6} {len(chosen):3} turns  {name:16} "
                f"F1 {score:.3f} P {precision:.3f} R {recall:.3f}  {ratio:.2f} of every sentence"
            )
    test = select(turns, "both", 1)
    assert measured["sentences"][test, 0].mean() > measured["every sentence"][test, 0].mean()


def test_answers_at_equal_length(turns: list[ContextTurn], llm: ExtractiveLLM) -> None:
    ginger = GingerGenerator(
        llm=llm,
        detector=SentencesDetector(),
        clusterer=LsaClusterer(),
        embedder=None,  # type: ignore[arg-type] - neither this clusterer nor outliers=singletons uses it
        ranker=BM25Ranker(),
        summarizer=LlmSummarizer(llm=llm),
    )
    ours = answer_turns(turns, ginger)
    others = {
        "direct": answer_turns(turns, DirectGenerator(llm=llm)),
        "baseline": answer_turns(turns, BaselineGenerator(llm=llm)),
    }
    counted = {"words": stem_content, "bigrams": split_bigrams}
    for domain, half in [*SELECTIONS, ("both", None)]:
        chosen = select(turns, domain, half)
        picked = [turns[n] for n in chosen]
        for (other, theirs), (what, split) in product(others.items(), counted.items()):
            one, two, p = compare_answers(
                picked, [ours[n] for n in chosen], [theirs[n] for n in chosen], split
            )
            name = "all" if half is None else HALVES[half]
            print(
                f"{name:11} {domain:6} {len(chosen):3} turns  {what:7}  ginger {one:.3f}  {other} {two:.3f}  p {p:.4f}"
            )
            assert what == "bigrams" or domain != "both" or half == 0 or (one > two and p < 0.05)
