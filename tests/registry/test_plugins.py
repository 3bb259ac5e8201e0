import logging
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import toys
from convrag.api.errors import PluginError, UnknownName
from convrag.api.hookspecs import hookimpl
from convrag.registry.plugins import GROUP, Plugins
from written_modules import make_modules


def test_options_are_found_by_group_and_name() -> None:
    loaded = Plugins(
        [toys.plugin("toy_good", convrag_register=toys.registering(("llm", "echo", toys.EchoLLM)))]
    )
    option = loaded.registry.get("llm", "echo")
    assert option.cls is toys.EchoLLM
    assert option.help == "Says its prompt back, and counts how often it was asked."
    assert list(loaded.registry.options("llm")) == ["echo"]
    assert loaded.registry.failures == []


def test_rerankers_are_the_rankers() -> None:
    even = toys.registering(("ranker", "even", toys.EvenRanker))
    registry = Plugins([toys.plugin("toy_even", convrag_register=even)]).registry
    assert registry.get("reranker", "even") is registry.get("ranker", "even")


@pytest.mark.parametrize(
    "raised", [ImportError("no torch"), SystemExit(3), ValueError("at import")]
)
def test_a_broken_plugin_costs_one_warning(
    raised: BaseException, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = metadata.EntryPoint("broken", "broken", GROUP)

    def load(self: metadata.EntryPoint) -> Any:
        if self.name == "broken":
            raise raised
        return __import__(self.value)

    monkeypatch.setattr(metadata.EntryPoint, "load", load)
    good = toys.plugin("toy_good", convrag_register=toys.registering(("llm", "echo", toys.EchoLLM)))
    with caplog.at_level(logging.WARNING):
        loaded = Plugins([broken, good])
    assert len(caplog.records) == 1
    assert "broken" in caplog.text
    assert loaded.registry.get("llm", "echo")
    with pytest.raises(UnknownName) as caught:
        loaded.registry.get("llm", "other")
    assert "plugin 'broken'" in str(caught.value)
    assert str(raised) in str(caught.value)


def test_two_claims_to_a_name_are_an_error_only_for_that_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hook = toys.registering(("llm", "echo", toys.EchoLLM))
    second = toys.registering(
        ("llm", "echo", toys.EchoLLM), ("embedder", "letters", toys.LetterEmbedder)
    )
    loaded = Plugins(
        [
            toys.plugin("a_first", convrag_register=hook),
            toys.plugin("b_second", convrag_register=second),
        ]
    )
    assert "claimed by two" in caplog.text
    with pytest.raises(PluginError, match="llm=echo is claimed by two distributions"):
        loaded.registry.get("llm", "echo")
    assert loaded.registry.get("embedder", "letters")


def test_a_misspelt_hook_is_pointed_out(caplog: pytest.LogCaptureFixture) -> None:
    @hookimpl
    def convrag_regster(register: Any) -> None: ...

    Plugins([toys.plugin("toy_misspelt", convrag_regster=convrag_regster)])
    assert "hook 'convrag_regster' does not exist. Did you mean 'convrag_register'?" in caplog.text
    assert "test_plugins.py, line " in caplog.text


def naming(packages: Any) -> Any:
    @hookimpl
    def convrag_config_packages() -> Any:
        return packages

    return convrag_config_packages


@pytest.mark.parametrize(
    ("group", "name", "cls", "message"),
    [
        ("rewritter", "x", toys.ShoutingRewriter, "there is no such group"),
        ("rewriter", "x y", toys.ShoutingRewriter, "a name has letters"),
        ("rewriter", "x", toys.EchoLLM, "no subclass of convrag.Rewriter"),
        ("rewriter", "x", toys.EchoLLM(), "no subclass of convrag.Rewriter"),
        ("rewriter", "x", toys.Rewriter, "lacks the method rewrite"),
        ("reranker", "x", toys.EvenRanker, "there is no such group; choose from "),
    ],
)
def test_what_cannot_be_registered_says_why(
    group: str, name: str, cls: Any, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    loaded = Plugins(
        [toys.plugin("toy_wrong", convrag_register=toys.registering((group, name, cls)))]
    )
    assert message in str(loaded.registry.failures[0])
    assert len(caplog.records) == 1


def test_a_plugin_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONVRAG_DISABLE_PLUGINS", "toy_good, ")
    hook = toys.registering(("llm", "echo", toys.EchoLLM))
    loaded = Plugins([toys.plugin("toy_good", convrag_register=hook)])
    assert not loaded.registry.options("llm")
    assert not loaded.registry.failures


def test_a_plugin_to_disable_that_is_not_there_is_pointed_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CONVRAG_DISABLE_PLUGINS", "toy_god,toy_other")
    hook = toys.registering(("llm", "echo", toys.EchoLLM))
    other = toys.plugin(
        "toy_other", convrag_register=toys.registering(("llm", "other", toys.EchoLLM))
    )
    loaded = Plugins([toys.plugin("toy_good", convrag_register=hook), other])
    assert list(loaded.registry.options("llm")) == ["echo"]
    (said,) = caplog.messages
    assert said.startswith(
        "CONVRAG_DISABLE_PLUGINS: plugin 'toy_god' does not exist. Did you mean 'toy_good'?"
    )


def test_a_plugin_s_logger_keeps_its_level() -> None:
    """It may be a large library's, which a program uses for other things as well."""
    hook = toys.registering(("llm", "echo", toys.EchoLLM))
    loaded = Plugins([toys.plugin("toy_host", convrag_register=hook)])
    assert loaded.list_packages() == ["toy_host"]
    assert logging.getLogger("toy_host").level == logging.NOTSET


def test_yaml_packages_are_collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_modules(tmp_path, monkeypatch, {"acme_a/__init__.py": "", "acme_a/conf/__init__.py": ""})
    loaded = Plugins([toys.plugin("toy_yaml", convrag_config_packages=naming(["acme_a.conf"]))])
    assert list(loaded.config_packages) == ["acme_a.conf"]
    assert "acme_a.conf" not in sys.modules


@pytest.mark.parametrize(
    ("packages", "message"),
    [
        (3, "named 3, which is no package"),
        (["acme_nowhere.conf"], "named 'acme_nowhere.conf', which is no package"),
        (["no package"], "which is no package"),
        (["toys"], "named 'toys', which is no package"),
    ],
)
def test_packages_that_are_none_are_one_message(
    packages: Any, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    loaded = Plugins([toys.plugin("toy_nonsense", convrag_config_packages=naming(packages))])
    (failure,) = loaded.registry.failures
    assert re.search(message, str(failure))
    assert "convrag_config_packages of plugin 'toy_nonsense'" in str(failure)
    assert len(caplog.records) == 1
    assert not loaded.config_packages


@pytest.mark.parametrize("marks", [{}, {"wrapper": True}])
def test_what_pluggy_refuses_costs_one_warning(
    marks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    @hookimpl(**marks)
    def convrag_run_finished(run: Any, sumary: Any) -> None: ...

    good = toys.plugin("toy_good", convrag_register=toys.registering(("llm", "echo", toys.EchoLLM)))
    loaded = Plugins([toys.plugin("toy_careless", convrag_run_finished=convrag_run_finished), good])
    (failure,) = loaded.registry.failures
    assert (
        "plugin 'toy_careless' of an unknown distribution could not be loaded (PluginValidat"
        in str(failure)
    )
    assert "hook 'convrag_run_finished' hookimpl definition: convrag_run_finished(run: " in str(
        failure
    )
    assert len(caplog.records) == 1
    assert loaded.registry.get("llm", "echo")


def test_a_hook_may_have_a_name_of_its_own() -> None:
    @hookimpl(specname="convrag_register")
    def offer(register: Any) -> None:
        register("llm", "echo", toys.EchoLLM)

    assert Plugins([toys.plugin("toy_specname", offer=offer)]).registry.get("llm", "echo")


def test_a_plugin_that_fails_while_it_registers_costs_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @hookimpl
    def convrag_register(register: Any) -> None:
        raise KeyError("oh")

    good = toys.plugin("z_good", convrag_register=toys.registering(("llm", "echo", toys.EchoLLM)))
    loaded = Plugins([toys.plugin("a_bad", convrag_register=convrag_register), good])
    assert "plugin 'a_bad'" in caplog.text
    assert len(caplog.records) == 1
    assert loaded.registry.get("llm", "echo")


def test_one_module_is_one_plugin(caplog: pytest.LogCaptureFixture) -> None:
    hook = toys.registering(("llm", "echo", toys.EchoLLM))
    first = toys.plugin("a_twice", convrag_register=hook)
    loaded = Plugins([first, metadata.EntryPoint("b_twice", "a_twice", GROUP)])
    assert "already registered under a different name" in caplog.text
    assert loaded.registry.get("llm", "echo")
