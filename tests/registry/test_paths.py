"""Options that are registered by the path of their class."""

import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

import toys
from convrag.api.errors import MissingExtra, PluginError
from convrag.api.hookspecs import hookimpl
from convrag.registry.parameters import Use, use
from convrag.registry.plugins import Plugins
from convrag.registry.registry import Registry
from written_modules import make_modules

STAGES = '''
from convrag import LLM, Embedder, Ranker, Rewriter

class Rank(Ranker):
    """Rank somehow."""
    requires = {"a_module_that_is_not_there": "acme[all]"}
    def __init__(self, *, model: str = "small", embedder: Embedder | None = None, n: int = 3) -> None:
        self.model = model
    def score(self, query, texts): ...

class Half(Rewriter):
    """Lacks its method."""

class NoStage:
    """Is no stage."""

class Summed(Ranker):
    """Take a summary."""
    def __init__(self, *, summary: str = "long") -> None: ...
    def score(self, query, texts): ...

class Untold(Ranker):
    requires = {"torch": 3}
    def score(self, query, texts): ...
'''

ALIAS = """
Vectors = Embedder

class Alias(Rank):
    def __init__(self, *, embedder: Vectors, n: int = 3) -> None: ...
"""


@pytest.fixture
def stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """The name of a module with these stages, another one for each test."""
    name = f"path_{abs(hash(request.node.name)):x}"
    files = {
        f"{name}/__init__.py": "",
        f"{name}/stages.py": STAGES,
        f"{name}/fails.py": STAGES + "\nimport no_such_one\n",
    }
    files[f"{name}/alias.py"] = STAGES + ALIAS
    make_modules(tmp_path, monkeypatch, files)
    return f"{name}.stages"


def registered(*options: tuple[Any, ...], **defaults: Any) -> Registry:
    @hookimpl
    def convrag_register(register: Any) -> None:
        for option in options:
            register(*option, **defaults)

    return Plugins([toys.plugin("toy_path", convrag_register=convrag_register)]).registry


def test_a_class_is_imported_when_it_is_used(stages: str) -> None:
    option = registered(("ranker", "somehow", f"{stages}:Rank")).get("ranker", "somehow")
    assert option.path == f"{stages}:Rank"
    assert stages not in sys.modules
    assert option.cls.__name__ == "Rank"
    assert stages in sys.modules
    assert list(option.parameters) == ["model", "embedder", "n"]
    assert isinstance(option.missing_extra(), MissingExtra)


def test_a_summary_is_the_help_and_saves_the_import(stages: str) -> None:
    option = registered(("ranker", "somehow", f"{stages}:Rank", "Rank by a model.")).get(
        "ranker", "somehow"
    )
    assert option.help == "Rank by a model."
    assert stages not in sys.modules


def test_without_a_summary_the_class_is_imported_for_its_docstring(stages: str) -> None:
    option = registered(("ranker", "somehow", f"{stages}:Rank")).get("ranker", "somehow")
    assert option.help == "Rank somehow."
    assert stages in sys.modules


def test_a_summary_does_not_take_the_name_of_a_parameter(stages: str) -> None:
    target = (f"{stages}:Summed", "Take a summary.")
    option = registered(("ranker", "summed", *target), summary="short").get("ranker", "summed")
    assert (option.help, option.values({}, "ranker")) == (
        "Take a summary. (summary=short)",
        {"summary": "short"},
    )


def test_a_summary_is_text(stages: str, caplog: pytest.LogCaptureFixture) -> None:
    registry = registered(("ranker", "odd", f"{stages}:Rank", {"n": 3}))
    assert "gives ranker=odd a summary that is not text" in caplog.text
    assert "odd" not in registry.options("ranker")


