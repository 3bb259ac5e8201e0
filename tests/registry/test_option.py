from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from omegaconf import OmegaConf

from convrag.api.errors import ConfigError, UnknownName
from convrag.api.groups import OPTION_KEY
from convrag.api.models import LLM, Embedder
from convrag.api.stages import Clusterer, Ranker, Rewriter
from convrag.registry.description import describe_option
from convrag.registry.option import Option
from convrag.registry.parameters import Use, operational, use
from convrag.store.store import Store


class Tone(Enum):
    mild = 1
    strong = 2


class Everything(Rewriter):
    """Takes one parameter of each kind."""

    def __init__(
        self,
        *,
        llm: LLM,
        reranker: Ranker,
        second: LLM | None = None,
        clusterer: Clusterer = use("kmeans"),
        store: Store,
        path: Path,
        method: Literal["a", "b"] = "a",
        tone: Tone = Tone.mild,
        alpha: float = 0.6,
        count: int | None = None,
        names: list[str] = ["x"],  # noqa: B006
        pair: tuple[int, ...] = (1, 2),
        files: Sequence[Path] = (Path("a"),),
        extra: dict[str, Any] = {},  # noqa: B006
        either: int | str = 3,
        workers: Annotated[int, operational] = 2,
    ) -> None: ...

    def rewrite(self, question: Any) -> Any: ...


@pytest.fixture
def option() -> Option:
    return Option("rewriter", "everything", Everything, "toys", "toys")


def test_stages_are_told_from_values(option: Option) -> None:
    parameters = option.parameters
    assert {name: p.group for name, p in parameters.items() if p.group} == {
        "llm": "llm",
        "reranker": "reranker",
        "second": "llm",
        "clusterer": "clusterer",
    }
    assert parameters["store"].injects_store
    assert parameters["clusterer"].default == Use(("kmeans",))
    assert [name for name, p in parameters.items() if p.operational] == ["workers"]
    assert [name for name, p in parameters.items() if p.required] == ["path"]


def test_the_schema_is_typed_and_defaulted(option: Option) -> None:
    config = OmegaConf.structured(option.schema)
    assert config[OPTION_KEY] == "everything"
    assert config.alpha == 0.6
    assert config.files == ["a"]
    assert OmegaConf.is_missing(config, "path")
    assert config.defaults == [
        "_self_",
        {"/llm@llm": None},
        {"/reranker@reranker": None},
        {"/llm@second": None},
        {"/clusterer@clusterer": "kmeans"},
    ]
    with pytest.raises(Exception, match="could not be converted to Float"):
        config.alpha = "much"
    with pytest.raises(Exception, match="nosuch"):
        config.nosuch = 1


