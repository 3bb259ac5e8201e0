"""Every option where convrag is installed without extras: it is built, or names the extra that it
needs.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("core_alone.py")
NEURAL = ("embedder=sentence_transformers", "ranker=cross_encoder", "ranker=duot5", "ranker=monot5")
NEURAL += ("reranker=cross_encoder", "reranker=duot5", "reranker=monot5")
NEURAL += ("ranker.second=cross_encoder", "reranker.second=cross_encoder", "retriever=disco")
NEURAL += ("metrics.bertscore=bertscore", "metrics.rb_agg=rb_agg")
EXTRAS = dict.fromkeys(NEURAL, "neural") | {
    "clusterer=bertopic": "bertopic",
    "dataset=ir_datasets": "ir-datasets",
    "embedder=fastembed": "fastembed",
    "embedder=litellm": "litellm",
    "llm=litellm": "litellm",
    "llm=llama_cpp": "llama-cpp",
    "ranker=colbert": "colbert",
    "ranker=fastembed": "fastembed",
    "ranker=litellm": "litellm",
    "reranker=colbert": "colbert",
    "reranker=fastembed": "fastembed",
    "reranker=litellm": "litellm",
    "retriever=colbert": "colbert",
    "retriever=elasticsearch": "elasticsearch",
    "retriever=elser": "elasticsearch",
    "retriever=opensearch": "opensearch",
    "retriever=pgvector": "pgvector",
    "retriever=qdrant": "qdrant",
    "retriever=sparse": "neural",
    "task=mcp": "mcp",
    "task=serve": "serve",
}


def run_alone(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script, or convrag in it."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, SCRIPT, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_each_option_is_built_or_names_its_extra(tmp_path: Path) -> None:
    done = run_alone(tmp_path)
    assert done.returncode == 0, done.stderr
    said = [line.split(" ", 2) for line in done.stdout.splitlines()]
    assert len(said) > 100
    assert {kind for _, kind, *_ in said} <= {
        "built",
        "MissingExtra",
        "ConfigError",
        "UnknownName",
    }, done.stdout
    missing = dict(
        message.split(" needs ", 1)
        for _, kind, *rest in said
        for message in rest
        if kind == "MissingExtra"
    )
    assert missing.keys() == EXTRAS.keys()
    for option, extra in EXTRAS.items():
        assert f"'convrag[{extra}]'" in missing[option]
        assert ("-c constraints.txt" in missing[option]) == (
            extra in ("bertopic", "colbert", "neural")
        )


def test_the_command_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    done = run_alone(tmp_path, "rewriter=dhrag", "reranker=bge_reranker")
    assert done.returncode == 2, done.stderr
    assert "pip install -c constraints.txt 'convrag[neural]'" in done.stderr
    assert not list(tmp_path.iterdir())
