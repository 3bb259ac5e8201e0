"""What rewriting without a language model reaches, beside recorded rewrites of two language models, on MTRAG's pools.

    pytest tests/benchmarks/test_rewriting_without_llm.py -n 0 -s

BM25 takes a minute. CONVRAG_BENCHMARK_STORE=FOLDER adds dense and hybrid search with MiniLM, whose vectors are kept in
that folder: the first time it takes most of an hour on two cores.
"""

# ruff: noqa: T201 - the figures are what benchmarks are for

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from convrag.config.compose import compose
from convrag.run.runner import run_experiment

DOMAINS = ("clapnq", "cloud")
RULES = ("none", "blend", "full_history", "mmr", "auto")
STORE = os.environ.get("CONVRAG_BENCHMARK_STORE", "")
REWRITES = {
    "Mixtral": "mtrag-human/retrieval_tasks/{domain}/{domain}_rewrite.jsonl",
    "Claude": "rewrites/targeted_rewrite_{domain}.jsonl",
}

Scores = dict[str, float]


def measure(folder: Path, *overrides: str) -> Scores:
    """Turn id -> nDCG@5."""
    config = compose("generator=none", "history=gold", "tracker=none", *overrides)
    run_experiment(config, folder)
    rows = map(json.loads, (folder / "scores.jsonl").read_text("utf-8").splitlines())
    return {row["turn_id"]: row["scores"]["nDCG@5"] for row in rows if "nDCG@5" in row["scores"]}


def compute_p(first: Scores, second: Scores) -> float:
    """The two-sided p-value of a paired permutation test over turns: signs of the differences are drawn at random."""
    differences = np.array([first[id_] - second[id_] for id_ in sorted(first)])
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (10_000, len(differences)))
    return float((np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9).mean())


@pytest.mark.parametrize("retriever", ["bm25", "dense", "hybrid"])
def test_rules_beside_recorded_rewrites(retriever: str, mtrag_path: Path, tmp_path: Path) -> None:
    if retriever != "bm25" and not STORE:
        pytest.skip("CONVRAG_BENCHMARK_STORE=FOLDER, for MiniLM's vectors")
    searched = [f"retriever={retriever}", f"store.path={STORE or tmp_path / 'store'}"]
    searched += [] if retriever == "bm25" else ["embedder=minilm"]
    for domain in DOMAINS:
        data = ["dataset=mtrag", f"dataset.path={mtrag_path}", f"dataset.domain={domain}"]
        choices = {name: [f"rewriter={name}"] for name in RULES}
        for name, path in REWRITES.items():
            choices[name] = ["rewriter=replay", f"rewriter.path={mtrag_path / path.format(domain=domain)}"]
        found = {
            name: measure(tmp_path / f"{domain}-{name}", *data, *searched, *overrides)
            for name, overrides in choices.items()
        }
        print(f"\n{retriever}, {domain}, {len(found['none'])} turns: nDCG@5, and auto's difference with its p")
        for name, scores in found.items():
            mean, auto = (float(np.mean(list(each.values()))) for each in (scores, found["auto"]))
            print(f"  {name:12} {mean:.3f}  {auto - mean:+.3f}  p {compute_p(found['auto'], scores):.4f}")
        best = float(np.mean(list(found["auto"].values())))
        assert best > max(float(np.mean(list(found[name].values()))) for name in ("none", "blend"))
        if retriever == "bm25":
            assert best > float(np.mean(list(found["Mixtral"].values())))
