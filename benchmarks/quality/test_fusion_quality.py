"""Many queries, fused: nDCG@5 on MTRAG's pools with MiniLM (docs/benchmarks.md).

    pytest benchmarks/quality/test_fusion_quality.py -n 0 -s

Building the indexes takes minutes; CONVRAG_FUSION_STORE=FOLDER keeps them for the next time.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from convrag.api.stages import Retriever
from convrag.config.compose import compose
from convrag.turn.wiring import Wiring
from convrag_fusion.retriever import FusedRetriever
from mtrag_retrieval import DOMAINS, RewrittenTurns, choose_minilm, find_rewrites, list_overrides

MEMBERS = (
    "claude",
    "dhrag",
    "mixtral",
    "mmr",
    "blend",
    "full_history",
    "weighted_history",
    "last",
    "questions",
)
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
    "linear": {"fusion": "linear"},
    "linear, z-scores": {"normalise": "z_scores"},
    "linear, agreement": {"agreement": 1.0},
    "rrf": {"fusion": "rrf"},
    "weighted_rrf": {"fusion": "weighted_rrf"},
    "nested_rrf": {"fusion": "nested_rrf"},
    "nested_rrf, agreement": {"fusion": "nested_rrf", "agreement": 1.0},
}


class Domain:
    """Each rewriter's queries for a domain's scored turns, and the retriever."""

    def __init__(self, mtrag: Path, domain: str, store: Path) -> None:
        files = find_rewrites(mtrag, domain, "claude", "dhrag", "mixtral")
        given = (
            *list_overrides(mtrag, domain, store),
            *choose_minilm(),
            "retriever=hybrid",
            "generator=none",
        )
        options = {
            name: ("rewriter=replay", f"rewriter.path={path}") for name, path in files.items()
        }
        options |= {
            name: (f"rewriter={name}",)
            for name in ("mmr", "blend", "full_history", "weighted_history")
        }
        options |= {"last": ("rewriter=none",), "questions": ("rewriter=all_questions",)}
        wirings = {name: Wiring(compose(*given, *chosen)) for name, chosen in options.items()}
        first = next(iter(wirings.values()))
        self.retriever: Retriever = first.get("retriever")
        rewriters = {name: wiring.get("rewriter") for name, wiring in wirings.items()}
        self.turns = RewrittenTurns(rewriters, first.get("dataset"), domain)

    def score(self, weights: Mapping[str, float], **fusion: Any) -> list[float]:
        """Measure nDCG@5 of each turn with these rewriters, fused where a fusion is given."""
        if not fusion:
            return self.turns.score(self.retriever, weights)
        return self.turns.score(
            FusedRetriever(base=self.retriever, **fusion), weights, keep_sources=True
        )


def test_fusion_quality(mtrag_path: Path, tmp_path: Path) -> None:
    store = Path(os.environ.get("CONVRAG_FUSION_STORE", tmp_path / "store"))
    domains = [Domain(mtrag_path, name, store) for name in DOMAINS]
    alone = [{name: domain.score({name: 1.0}) for name in MEMBERS} for domain in domains]
    for name in MEMBERS:
        print_row(f"{name} alone", [(scores[name], None) for scores in alone])
    print_row(
        "the best of these for each turn",
        [(np.max(list(scores.values()), axis=0), None) for scores in alone],
    )
    best = 0.0
    for title, weights in ENSEMBLES.items():
        rows: dict[str, list[list[float]]] = {
            "retriever=hybrid": [domain.score(weights) for domain in domains],
            **{
                name: [domain.score(weights, **fusion) for domain in domains]
                for name, fusion in FUSIONS.items()
            },
        }
        for name, scores in rows.items():
            tested = [
                (ours, domain.turns.compute_p(ours, of["claude"]))
                for domain, of, ours in zip(domains, alone, scores, strict=True)
            ]
            print_row(f"{title}: {name}", tested)
            best = max(best, float(np.mean([np.mean(each) for each in scores])))
    assert best > float(np.mean([np.mean(scores["claude"]) for scores in alone]))


def print_row(title: str, scores: Sequence[tuple[Any, float | None]]) -> None:
    cells = (
        f"{np.mean(each):.3f}" + (f" (p={p:.3f})" if p is not None else "") for each, p in scores
    )
    print(f"{title:62s}", *cells, flush=True)
