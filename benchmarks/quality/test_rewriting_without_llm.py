"""Rewriting without a language model beside recorded rewrites, on MTRAG's pools.

    pytest benchmarks/quality/test_rewriting_without_llm.py -n 0 -s

BM25 takes a minute. CONVRAG_BENCHMARK_STORE=FOLDER adds dense and hybrid search with MiniLM, whose
vectors are kept in that folder: the first time it takes most of an hour on two cores.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from convrag.config.compose import compose
from convrag.run.runner import run_experiment
from mtrag_retrieval import DOMAINS, choose_minilm, compute_p, find_rewrites, list_overrides

RULES = ("none", "blend", "full_history", "weighted_history", "mmr", "auto")
STORE = os.environ.get("CONVRAG_BENCHMARK_STORE", "")

Scores = dict[str, dict[str, float]]
"""Conversation id -> turn id -> nDCG@5."""


def measure(folder: Path, *overrides: str) -> Scores:
    config = compose("generator=none", "history=gold", "report=false", *overrides)
    run_experiment(config, folder)
    found: Scores = {}
    for row in map(json.loads, (folder / "scores.jsonl").read_text("utf-8").splitlines()):
        if "nDCG@5" in row["scores"]:
            found.setdefault(row["conversation_id"], {})[row["turn_id"]] = row["scores"]["nDCG@5"]
    return found


def compute_mean(scores: Scores) -> float:
    return float(np.mean([value for turns in scores.values() for value in turns.values()]))


def compute_p_of(first: Scores, second: Scores) -> float:
    """Compute the p-value of the differences of two systems."""
    pairs = [
        (name, turns[id_], second[name][id_])
        for name, turns in sorted(first.items())
        for id_ in turns
    ]
    conversations, ours, theirs = zip(*pairs, strict=True)
    return compute_p(conversations, ours, theirs)


@pytest.mark.parametrize("retriever", ["bm25", "dense", "hybrid"])
def test_rules_beside_recorded_rewrites(retriever: str, mtrag_path: Path, tmp_path: Path) -> None:
    if retriever != "bm25" and not STORE:
        pytest.skip("CONVRAG_BENCHMARK_STORE=FOLDER, for MiniLM's vectors")
    searched = [f"retriever={retriever}", *(choose_minilm() if retriever != "bm25" else [])]
    found: dict[str, dict[str, Scores]] = {}
    for domain in DOMAINS:
        data = list_overrides(mtrag_path, domain, Path(STORE or tmp_path / "store"))
        choices = {name: [f"rewriter={name}"] for name in RULES}
        for name, path in find_rewrites(mtrag_path, domain, "mixtral", "claude").items():
            choices[name] = ["rewriter=replay", f"rewriter.path={path}"]
        for name, overrides in choices.items():
            folder = tmp_path / f"{domain}-{name}"
            found.setdefault(name, {})[domain] = measure(folder, *data, *searched, *overrides)
    print(
        f"\n{retriever}: nDCG@5 on {', '.join(DOMAINS)}; p against auto on each, and on both together"
    )
    for name, by_domain in found.items():
        auto = found["auto"]
        means = ", ".join(f"{compute_mean(scores):.3f}" for scores in by_domain.values())
        alone = ", ".join(
            f"{compute_p_of(auto[domain], scores):.4f}" for domain, scores in by_domain.items()
        )
        both = compute_p_of(_join(auto), _join(by_domain))
        print(f"  {name:16} {means}   p {alone}; {both:.4f}")
    for domain in DOMAINS:
        means = {name: compute_mean(by_domain[domain]) for name, by_domain in found.items()}
        assert means["auto"] > max(means["none"], means["blend"])
        assert retriever != "bm25" or means["auto"] > means["mixtral"]


def _join(by_domain: dict[str, Scores]) -> Scores:
    return {
        f"{domain}/{name}": turns
        for domain, scores in by_domain.items()
        for name, turns in scores.items()
    }