@pytest.mark.parametrize("wrong", ["stages", ":Rank", "stages:", "a b:Rank"])
def test_what_is_written_as_no_path_is_one_warning_and_an_error_when_chosen(
    stages: str, wrong: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        registry = registered(("ranker", "wrong", wrong), ("ranker", "right", f"{stages}:Rank"))
    (record,) = caplog.records
    assert (
        "plugin 'toy_path' of an unknown distribution cannot register ranker=wrong"
        in record.getMessage()
    )
    with pytest.raises(PluginError, match='a path is written "package.module:Class"'):
        registry.get("reranker", "wrong")
    assert registry.get("ranker", "right")
    assert list(registry.options("ranker")) == ["right"]


@pytest.mark.parametrize(
    ("group", "path", "message"),
    [
        ("rewriter", "stages:Half", "Half lacks the method rewrite"),
        ("rewriter", "stages:NoStage", "no subclass of convrag.Rewriter"),
        ("rewriter", "stages:Rank", "no subclass of convrag.Rewriter"),
        ("rewriter", "fails:Half", r"fails:Half cannot be imported \(ModuleNotFoundError"),
        ("rewriter", "nowhere:Half", r"nowhere:Half cannot be imported \(ModuleNotFoundError"),
        ("rewriter", "stages:Nothing", r"cannot be imported \(AttributeError: .* 'Nothing'"),
    ],
)
def test_a_class_that_cannot_be_an_option_is_an_error_when_it_is_used(
    stages: str, group: str, path: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    package = stages.partition(".")[0]
    option = registered((group, "odd", f"{package}.{path}")).get(group, "odd")
    assert not caplog.records
    with pytest.raises(PluginError, match=message) as caught:
        _ = option.cls
    assert caught.value.plugin == "toy_path"


@pytest.mark.parametrize("by_path", [True, False])
def test_a_variant_has_defaults_of_its_own(stages: str, by_path: bool) -> None:
    target: Any = f"{stages}:Rank" if by_path else __import__(stages, fromlist=["Rank"]).Rank
    option = registered(("ranker", "big", target), model="large", embedder=use("minilm")).get(
        "reranker", "big"
    )
    assert option.help == "Rank somehow. (model=large, embedder=minilm)"
    assert option.values({}, "reranker") == {"model": "large", "n": 3}
    assert option.values({"model": "tiny"}, "reranker")["model"] == "tiny"
    assert option.parameters["embedder"].default == Use("minilm")
    schema = OmegaConf.structured(option.schema)
    assert (schema.model, schema.defaults) == (
        "large",
        ["_self_", {"/embedder@embedder": "minilm"}],
    )


@pytest.mark.parametrize(
    ("defaults", "message"),
    [
        ({"modle": "x"}, "parameter 'modle' does not exist. Did you mean 'model'"),
        ({"n": "many"}, "n="),
        ({"embedder": "minilm"}, r'written use\("..."\)'),
    ],
)
def test_defaults_that_cannot_be_name_the_plugin(
    stages: str, defaults: dict[str, Any], message: str
) -> None:
    option = registered(("ranker", "odd", f"{stages}:Rank"), **defaults).get("ranker", "odd")
    with pytest.raises(PluginError, match=f"plugin 'toy_path' .* ranker=odd: .*{message}"):
        _ = option.parameters


def test_a_broken_path_does_not_take_a_name_that_is_there(stages: str) -> None:
    registry = registered(("ranker", "even", toys.EvenRanker), ("ranker", "even", "Nothing"))
    assert registry.get("ranker", "even").cls is toys.EvenRanker


def test_an_annotation_that_may_be_a_stage_is_looked_up(stages: str) -> None:
    package = stages.partition(".")[0]
    option = registered(("ranker", "alias", f"{package}.alias:Alias")).get("ranker", "alias")
    assert option.injected_groups() == {"embedder": "embedder"}


def test_help_of_what_cannot_be_imported_says_so(stages: str) -> None:
    package = stages.partition(".")[0]
    option = registered(("ranker", "gone", f"{package}.fails:Untold")).get("ranker", "gone")
    assert "cannot be imported (ModuleNotFoundError: No module named 'no_such_one'; " in option.help
    assert option.file == ""
    assert option.list_parameters() == []
