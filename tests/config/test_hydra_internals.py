"""The two of Hydra's internals that remain, what breaks without each, and what a host's Hydra hears
of us: nothing.
"""

import pickle
import re
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import pytest
from hydra import compose as hydra_compose, initialize, version
from hydra._internal.core_plugins.structured_config_source import StructuredConfigSource
from hydra._internal.utils import get_args_parser
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.core.utils import JobRuntime
from hydra.types import HydraContext
from omegaconf import OmegaConf

from convrag.api.errors import ConfigError
from convrag.config.command import Command
from convrag.config.compose import compose, compose_from_command
from convrag.config.loader import make_loader
from places import ROOT


def test_there_are_two() -> None:
    files = [*ROOT.glob("convrag/**/*.py"), *ROOT.glob("plugins/**/*.py")]
    imports = [
        f"{file.name}: {line}"
        for file in files
        for line in re.findall(r"hydra\._internal\S*", file.read_text())
    ]
    assert sorted(imports) == [
        "launch.py: hydra._internal.callbacks",
        "loader.py: hydra._internal.config_loader_impl",
    ]


def test_without_its_callbacks_hydra_runs_no_job() -> None:
    with pytest.raises(TypeError, match="callbacks"):
        HydraContext(config_loader=None)  # type: ignore[call-arg, arg-type]


def test_what_stands_in_the_way_of_python_3_14_and_hydra_1_4() -> None:
    """Fails when one of the two is gone: CONTRIBUTING.md, "Newer Pythons and Hydras", says what to
    do then.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11,<3.14"
    assert "hydra-core>=1.3.2,<1.4" in project["dependencies"]
    # 3.14's argparse reads the help of each option when it is added, and this one of Hydra 1.3 is
    # no text.
    odd = [
        action.option_strings
        for action in get_args_parser()._actions
        if not isinstance(action.help, str | None)
    ]
    assert odd == [["--shell-completion", "-sc"]]
    # Hydra 1.4.0rc3 asks no store for options (OwnLoader.take_store gives it ours): "tracker 'auto'
    # does not exist".
    assert "store" in vars(StructuredConfigSource("schema", "structured://"))


@pytest.fixture
def host() -> Iterator[Any]:
    """A host's application of Hydra, in its midst, whose configurations are named like ours."""
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
    with initialize(version_base="1.2", config_path=None, job_name="its"):
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


def test_without_our_store_hydras_loader_finds_no_option(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compose("hydra.searchpath=[pkg://hydra.conf]").top_k, "Hydra makes new sources for this"
    monkeypatch.setattr("convrag.config.loader.OwnLoader.take_store", lambda self, repository: None)
    with pytest.raises(ConfigError, match="does not exist"):
        compose()


def test_a_loader_comes_whole_to_another_process() -> None:
    loader = make_loader()
    twin = pickle.loads(pickle.dumps(loader))
    config = twin.load_configuration("config", ["rewriter=last_n"], run_mode=None)
    assert OmegaConf.select(config, "rewriter._option_") == "last_n"
    assert twin.store is loader.store
    assert deepcopy(loader.store) is loader.store, (
        "seconds, where it is copied for each list of defaults"
    )
