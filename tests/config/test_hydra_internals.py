"""The two of Hydra's internals that remain, and what breaks without each."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path
from time import process_time

import pytest
from hydra.core.config_store import ConfigStore
from hydra.types import HydraContext

from convrag.config.compose import configure

ROOT = Path(__file__).parents[2]


def test_there_are_two() -> None:
    files = [*ROOT.glob("convrag/**/*.py"), *ROOT.glob("plugins/**/*.py")]
    imports = [
        f"{file.name}: {line}" for file in files for line in re.findall(r"hydra\._internal\S*", file.read_text())
    ]
    assert imports == ["launch.py: hydra._internal.callbacks"]
    replaced = [file.name for file in files if re.search(r"ConfigStore\.\w+ = |\bHydra\.\w+ = ", file.read_text())]
    assert replaced == ["compose.py"]


def test_without_its_callbacks_hydra_runs_no_job() -> None:
    with pytest.raises(TypeError, match="callbacks"):
        HydraContext(config_loader=None)  # type: ignore[call-arg, arg-type]


def test_a_store_that_is_copied_for_each_group_takes_longer_than_all_else(monkeypatch: pytest.MonkeyPatch) -> None:
    configure()
    store = ConfigStore.instance()
    assert deepcopy(store) is store
    monkeypatch.delattr(ConfigStore, "__deepcopy__")
    began = process_time()
    twin = deepcopy(store)  # as Hydra does for each group that it looks at
    assert twin is not store
    assert process_time() - began > 0.005
