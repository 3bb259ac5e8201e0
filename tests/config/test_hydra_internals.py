"""Hydra's private parts, what breaks without each, and what a host's Hydra hears of us: nothing."""

import argparse
import pickle
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import hydra
import pytest
from hydra import compose as hydra_compose, initialize, version
from hydra._internal import utils as hydra_utils
from hydra._internal.utils import get_args_parser
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobRuntime, JobStatus
from hydra.types import HydraContext, RunMode
from omegaconf import OmegaConf

from convrag.config.command import Command
from convrag.config.compose import CONFIG_MODULE, CONFIG_NAME, compose, compose_from_command
from convrag.config.hydra import make_context, read_result, register_resolver, run_main
from convrag.config.loader import make_loader
from places import ROOT


def test_one_file_has_them_all() -> None:
    files = [*ROOT.glob("convrag/**/*.py"), *ROOT.glob("plugins/**/*.py")]
    private = re.compile(r"hydra\._internal|_UNSPECIFIED_|\._return_value")
    found = [
        file.relative_to(ROOT).as_posix() for file in files if private.search(file.read_text())
    ]
    assert found == ["convrag/config/hydra.py"]


def test_without_its_callbacks_hydra_runs_no_job() -> None:
    with pytest.raises(TypeError, match="callbacks"):
        HydraContext(config_loader=None)  # type: ignore[call-arg, arg-type]
    context = make_context(make_loader(), compose_full())
    assert context.callbacks is not None


def test_the_public_result_of_a_failed_job_writes_before_it_raises(
    capsys: pytest.CaptureFixture[str],
) -> None:
    job = JobReturn(overrides=["top_k=3"], status=JobStatus.FAILED)
    job.return_value = ValueError("too much")
    assert str(read_result(job)) == "too much"
    assert capsys.readouterr().err == ""
    with pytest.raises(ValueError, match="too much"):
        _ = job.return_value
    assert "Error executing job" in capsys.readouterr().err


def test_the_result_of_a_job_that_ended_is_its_value() -> None:
    job = JobReturn(status=JobStatus.COMPLETED)
    job.return_value = 0.5
    assert read_result(job) == 0.5


def test_a_process_without_an_application_composes_as_1_3_does() -> None:
    """Hydra 1.4 has no other behaviour."""
    make_loader()
    assert str(version.getbase()) in ("1.3", "1.4")


def test_resolvers_are_registered_under_the_name_of_the_version() -> None:
    register_resolver("convrag_test.twice", lambda value: 2 * value)
    assert OmegaConf.create({"x": "${convrag_test.twice:4}"}).x == 8


def check_help(self: Any, action: argparse.Action) -> None:
    """Check as Python 3.14 does when an option is added."""
    if action.help is not None and not isinstance(action.help, str):
        raise ValueError("badly formed help string")


@pytest.mark.skipif(
    not hydra.__version__.startswith("1.3"), reason="Hydra 1.4 makes its parser on Python 3.14"
)
def test_hydra_makes_its_parser_on_python_3_14(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hydra 1.3 gives --shell-completion a help that is not a text, which 3.14 refuses."""
    add = argparse.ArgumentParser.add_argument

    def add_and_check(self: Any, *names: Any, **options: Any) -> argparse.Action:
        action = add(self, *names, **options)
        self._check_help(action)
        return action

    made = []

    def make_parser(**place: Any) -> Any:
        """Stand in for `hydra.main`, which makes the parser first."""
        return lambda task: lambda: made.append(get_args_parser())

    monkeypatch.setattr(argparse._ActionsContainer, "_check_help", check_help, raising=False)
    monkeypatch.setattr(argparse.ArgumentParser, "add_argument", add_and_check)
    monkeypatch.setattr(hydra, "main", make_parser)
    with pytest.raises(ValueError, match="badly formed"):
        get_args_parser()
    run_main(lambda config: None, CONFIG_MODULE, CONFIG_NAME)
    assert made[0].parse_args(["--cfg", "job"]).cfg == "job"
    assert hydra_utils.argparse is argparse


@pytest.fixture
def host() -> Iterator[Any]:
    """A host's application of Hydra, in its midst, whose configurations are named like ours."""
    make_loader()  # our source of options is known to Hydra once in a process
    before = dict(Singleton._instances)
    for cls in (ConfigStore, GlobalHydra, HydraConfig, JobRuntime, version.VersionBase):
        Singleton._instances.pop(cls, None)
    store = ConfigStore.instance()
    store.repo = {
        name: node
        for name, node in before[ConfigStore].repo.items()
        if name[:5] in ("hydra", "_dumm")
    }
    store.store(
        name="config",
        node={"settings": {"colour": "red"}, "llm": "mine", "hydra": {"job": {"name": "its"}}},
    )
    store.store(name="settings", node={"colour": "blue"})
    store.store(group="llm", name="claude", node={"of": "the host"})
    own = {"version_base": "1.2"} if hydra.__version__.startswith("1.3") else {}
    with initialize(config_path=None, job_name="its", **own):
        config = hydra_compose("config", ["+x=1"], return_hydra_config=True)
        HydraConfig.instance().set_config(config)
        yield SimpleNamespace(store=store, config=config)
    Singleton._instances.clear()
    Singleton._instances.update(before)


def state() -> Any:
    """What an application can see of Hydra."""
    store = ConfigStore.instance()
    names = {
        group: sorted(nodes)
        for group, nodes in store.repo.items()
        if isinstance(nodes, dict) and group != "hydra"
    }
    return (
        names,
        sorted(store.repo),
        GlobalHydra.instance().hydra,
        version.getbase(),
        JobRuntime().get("name"),
    )


def test_nothing_of_a_hosts_hydra_changes_when_convrag_composes(host: Any) -> None:
    before = state()
    config = compose("llm=claude", "top_k=3")
    assert (config.llm._option_, config.top_k, "of" in config.llm) == ("litellm", 3, False)
    assert compose_from_command("top_k=4")[0].top_k == 4, (
        "what the host was told is no override of ours"
    )
    assert Command.read() == Command()
    assert state() == before
    assert host.store.load("settings.yaml").node == {"colour": "blue"}
    assert deepcopy(host.store) is not host.store
    assert hydra_compose("config", ["+llm@y=claude"]).y == {"of": "the host"}


def test_threads_compose_beside_a_host(host: Any) -> None:
    def work(n: int) -> tuple[int, Any]:
        return compose(f"top_k={n}").top_k, hydra_compose("config").settings.colour

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(1, 9))) == [(n, "red") for n in range(1, 9)]


def test_a_search_path_of_the_users_keeps_the_options() -> None:
    assert compose("hydra.searchpath=[pkg://hydra.conf]").top_k, "Hydra makes new sources for this"


def test_the_options_are_in_no_store_of_the_process() -> None:
    compose("llm=claude")
    assert not {"llm", "rewriter", "settings.yaml"} & set(ConfigStore.instance().repo)


def test_a_loader_comes_whole_to_another_process() -> None:
    twin = pickle.loads(pickle.dumps(make_loader()))
    config = twin.load_configuration("config", ["rewriter=last_n"], run_mode=RunMode.RUN)
    assert OmegaConf.select(config, "rewriter._option_") == "last_n"


def compose_full() -> Any:
    """The configuration of a run, with Hydra's part in it."""
    return make_loader().load_configuration("config", [], RunMode.RUN)
