"""`rewriter.clusterer=lsa` in commands, grids and YAML, with and without a default of the stage's
own.
"""

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf, open_dict

from convrag.api.errors import ConfigError
from convrag.config.choices import translate_overrides
from convrag.config.compose import compose
from convrag.registry import plugins
from convrag.turn.wiring import Wiring


def translated(*overrides: str, multirun: bool = False) -> list[str]:
    return translate_overrides(overrides, plugins.load().registry, multirun=multirun)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("rewriter.clusterer=lsa", "clusterer@rewriter.clusterer=lsa"),
        ("rewriter.embedder=lsa,minilm", "embedder@rewriter.embedder=lsa,minilm"),
        ("rewriter.embedder=choice(lsa, minilm)", "embedder@rewriter.embedder=choice(lsa, minilm)"),
        ("+embedder@rewriter.embedder=minilm", "embedder@rewriter.embedder=minilm"),
        ("embedder@rewriter.embedder=minilm", "embedder@rewriter.embedder=minilm"),
        ("retriever.dense.embedder=minilm", "embedder@retriever.dense.embedder=minilm"),
        ("retriever.lexical=bm25", "retriever@retriever.lexical=bm25"),
        ("metrics.judge.second_llm=claude", "llm@metrics.judge.second_llm=claude"),
        ("rewriter.clusterer.n=4", "rewriter.clusterer.n=4"),
        ("rewriter.gate=always", "rewriter.gate=always"),
        ("rewriter.llm=null", "rewriter.llm=null"),
        ("rewriter.llm={_option_:claude}", "rewriter.llm={_option_:claude}"),
        ("rewriter=mmr", "rewriter=mmr"),
        ("+seed=mmr", "+seed=mmr"),
        ("~tracker", "~tracker"),
        ("--help", "--help"),
        ("hydra.run.dir=x", "hydra.run.dir=x"),
    ],
)
def test_plain_names_become_hydras_grammar(typed: str, read: str) -> None:
    assert translated(typed) == [read]


def test_what_belongs_to_a_swept_stage_is_swept_too() -> None:
    """Hydra composes a grid once with the default rewriter, which has no embedder."""
    grid = translated(
        "rewriter=mmr,dhrag",
        "rewriter.embedder=minilm",
        "rewriter.max_tokens=5",
        "top_k=3",
        multirun=True,
    )
    assert grid == [
        "rewriter=mmr,dhrag",
        "embedder@rewriter.embedder=choice(minilm)",
        "rewriter.max_tokens=choice(5)",
        "top_k=3",
    ]
    assert translated("rewriter=mmr", "rewriter.max_tokens=5", multirun=True) == [
        "rewriter=mmr",
        "rewriter.max_tokens=5",
    ]


def option_at(config: Any, place: str) -> str:
    return str(OmegaConf.select(config, f"{place}._option_"))


def test_a_stage_is_chosen_with_its_parameters_whether_or_not_there_was_a_default() -> None:
    config = compose("rewriter=mmr", "rewriter.clusterer=lsa", "rewriter.clusterer.components=3")
    assert option_at(config, "rewriter.clusterer") == "lsa"
    assert config.rewriter.clusterer.components == 3
    assert option_at(compose("rewriter=mmr"), "rewriter.clusterer") == "kmeans"
    config = compose("rewriter=dhrag", "rewriter.embedder=minilm", "rewriter.embedder.batch_size=3")
    assert config.rewriter.embedder.batch_size == 3
    assert compose("rewriter=dhrag").rewriter.embedder is None


def test_an_unknown_name_lists_the_choices() -> None:
    with pytest.raises(ConfigError, match=r"clusterer 'nosuch' does not exist.*kmeans"):
        compose("rewriter=mmr", "rewriter.clusterer=nosuch")


@pytest.mark.parametrize(("name", "option"), [("lsa", "lsa"), ("kmeans_silhouette", "kmeans")])
def test_yaml_names_a_stage_too(name: str, option: str, tmp_path: Path) -> None:
    config = compose("rewriter=mmr", f"store.path={tmp_path}")
    with open_dict(config):
        config.rewriter.clusterer = name  # as a preset's or a user's YAML file leaves it
    wiring = Wiring(config)
    wiring.get("rewriter")
    assert wiring.describe_choice("rewriter.clusterer") == f"rewriter.clusterer={option}"


def test_yaml_that_names_nothing_is_told_what_there_is(tmp_path: Path) -> None:
    config = compose("rewriter=mmr", f"store.path={tmp_path}")
    with open_dict(config):
        config.rewriter.clusterer = "nosuch"
    with pytest.raises(ConfigError, match="clusterer 'nosuch' does not exist"):
        Wiring(config).get("rewriter")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["rewriter.clusterer=lsa"], r"rewriter.clusterer=...: the chosen rewriter takes no clusterer .*rewriter=mmr"),
        (["rewriter=mmr", "rewriter.clusterer.componets=3"], r"components belongs to .*rewriter.clusterer=lsa"),
        (["rewriter=mmr", "rewriter.clusterer.components=3"], r"clusterer.components belongs to .*clusterer=lsa"),
        (["rewriter=mmr", "rewriter.embedder.batch_size=3"], "which has the run's: embedder.batch_size=..."),
    ],
)  # fmt: skip
def test_mistakes_name_the_place(overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        compose(*overrides)
