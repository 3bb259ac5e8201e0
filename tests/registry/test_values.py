"""What a signature says is what a configuration may hold: composed by OmegaConf, checked by
pydantic.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Interval, Le
from omegaconf import OmegaConf

from convrag import LLM, ConfigError, Rewriter, operational
from convrag.api.errors import PluginError
from convrag.registry.option import Option


@dataclass(frozen=True)
class Window:
    turns: int = 3
    unit: Literal["turns", "tokens"] = "turns"


class Ranged(Rewriter):
    """Takes numbers within limits."""

    def __init__(
        self,
        *,
        turns: Annotated[int, Ge(1)] = 1,
        decay: Annotated[float, Gt(0), Le(1)] = 1.0,
        overlap: Annotated[float, Interval(ge=0, le=1)] = 0.5,
        most: Annotated[int, Ge(1), operational] | None = None,
        words: Annotated[int, Ge(1)] | Literal["auto"] = "auto",
    ) -> None: ...

    def rewrite(self, question: Any) -> Any: ...


class Rich(Rewriter):
    """Takes what is hard to hold in a configuration."""

    def __init__(
        self,
        *,
        size: int | Literal["auto"] = "auto",
        pair: tuple[Path, int] = (Path("a"), 1),
        counts: dict[str, int] = {},  # noqa: B006
        places: dict[str, Path] = {},  # noqa: B006
        files: Iterable[Path] = (),
        batch: Annotated[int, operational] | None = None,
        window: Window = Window(),
        names: set[str] = {"b", "a"},  # noqa: B006
        kept: frozenset[int] = frozenset({2, 1}),
        weights: Mapping[str, float] | None = None,
        roles: Collection[Literal["user", "assistant"]] = ("user",),
    ) -> None: ...

    def rewrite(self, question: Any) -> Any: ...


OPTION = Option("rewriter", "rich", Rich, "toys", "toys")


def configured(**given: Any) -> dict[str, Any]:
    """The values after both checks: merged into the schema as an override is, then converted."""
    config = OmegaConf.structured(OPTION.schema)
    plain = OmegaConf.to_container(OmegaConf.merge(config, given))
    assert isinstance(plain, dict)
    return OPTION.values({str(name): value for name, value in plain.items()}, "rewriter")


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("size", 5, 5),
        ("size", "auto", "auto"),
        ("pair", ["b", 2], (Path("b"), 2)),
        ("counts", {"a": 1}, {"a": 1}),
        ("places", {"a": "~/x"}, {"a": Path.home() / "x"}),
        ("files", ["a", "b"], [Path("a"), Path("b")]),
        ("batch", 4, 4),
        ("batch", None, None),
        ("window", {"turns": 5}, Window(5)),
        ("names", ["y", "x"], {"x", "y"}),
        ("kept", [3], frozenset({3})),
        ("weights", {"a": 1}, {"a": 1.0}),
        ("roles", ["assistant"], ["assistant"]),
    ],
)
def test_what_the_signature_says_is_accepted(name: str, given: Any, value: Any) -> None:
    found = configured(**{name: given})[name]
    assert found == value
    assert type(found) is type(value)


def test_defaults_come_through() -> None:
    values = configured()
    assert values["size"] == "auto"
    assert values["pair"] == (Path("a"), 1)
    assert values["window"] == Window()
    assert values["names"] == {"a", "b"}
    assert values["kept"] == frozenset({1, 2})


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("size", "large", r"rewriter.size=large: .*valid integer.*'auto'"),
        ("pair", ["b"], r"rewriter.pair=\['b'\]: .*[Ff]ield required"),
        ("pair", ["b", 2, 3], "at most 2 items"),
        ("counts", {"a": "much"}, "counts|Integer"),
        ("files", [["a"]], "files|item 1"),
        ("batch", "many", "Integer|integer"),
        ("window", {"turn": 5}, "turn"),
        ("window", {"unit": "words"}, "'turns' or 'tokens'"),
        ("kept", ["x"], "kept|integer|Integer"),
        ("roles", ["system"], "'user' or 'assistant'"),
    ],
)
def test_what_it_does_not_say_is_refused(name: str, given: Any, message: str) -> None:
    with pytest.raises(Exception, match=message):
        configured(**{name: given})


def test_a_file_of_many_is_gone_through_more_than_once() -> None:
    files = configured(files=["a"])["files"]
    assert list(files) == list(files) == [Path("a")]


def test_a_mark_inside_a_union_counts() -> None:
    assert OPTION.parameters["batch"].operational
    assert not OPTION.parameters["size"].operational


def test_a_stage_named_by_its_default_is_told_how() -> None:
    class Wrong(Rewriter):
        """Names its llm in a string."""

        def __init__(self, *, llm: LLM = "claude") -> None: ...  # type: ignore[assignment]

        def rewrite(self, question: Any) -> Any: ...

    with pytest.raises(ConfigError, match=r'llm: LLM = use\("claude"\)'):
        _ = Option("rewriter", "wrong", Wrong, "toys", "toys").parameters


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("turns", 0, "rewriter.turns=0: it must be at least 1"),
        ("decay", 0.0, "rewriter.decay=0.0: it must be above 0 and at most 1"),
        ("overlap", float("nan"), "rewriter.overlap=nan: it must be at least 0 and at most 1"),
        ("most", 0, "rewriter.most=0: it must be at least 1"),
        ("words", 0, "rewriter.words=0: it must be at least 1"),
    ],
)
def test_a_number_outside_of_its_limits_is_refused(name: str, given: float, message: str) -> None:
    ranged = Option("rewriter", "ranged", Ranged, "toys", "toys")
    with pytest.raises(ConfigError) as caught:
        ranged.values({name: given}, "rewriter")
    assert str(caught.value) == message
    assert ranged.values({"most": None, "words": "auto", "turns": 2}, "rewriter")["turns"] == 2


def test_true_is_no_number() -> None:
    ranged = Option("rewriter", "ranged", Ranged, "toys", "toys")
    with pytest.raises(ConfigError, match="turns=true: input should be a valid number"):
        ranged.values({"turns": True}, "rewriter")


def test_a_default_outside_of_its_limits_is_its_authors_mistake() -> None:
    with pytest.raises(PluginError, match="turns=0: it must be at least 1"):
        _ = Option("rewriter", "ranged", Ranged, "toys", "toys", defaults={"turns": 0}).parameters
