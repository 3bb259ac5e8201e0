"""GINGER's two columns in docs/benchmarks.md: answers by default and as published.

Each pair is cut to the shorter, and compared by the share of the reference answer's content words,
on MTRAG's reference contexts with llm=extractive: 396 answerable turns of clapnq and cloud.
"""

from pathlib import Path
from typing import Any

import pytest

from convrag import Clusterer
from convrag.store.store import Store
from convrag_clusterers.density import DbscanClusterer, HdbscanClusterer
from convrag_clusterers.embeddings import AgglomerativeClusterer, KMeansClusterer
from convrag_clusterers.similarity import SimilarityClusterer
from convrag_clusterers.topics import LdaClusterer, LsaClusterer
from convrag_datasets.mtrag import MtragDataset
from convrag_ginger.generator import GingerGenerator
from convrag_ginger.sentences_detector import SentencesDetector
from convrag_ginger.summarizer import LlmSummarizer
from convrag_offline.embedders import LsaEmbedder
from convrag_offline.extractive import ExtractiveLLM
from convrag_retrieval.rankers import BM25Ranker
from equal_length import answer_turns, compare_answers
from mtrag_contexts import read_turns

PUBLISHED: dict[str, dict[str, Any]] = {
    "ranker=bm25_okapi": {"ranker": BM25Ranker(variant="okapi")},
    "least_nuggets=2 outliers=own": {"least_nuggets": 2, "outliers": "own"},
    "outliers=own": {"outliers": "own"},
    "duplicates=null": {"duplicates": None},
    "unsupported=keep": {"unsupported": "keep"},
}


CLUSTERERS: dict[str, Clusterer] = {
    "lda": LdaClusterer(),
    "kmeans": KMeansClusterer(),
    "agglomerative": AgglomerativeClusterer(),
    "dbscan": DbscanClusterer(),
    "hdbscan": HdbscanClusterer(),
    "similarity": SimilarityClusterer(),
}


@pytest.fixture(scope="module")
def default(mtrag_path: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The stages and parameters of the default generator."""
    dataset = MtragDataset(path=mtrag_path, domain="clapnq+cloud")
    store = Store(tmp_path_factory.mktemp("store"))
    llm = ExtractiveLLM(dataset=dataset, store=store)
    return {
        "llm": llm,
        "detector": SentencesDetector(),
        "clusterer": LsaClusterer(),
        # least_nuggets=2 asks it where a nugget alone belongs
        "embedder": LsaEmbedder(dataset=dataset, store=store),
        "ranker": BM25Ranker(),
        "summarizer": LlmSummarizer(llm=llm),
    }


def test_columns(mtrag_path: Path, default: dict[str, Any]) -> None:
    turns = read_turns(mtrag_path)
    ours = answer_turns(turns, GingerGenerator(**default))
    for name, value in PUBLISHED.items():
        theirs = answer_turns(turns, GingerGenerator(**(default | value)))
        one, two, p = compare_answers(turns, ours, theirs)
        same = sum(a == b for a, b in zip(ours, theirs, strict=True))
        print(
            f"{name:28} default {one:.3f}  published {two:.3f}  p {p:.3f}  {same} of {len(turns)} answers are equal"
        )
        assert one > two - 0.01, "a default that loses has no reason"


def test_clusterers(mtrag_path: Path, default: dict[str, Any]) -> None:
    """Each clusterer that GINGER's authors compared, and the default, clusterer=lsa.

    With refuse=0, the ranker alone orders the clusters.
    """
    turns = read_turns(mtrag_path)
    parameters = default | {"refuse": 0.0}
    ours = answer_turns(turns, GingerGenerator(**parameters))
    for name, clusterer in CLUSTERERS.items():
        theirs = answer_turns(turns, GingerGenerator(**(parameters | {"clusterer": clusterer})))
        one, two, p = compare_answers(turns, ours, theirs)
        same = sum(a == b for a, b in zip(ours, theirs, strict=True))
        print(
            f"{name:14} lsa {one:.3f}  {name} {two:.3f}  p {p:.3f}  {same} of {len(turns)} answers are equal"
        )
        assert all(theirs)
