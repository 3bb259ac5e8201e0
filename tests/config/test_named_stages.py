"""Several stages in one parameter: `rewriter.of=[mmr,blend]`, in commands, grids, variants and YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from convrag.api.errors import ConfigError, UnknownName
from convrag.config import named_stages
from convrag.config.compose import compose
from convrag.config.named_stages import list_given, name_stages
from convrag.config.stage_choices import translate_overrides
from convrag.registry import plugins
from convrag.turn.wiring import Wiring


def translated(*overrides: str, multirun: bool = False) -> list[str]:
    return translate_overrides(overrides, plugins.load().registry, multirun=multirun)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("rewriter.of=[none,blend]", ["+rewriter@rewriter.of.none=none", "+rewriter@rewriter.of.blend=blend"]),
        ("rewriter.of={a: replay, b: replay}", ["+rewriter@rewriter.of.a=replay", "+rewriter@rewriter.of.b=replay"]),
        ("rewriter.of=blend", ["+rewriter@rewriter.of.blend=blend"]),
        ("rewriter.of.a=blend", ["+rewriter@rewriter.of.a=blend"]),
        ("+rewriter.of.a=blend", ["+rewriter@rewriter.of.a=blend"]),
        ("rewriter.of.a=blend,mmr", ["+rewriter@rewriter.of.a=blend,mmr"]),
        ("rewriter.of.a.embedder=lsa", ["embedder@rewriter.of.a.embedder=lsa"]),
        ("rewriter.of.a.weight=.3", ["rewriter.of.a.weight=.3"]),
        ("rewriter.of.a.of=[mmr]", ["+rewriter@rewriter.of.a.of.mmr=mmr"]),
        ("rewriter.weights.a=2", ["++rewriter.weights.a=2"]),
        ("rewriter.weights={a: 2}", ["++rewriter.weights={a: 2}"]),
        ("rewriter.of={a: {_option_: blend}}", ["rewriter.of={a: {_option_: blend}}"]),
        ("rewriter.of=[]", ["rewriter.of=[]"]),
    ],
)
def test_names_become_hydras_grammar(typed: str, read: list[str]) -> None:
    assert translated(typed) == read


def test_the_later_of_two_choices_wins() -> None:
    found = translated("rewriter.of=[mmr,blend]", "rewriter.of.mmr=none")
    assert found == ["+rewriter@rewriter.of.blend=blend", "+rewriter@rewriter.of.mmr=none"]


def test_a_grid_varies_one_stage_and_not_the_list() -> None:
    with pytest.raises(ConfigError, match=r"rewriter.of=\[none\],\[blend\]: a grid has one list"):
        translated("rewriter.of=[none],[blend]", multirun=True)


def test_the_stages_are_built_in_their_order_with_their_own_parameters() -> None:
    config = compose(
        "rewriter=ensemble",
        "rewriter.of={long: blend, short: blend}",
        "rewriter.of.long.exchanges=9",
        "rewriter.of.short.exchanges=1",
        "rewriter.weights.short=0.5",
    )
    wiring = Wiring(config)
    rewriter = wiring.get("rewriter")
    assert [(name, each.exchanges) for name, each in rewriter.of.items()] == [("long", 9), ("short", 1)]
    assert rewriter.weights == {"long": 1.0, "short": 0.5}
    assert list(wiring.stages) == ["rewriter.of.long", "rewriter.of.short", "rewriter"]
    described = wiring.collect_configuration(["rewriter"])
    assert described["rewriter.of.long"]["exchanges"] == 9
    assert set(wiring.collect_fingerprints()) == set(wiring.stages)


def fingerprint(*overrides: str) -> str:
    return Wiring(compose("rewriter=ensemble", *overrides)).get("rewriter").fingerprint


def test_a_fingerprint_has_the_stages_their_names_and_their_order() -> None:
    found = [
        fingerprint("rewriter.of=[none,blend]"),
        fingerprint("rewriter.of=[blend,none]"),
        fingerprint("rewriter.of=[none,blend]", "rewriter.of.blend.weight=0.4"),
        fingerprint("rewriter.of={none: none, other: blend}"),
        fingerprint("rewriter.of=[none]"),
    ]
    assert len(set(found)) == len(found)
    assert found[0] == fingerprint("rewriter.of=[none,blend]")


def test_yaml_may_name_them_in_a_list_or_in_a_mapping() -> None:
    config = compose("rewriter=ensemble", "rewriter.of=[none]")
    for given, names in (
        (["blend", "none"], ["blend", "none"]),
        ({"a": "blend", "b": {"_option_": "blend", "weight": 0.2}, "c": None}, ["a", "b"]),
    ):
        config.rewriter.of = OmegaConf.create(given)  # type: ignore[arg-type]
        assert list(Wiring(config).get("rewriter").of) == names


def test_without_a_list_there_are_the_stages_of_the_signature() -> None:
    assert list(Wiring(compose("rewriter=ensemble")).get("rewriter").of) == ["full_history", "mmr", "blend"]
    assert list(Wiring(compose("rewriter=ensemble", "rewriter.of=[none]")).get("rewriter").of) == ["none"]
    assert len(Wiring(compose("rewriter=five_rewrites")).get("rewriter").of) == 5


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["rewriter.of=[]"], r"rewriter=ensemble needs at least one rewriter: rewriter.of=\[NAME"),
        (["rewriter.of=3"], r"rewriter.of=3: name the rewriter stages"),
        (["rewriter.of=[blend,blend]"], r"blend stands there twice.*first: blend, second: blend"),
        (["rewriter.of=[blend,nosuch]"], r"rewriter 'nosuch' does not exist.*blend"),
        (["rewriter.of=[blend]", "rewriter.of.blend.wight=1"], r"'wight' does not exist. Did you mean 'weight'"),
        (["rewriter.of=[blend]", "rewriter.of.blend.weight=x"], r"rewriter.of.blend.weight"),
        (["rewriter.of=[blend]", "rewriter.of.bland.weight=1"], r"no stage 'bland'; it has blend"),
        (["rewriter.of=[blend]", "rewriter.weights.bland=1"], r"'bland' does not exist. Did you mean 'blend'"),
        (["rewriter.of={a: {_option_: nosuch}}"], r"'nosuch' does not exist"),
    ],
)
def test_mistakes_are_named(overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Wiring(compose("rewriter=ensemble", *overrides)).get("rewriter")


def test_another_rewriter_has_no_such_parameter() -> None:
    with pytest.raises(ConfigError, match=r"rewriter.of belongs to rewriter=ensemble"):
        compose("rewriter=none", "rewriter.of=[blend]")


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with a variant that brings two stages, a variant of that, and a preset that chooses it."""
    files = {
        ("rewriter", "pair"): "defaults: [ensemble, _self_, {/rewriter@of.a: blend}, {/rewriter@of.b: none}]\n",
        ("rewriter", "trio"): "defaults: [pair, _self_, {/rewriter@of.c: none}]\n",
        ("system", "three"): "defaults: [{override /rewriter: trio}]\n",
    }
    for (group, name), text in files.items():
        (tmp_path / group).mkdir(exist_ok=True)
        (tmp_path / group / f"{name}.yaml").write_text(text)

    def offered(package: str, group: str) -> dict[str, Any]:
        return {name: tmp_path / of / f"{name}.yaml" for of, name in files if of == group}

    monkeypatch.setattr(named_stages, "offered_files", offered)


