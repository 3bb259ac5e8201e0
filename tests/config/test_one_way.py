"""One way from overrides to a configuration: the same words for each mistake, whoever composes."""

from collections.abc import Callable
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from convrag import Pipeline
from convrag.api.errors import ConfigError, ConvragError
from convrag.config.compose import (
    compose,
    compose_checked,
    compose_from_command,
    prepare_overrides,
    read_settings,
)
from convrag.config.loader import make_loader
from convrag.config.settings import Settings
from convrag.sweep.cells import make_cells
from convrag.turn.wiring import Wiring
from places import ROOT

OMEGACONF_WORDS = (
    "full_key",
    "object_type",
    "Interpolation",
    "could not be converted",
    "ValidationE",
)


def compose_cell(*overrides: str) -> Any:
    """Compose the way a grid composes each of its cells."""
    from hydra.types import RunMode

    loader = make_loader()
    grid = loader.load_configuration("config", ["hydra.mode=MULTIRUN"], RunMode.MULTIRUN)
    prepared = prepare_overrides(overrides)
    return compose_checked(lambda: loader.load_sweep_config(grid, prepared), prepared).config


DOORS = [compose, compose_from_command, compose_cell, Pipeline.compose]


@pytest.mark.parametrize("door", DOORS, ids=["compose", "server", "grid", "Pipeline"])
def test_a_name_like_a_number_is_a_name(door: Callable[..., Any]) -> None:
    """It was taken for a number, but in the command."""
    with pytest.raises(ConfigError) as caught:
        door("embedder=e9", "retriever=dense", "generator=none")
    assert "embedder 'e9' does not exist" in str(caught.value)


@pytest.mark.parametrize("door", DOORS[:3], ids=["compose", "server", "grid"])
@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("rewriter.n=x", "rewriter.n=x: input should be a valid integer"),
        ("top_k=x", "top_k=x: input should be a valid integer"),
        ("top_k=[1]", "top_k=[1]: input should be a valid integer"),
        ("top_k={a: 1}", "top_k={'a': 1}: input should be a valid integer"),
        ("rewriter.n={a: 1}", "rewriter.n={'a': 1}: input should be a valid integer"),
        ("rewriter.n=[1]", "rewriter.n=[1]: input should be a valid integer"),
        ("rewriter.n=null", "rewriter.n=null: input should be a valid integer"),
        ("top_k=true", "top_k=true: input should be a valid number"),
        ("store.path=[a]", "store.path=['a']: input should be a valid string"),
        ("store=3", "store=3: it has settings of its own: store.path, store.url"),
        ("sweep.sample=x", "sweep.sample=x: input should be a valid integer"),
        ("history=foo", "history: value 'foo' does not exist. Choose from: generated, gold, none."),
        ("limit=0", "limit=0: it must be at least 1"),
        ("rewriter.nn=3", "rewriter=last_n: parameter 'nn' does not exist. Did you mean 'n'?"),
        ("store.pth=x", "setting 'store.pth' does not exist. Did you mean 'store.path'?"),
        ("top_k.x=3", "top_k.x: top_k is a single value: top_k=..."),
        ("top_k=${nowhere}", "top_k: it refers to 'nowhere', which is not in the configuration"),
        ("top_k=${oc.env:NOWHERE}", "top_k: the environment variable 'NOWHERE' is not set"),
        ("hydra.job.name=[1]", "hydra.job.name=[1]: this value has the wrong type"),
        ("metrics.ranking.measures=x", "metrics.ranking.measures=x: input should be a valid list"),
    ],
)
def test_a_mistake_has_the_same_words(
    override: str, message: str, door: Callable[..., Any]
) -> None:
    with pytest.raises(ConvragError) as caught:
        door("rewriter=last_n", override)
    assert message in str(caught.value)
    assert not [word for word in OMEGACONF_WORDS if word in str(caught.value)]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("${nope}", "rewriter.n: it refers to 'nope', which is not in the configuration"),
        ("${oc.dec:3}", "rewriter.n: ${oc.dec:...} is not known"),
        ("${rewriter.n}", "rewriter.n: it refers to itself"),
        ("${dataset.nope}", "rewriter.n: it refers to 'dataset.nope'"),
        ("${store}", "rewriter.n={'path': 'outputs/store', 'url': None}: input should be"),
    ],
)
def test_a_reference_of_a_stage_is_checked_when_it_is_built(value: str, message: str) -> None:
    config = compose("rewriter=last_n", f"rewriter.n={value}")
    with pytest.raises(ConfigError) as caught:
        Wiring(config).get("rewriter")
    assert message in str(caught.value)
    assert not [word for word in OMEGACONF_WORDS if word in str(caught.value)]


def test_settings_are_checked_however_they_are_made() -> None:
    made: Any = {"top_k": "7", "store": {"path": "x"}}
    settings = Settings(**made)
    assert (settings.top_k, settings.store.path) == (7, "x")
    wrong: Any = {"workers": "many"}
    with pytest.raises(ConfigError, match="workers=many: input should be a valid integer"):
        Settings(**wrong)
    assert read_settings(compose("top_k=${top_n}", "top_n=4")).top_k == 4


@pytest.mark.parametrize(
    ("override", "list_works"),
    [
        ("rewriter=last_n,none", False),
        ("metrics=ranking,answers", True),
        ("top_k=5,10", False),
        ("retriever.k1=1,2", False),
    ],
)
def test_the_advice_for_several_values_works(override: str, list_works: bool) -> None:
    with pytest.raises(ConfigError) as caught:
        compose(override)
    message = str(caught.value)
    assert message.startswith(f"{override}: several values make a grid")
    assert f"-m {override}" in message
    prepared = prepare_overrides([override], multirun=True)
    cells = make_cells(prepared, ROOT, OverridesParser.create())
    assert len([compose(*cell.overrides) for cell in cells]) == 2
    key, _, value = override.partition("=")
    as_list = f"{key}=[{value}]"
    assert (as_list in message) is list_works
    if list_works:
        assert compose(as_list)
