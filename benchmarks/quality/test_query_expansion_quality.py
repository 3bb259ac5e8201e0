"""Several queries for one question: the tables of docs/benchmarks.md: nDCG@5 on MTRAG's pools,
history=gold.

    pytest benchmarks/quality/test_query_expansion_quality.py -n 0 -s

Building the indexes with MiniLM takes most of an hour; CONVRAG_FUSION_STORE=FOLDER keeps them for
the next time.
"""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from convrag.config.compose import compose
from convrag.turn.wiring import Wiring
from mtrag_retrieval import (
    DOMAINS,
    RewrittenTurns,
    choose_minilm,
    compute_p,
    find_rewrites,
    list_overrides,
)

BASES = {
    "none": "none",
    "blend": "blend",
    "auto": "auto",
    "mmr": "mmr",
    "claude": "replay",
    "mixtral": "replay",
}
CLUSTERERS = ("lsa", "bertopic") if find_spec("bertopic") else ("lsa",)
WEIGHTS = (0.25, 0.5)
EXPANDED = ("none", "blend", "auto", "mmr", "claude")


def list_rewriters() -> dict[str, tuple[str, str, dict[str, str]]]:
    """Name -> the option, the rewriter whose queries it takes, and its other parameters."""
    found = {name: (option, "", {}) for name, option in BASES.items()}
    for base in EXPANDED:
        for clusterer in CLUSTERERS:
            found[f"{base}_{clusterer}"] = ("themes", base, {"clusterer": clusterer})
        found[f"{base}_half"] = ("themes", base, {"clusterer": "lsa", "weight": "0.5"})
        found[f"{base}_dense"] = ("themes", base, {"clusterer": "lsa", "dense": "0.25"})
    return found


REWRITERS = list_rewriters()


class Domain:
    """What every rewriter makes of a domain's scored turns, and its retriever."""

    def __init__(self, mtrag: Path, domain: str, store: Path) -> None:
        files = find_rewrites(mtrag, domain, "claude", "mixtral")
        given = (
            *list_overrides(mtrag, domain, store),
            *choose_minilm(),
            "retriever=hybrid",
            "generator=none",
        )
        wirings = {}
        for name, (option, base, parameters) in REWRITERS.items():
            overrides = [
                f"rewriter={option}",
                *(f"rewriter.{key}={value}" for key, value in parameters.items()),
            ]
            overrides += [f"rewriter.base={BASES[base]}"] if base else []
            if path := files.get(base or name):
                overrides.append(f"rewriter.{'base.' if base else ''}path={path}")
            wirings[name] = Wiring(compose(*given, *overrides))
        first = next(iter(wirings.values()))
        self.hybrid: Any = first.get("retriever")
        rewriters = {name: wiring.get("rewriter") for name, wiring in wirings.items()}
        self.turns = RewrittenTurns(rewriters, first.get("dataset"), domain)


def test_query_expansion_quality(mtrag_path: Path, tmp_path: Path) -> None:
    store = Path(os.environ.get("CONVRAG_FUSION_STORE", tmp_path / "store"))
    domains = [Domain(mtrag_path, name, store) for name in DOMAINS]
    conversations = [name for domain in domains for name in domain.turns.conversations]
    kinds = {
        "BM25": [domain.hybrid.lexical for domain in domains],
        "MiniLM": [domain.hybrid.dense for domain in domains],
        "hybrid": [domain.hybrid for domain in domains],
    }
    for kind, retrievers in kinds.items():
        print(
            f"\n{kind}: nDCG@5 on clapnq and cloud, the difference from its base on both, and its p"
        )
        scores: dict[str, list[float]] = {}
        for name, (_, base, _) in REWRITERS.items():
            parts = [
                domain.turns.score(each, {name: 1.0})
                for domain, each in zip(domains, retrievers, strict=True)
            ]
            scores[name] = [score for part in parts for score in part]
            row = f"  {name:22} {np.mean(parts[0]):.3f} {np.mean(parts[1]):.3f}"
            if base:
                ours, theirs = scores[name], scores[base]
                p = compute_p(conversations, ours, theirs)
                row += f"  {np.mean(ours) - np.mean(theirs):+.3f}  p {p:.4f}"
            print(row, flush=True)
        assert np.mean(scores["none_lsa"]) >= np.mean(scores["none"])