@pytest.mark.usefixtures("shipped")
def test_the_stages_of_a_variant_are_known() -> None:
    assert list_given("rewriter.of", ["rewriter=pair"]) == ["a", "b"]
    assert list_given("rewriter.of", ["rewriter=trio"]) == ["a", "b", "c"]
    assert list_given("rewriter.of", ["+system=three"]) == ["a", "b", "c"]
    assert list_given("rewriter.of", ["+system=three", "rewriter=pair"]) == ["a", "b"]
    assert list_given("rewriter.of", ["rewriter=mmr"]) == []


@pytest.mark.usefixtures("shipped")
def test_a_stage_of_a_variant_is_changed_taken_away_or_replaced() -> None:
    assert translated("rewriter=pair", "rewriter.of.a=mmr")[1:] == ["rewriter@rewriter.of.a=mmr"]
    assert translated("rewriter=pair", "rewriter.of.z=mmr")[1:] == ["+rewriter@rewriter.of.z=mmr"]
    assert translated("rewriter=pair", "~rewriter.of.a")[1:] == ["~rewriter@rewriter.of.a"]
    assert translated("+system=three", "rewriter.of={b: mmr, z: none}")[1:] == [
        "~rewriter@rewriter.of.a",
        "~rewriter@rewriter.of.c",
        "rewriter@rewriter.of.b=mmr",
        "+rewriter@rewriter.of.z=none",
    ]


def test_a_name_of_a_stage_is_a_word() -> None:
    with pytest.raises(ConfigError, match=r"'a b' cannot be the name"):
        name_stages({"a b": "blend"}, "rewriter", "rewriter.of")


def test_an_unknown_option_in_yaml_is_named_with_its_place() -> None:
    config = compose("rewriter=ensemble", "rewriter.of=[none]")
    config.rewriter.of = OmegaConf.create(["nosuch"])
    with pytest.raises(UnknownName, match="nosuch"):
        Wiring(config).get("rewriter")
