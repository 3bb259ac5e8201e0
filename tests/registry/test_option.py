import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from omegaconf import OmegaConf

from convrag import (
    LLM,
    Clusterer,
    ConfigError,
    Embedder,
    Ranker,
    Rewriter,
    Store,
    UnknownName,
    operational,
    use,
)
from convrag.api.errors import PluginError
from convrag.api.groups import OPTION_KEY
from convrag.registry.option import Option
from convrag.registry.option_text import describe_option
from convrag.registry.parameters import Use, read_parameters
from convrag.registry.values import check_value


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


class StageOrFile(Rewriter):
    """Takes a stage or a file."""

    def __init__(self, *, embedder: Path | Embedder | None = None) -> None: ...

    def rewrite(self, question: Any) -> Any: ...


class StageOrDefault(StageOrFile):
    """Takes a stage or a file, and has a file of its own."""

    def __init__(self, *, embedder: Path | Embedder = Path("a")) -> None: ...


def test_a_parameter_may_take_a_stage_or_a_value() -> None:
    option = Option("rewriter", "either", StageOrFile, "toys", "toys")
    parameter = option.parameters["embedder"]
    assert parameter.group == "embedder"
    assert parameter.value_type is Path
    assert parameter.for_value().group == ""
    assert check_value("~/a", parameter.for_value(), "rewriter.embedder") == Path.home() / "a"
    (described,) = describe_option(option).parameters
    assert described.type == "Path | embedder stage"


def test_a_parameter_that_takes_a_stage_or_a_value_defaults_to_none() -> None:
    with pytest.raises(ConfigError, match="embedder takes a stage or a value, so its default must"):
        _ = Option("rewriter", "either", StageOrDefault, "toys", "toys").parameters


@pytest.fixture
def option() -> Option:
    return Option("rewriter", "everything", Everything, "toys", "toys")


def test_stages_are_told_from_values(option: Option) -> None:
    parameters = option.parameters
    expected = {"llm": "llm", "reranker": "reranker", "second": "llm", "clusterer": "clusterer"}
    assert {name: p.group for name, p in parameters.items() if p.group} == expected
    assert parameters["store"].injects_store
    assert parameters["clusterer"].default == Use("kmeans")
    assert [name for name, p in parameters.items() if p.operational] == ["workers"]
    assert [name for name, p in parameters.items() if p.required] == ["path"]


def test_the_schema_has_the_defaults_and_no_other_key(option: Option) -> None:
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
    with pytest.raises(Exception, match="nosuch"):
        config.nosuch = 1


def test_values_become_what_the_constructor_takes(option: Option) -> None:
    given = {
        "path": "~/x",
        "tone": "strong",
        "pair": [3],
        "files": ["b"],
        "names": ["y"],
        "either": "z",
    }
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
        (
            {"path": "x", "method": "c"},
            "rewriter.method: value 'c' does not exist.* Choose from: a, b",
        ),
        ({"path": "x", "tone": "shrill"}, "Choose from: mild, strong"),
        ({"path": "x", "alfa": 1}, "parameter 'alfa' does not exist. Did you mean 'alpha'"),
    ],
)
def test_a_wrong_value_says_what_would_be_right(
    option: Option, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        option.values(given, "rewriter")


def test_an_annotation_that_is_not_there_names_the_class() -> None:
    class Hidden(Rewriter):
        """Annotated with a name that cannot be resolved."""

        def __init__(self, *, x: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

        def rewrite(self, question: Any) -> Any: ...

    with pytest.raises(ConfigError, match=r"Hidden.__init__ .* 'Nowhere'"):
        _ = Option("rewriter", "hidden", Hidden, "toys", "toys").parameters


@dataclass(kw_only=True, eq=False)
class WithFactory(Ranker):
    extra: dict[str, Any] = field(default_factory=dict)

    def score(self, query: str, texts: Sequence[str]) -> Any:
        raise NotImplementedError


def test_a_field_may_have_a_factory_of_its_default() -> None:
    parameter = read_parameters(WithFactory)["extra"]
    assert parameter.default == {}
    assert not parameter.required


def test_a_class_without_a_constructor_has_no_parameters() -> None:
    class Bare(Embedder):
        """Nothing to set."""

        def embed(self, texts: Any, *, query: bool = False) -> Any: ...

    option = Option("embedder", "bare", Bare, "toys", "toys")
    assert option.values({}, "embedder") == {}
    with pytest.raises(UnknownName, match="There is none"):
        option.values({"x": 1}, "embedder")


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
def test_a_parameter_that_a_class_does_not_document_is_what_its_base_says(
    cls: type[Ranker], told: list[str]
) -> None:
    described = describe_option(Option("ranker", "x", cls, "acme", "acme"))
    assert [each.help for each in described.parameters] == told
    assert described.summary == "Rank otherwise."


def test_a_wrong_default_of_a_field_names_the_file() -> None:
    @dataclass(kw_only=True, eq=False)
    class Miscounted(Rewriter):
        n: int = "three"  # type: ignore[assignment]

        def rewrite(self, question: Any) -> Any: ...

    with pytest.raises(PluginError, match=rf"the default of n=three.*\({re.escape(__file__)}\)"):
        _ = Option("rewriter", "wrong", Miscounted, "toys", "toys").parameters
