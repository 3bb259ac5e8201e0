"""What a user typed and no stage uses is said, with what would use it."""

import re
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from convrag.config.compose import compose_command
from convrag.config.unused import find_unused
from convrag.registry import plugins
from convrag.turn.turn import Stages
from convrag.turn.wiring import Wiring
from tasks import run_here


def unused(*overrides: str) -> list[str]:
    """What is said of a run with these overrides."""
    config, command = compose_command(*overrides)
    wiring = Wiring(config, command)
    for group in ("dataset", *Stages._fields):
        wiring.get(group)
    used = {place.partition(".")[0] for place in wiring.stages}
    plain = OmegaConf.to_container(config)
    assert isinstance(plain, dict)
    return list(map(str, find_unused(plain, command, used, plugins.load().registry)))


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (
            ["generator=direct", "ranker=bm25"],
            "ranker=bm25 is not used: generator=direct asks for no ranker; generator=ginger does; or type "
            "reranker=bm25",
        ),
        (
            ["+seed=condense", "ranker=duot5", "ranker.model=x"],
            "ranker=duot5 and ranker.model=x are not used: generator=chat asks for no ranker; generator=ginger does; "
            "or type reranker=duot5",
        ),
        (
            ["generator=direct", "detector=llm"],
            "detector=llm is not used: generator=direct asks for no detector; generator=ginger does",
        ),
        (
            ["chunker=tokens", "chunker.overlap=0"],
            "chunker=tokens and chunker.overlap=0 are not used: dataset=sample asks for no chunker; dataset=documents "
            "does",
        ),
        (
            ["generator=chat_published", "clusterer.components=3"],
            "clusterer.components=3 is not used: no stage of this run asks for the clusterer; rewriter=themes or "
            "generator=ginger does",
        ),
        (
            ["rewriter=mmr", "clusterer=bertopic", "generator=direct"],
            "clusterer=bertopic is not used: no stage of this run asks for the clusterer; rewriter=themes or "
            "generator=ginger does; rewriter=mmr keeps clusterer=kmeans, which "
            "rewriter.clusterer=bertopic changes",
        ),
        (
            ["rewriter=mmr", "clusterer=agglomerative"],
            "clusterer=agglomerative is not used by all: rewriter=mmr keeps clusterer=kmeans, which "
            "rewriter.clusterer=agglomerative changes",
        ),
    ],
)
def test_what_nothing_uses_is_said_with_what_would(overrides: list[str], said: str) -> None:
    assert unused(*overrides) == [said]


def test_a_stage_that_several_could_use_lists_them_by_group() -> None:
    (said,) = unused("generator=direct", "embedder.dimensions=8")
    assert "no stage of this run asks for the embedder" in said
    assert re.search(r"rewriter=[\w,]*dhrag,[\w,]*mmr,", said)
    assert re.search(r"retriever=[\w,]*dense,", said)
    assert "hybrid" in said, "its own dense retriever asks for it"


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["+seed=condense"],
        ["+seed=ginger", "generator=direct"],
        ["ranker=bm25"],
        ["generator=direct", "ranker=none"],
        ["generator=direct", "reranker=bm25"],
        ["rewriter=mmr", "rewriter.clusterer=lsa", "clusterer=lsa"],
        ["generator=direct", "~clusterer"],
        ["generator=direct", "rewriter=dhrag", "embedder.dimensions=8"],
    ],
)
def test_nothing_is_said_of_defaults_presets_and_what_is_used(overrides: list[str]) -> None:
    assert unused(*overrides) == []


def test_a_chat_says_it_too_and_of_itself_nothing(tmp_path: Path) -> None:
    overrides = [
        "task=chat",
        "task.suggestions=0",
        "generator=direct",
        "detector=llm",
        "metrics=ranking",
    ]
    done = run_here([*overrides, "tracker=none"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "convrag: detector=llm is not used: generator=direct asks for no detector; generator=ginger does",
        "convrag: metrics=ranking is not used: task=chat has no metrics",
    ]


def test_a_grid_says_it_once(tmp_path: Path) -> None:
    overrides = [
        "-m",
        "generator=none,direct",
        "ranker=bm25",
        "limit=1",
        "tracker=none",
        "rewriter=none",
    ]
    done = run_here(overrides, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("ranker=bm25 is not used") == 1