def test_values_become_what_the_constructor_takes(option: Option) -> None:
    given = {"path": "~/x", "tone": "strong", "pair": [3], "files": ["b"], "names": ["y"], "either": "z"}
    values = option.values(given, "rewriter")
    assert values["path"] == Path.home() / "x"
    assert values["tone"] is Tone.strong
    assert values["pair"] == (3,)
    assert values["files"] == [Path("b")]
    assert values["either"] == "z"
    assert values["count"] is None
    assert "llm" not in values
    assert "store" not in values


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"rewriter=everything needs rewriter.path=\.\.\."),
        ({"path": "x", "method": "c"}, "rewriter.method: value 'c' does not exist.* Choose from: a, b"),
        ({"path": "x", "tone": "shrill"}, "Choose from: mild, strong"),
        ({"path": "x", "alfa": 1}, "parameter 'alfa' does not exist. Did you mean 'alpha'"),
    ],
)
def test_a_wrong_value_says_what_would_be_right(option: Option, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        option.values(given, "rewriter")


def test_an_annotation_that_is_not_there_names_the_class() -> None:
    class Hidden(Rewriter):
        """Annotated with a name that cannot be resolved."""

        def __init__(self, *, x: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

        def rewrite(self, question: Any) -> Any: ...

    with pytest.raises(ConfigError, match=r"Hidden.__init__ .* 'Nowhere'"):
        _ = Option("rewriter", "hidden", Hidden, "toys", "toys").parameters


def test_a_class_without_a_constructor_has_no_parameters() -> None:
    class Bare(Embedder):
        """Nothing to set."""

        def embed(self, texts: Any, *, query: bool = False) -> Any: ...

    option = Option("embedder", "bare", Bare, "toys", "toys")
    assert option.values({}, "embedder") == {}
    with pytest.raises(UnknownName, match="There is none"):
        option.values({"x": 1}, "embedder")


class Several(Rewriter):
    """Takes several stages of a group, each under a name."""

    def __init__(
        self,
        *,
        of: Mapping[str, Rewriter],
        judges: dict[str, LLM] | None = None,
        weights: Mapping[str, float] | None = None,
        others: Mapping[str, Rewriter] = use("blend", "none"),
    ) -> None: ...

    def rewrite(self, question: Any) -> Any: ...


def test_a_mapping_of_stages_holds_several() -> None:
    option = Option("rewriter", "several", Several, "toys", "toys")
    assert {name: (p.group, p.several, p.is_of_run) for name, p in option.parameters.items()} == {
        "of": ("rewriter", True, False),
        "judges": ("llm", True, False),
        "weights": ("", False, False),
        "others": ("rewriter", True, False),
    }
    assert option.list_mappings() == ["of", "judges", "weights", "others"]
    assert option.list_used_options() == [("rewriter", "blend"), ("rewriter", "none")]
    assert option.list_groups_of_run() == []
    config = OmegaConf.structured(option.schema)
    assert (config.of, config.judges, config.weights, config.others) == (None, None, None, None)
    described = {each.name: (each.type, each.default) for each in describe_option(option).parameters}
    assert described["of"] == ("rewriter stages, each by its name", "required")
    assert described["judges"] == ("llm stages, each by its name", "None")
    assert described["others"] == ("rewriter stages, each by its name", "blend, none")


def test_the_source_says_the_same_of_several_stages() -> None:
    from convrag.registry.class_source import find_class
    from convrag.registry.signature_source import read_signature

    source = find_class("convrag_fusion.ensemble:EnsembleRewriter")
    written = read_signature(source) if source else None
    assert written
    assert {name: (p.group, p.several, p.is_mapping) for name, p in written.items()} == {
        "of": ("rewriter", True, True),
        "weights": ("", False, True),
    }
    assert (written["of"].used_options, written["of"].used_option) == (("full_history", "mmr", "blend"), "")
    assert all(parameter.is_plain and not parameter.is_of_run for parameter in written.values())


class Defaulted(Rewriter):
    """Has a default for several stages."""

    def __init__(self, *, of: Mapping[str, Rewriter] = {}) -> None: ...

    def rewrite(self, question: Any) -> Any: ...


class Undecided(Rewriter):
    """Has two defaults for one stage."""

    def __init__(self, *, base: Rewriter = use("blend", "none")) -> None: ...

    def rewrite(self, question: Any) -> Any: ...


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (Defaulted, r'Defaulted.__init__: of holds several stages: its default is use\("...", "..."\) or None'),
        (Undecided, r"Undecided.__init__: base holds one stage, and its default names several"),
    ],
)
def test_defaults_of_stages_are_as_many_as_there_may_be(cls: type[Rewriter], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        _ = Option("rewriter", "wrong", cls, "toys", "toys").parameters


class Documented(Ranker):
    """Rank.

    Args:
        depth: how many texts are looked at.
        tone: how it says so.
    """

    def __init__(self, *, depth: int = 3, tone: str = "mild") -> None: ...

    def score(self, query: str, texts: Sequence[str]) -> Any: ...


class Silent(Documented):
    """Rank otherwise."""


class Partly(Documented):
    """Rank otherwise.

    Args:
        tone: how loud.
    """


@pytest.mark.parametrize(
    ("cls", "told"),
    [
        (Silent, ["how many texts are looked at.", "how it says so."]),
        (Partly, ["how many texts are looked at.", "how loud."]),
    ],
)
def test_a_parameter_that_a_class_does_not_document_is_what_its_base_says(cls: type[Ranker], told: list[str]) -> None:
    described = describe_option(Option("ranker", "x", cls, "acme", "acme"))
    assert [each.help for each in described.parameters] == told
    assert described.summary == "Rank otherwise."
