"""Late interaction beside one vector for each passage, on the bundled sample (docs/benchmarks.md).

    pytest benchmarks/quality/test_late_interaction.py -n 0 -s

The model is MiniLM with a projection that nobody trained: what comes out says that the search
works, and nothing about a trained model's quality.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from convrag.api.passages import Hit
from convrag.api.queries import Query
from convrag.api.stages import Ranker, Retriever
from convrag.config.compose import compose
from convrag.score.bootstrap import bootstrap_intervals
from convrag.turn.wiring import Wiring
from mtrag_retrieval import RewrittenTurns, choose_minilm
from places import ROOT

REWRITES = ROOT / "plugins/convrag_datasets/sample/rewrites.jsonl"
DEPTH = 50
"""The passages that are reranked."""


class Reranked(Retriever):
    """The first passages of a retriever, in the order of a reranker."""

    def __init__(self, base: Retriever, reranker: Ranker) -> None:
        self._base = base
        self._reranker = reranker

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        hits = self._base.retrieve(queries, DEPTH)
        texts = [hit.passage.content for hit in hits]
        scores = self._reranker.score(queries[0].text, texts)
        return [hits[place] for place in np.argsort(-scores, kind="stable")[:k]]


def describe(conversations: Sequence[str], scores: Sequence[float]) -> str:
    """Describe the mean of turns, with its 95 % interval over conversations."""
    names = sorted(set(conversations))
    own = {name: [] for name in names}
    for name, score in zip(conversations, scores, strict=True):
        own[name].append(score)
    sums = np.array([[sum(own[name])] for name in names])
    sizes = np.array([[len(own[name])] for name in names])
    ((low, high),) = bootstrap_intervals(sums, sizes)
    return f"{np.mean(scores):.3f} [{low:.3f}, {high:.3f}]"


def test_late_interaction_beside_dense(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", minversion="6.0")
    from models.colbert_minilm import save

    save(tmp_path / "colbert")
    given = ["dataset=sample", f"store.path={tmp_path / 'store'}", "tracker=none"]
    given += ["rewriter=replay", f"rewriter.path={REWRITES}", *choose_minilm()]
    places = ("retriever", "reranker")
    chosen = [[f"{place}=colbert", f"{place}.model={tmp_path / 'colbert'}"] for place in places]
    dense = Wiring(compose(*given, "retriever=dense", *chosen[1]))
    late = Wiring(compose(*given, *chosen[0]))
    dataset = dense.get("dataset")
    (domain,) = dataset.domains()
    turns = RewrittenTurns({"replay": dense.get("rewriter")}, dataset, domain)
    retrievers = {
        "retriever=dense, MiniLM": dense.get("retriever"),
        "retriever=colbert": late.get("retriever"),
        f"dense, {DEPTH} by reranker=colbert": Reranked(
            dense.get("retriever"), dense.get("reranker")
        ),
    }
    scores = {name: turns.score(each, {"replay": 1.0}) for name, each in retrievers.items()}
    baseline = next(iter(scores.values()))
    for name, values in scores.items():
        p = turns.compute_p(values, baseline)
        print(f"{name:40} {describe(turns.conversations, values)}  p {p:.3f}  n {len(values)}")
    assert all(0.2 < np.mean(values) <= 1 for values in scores.values())
