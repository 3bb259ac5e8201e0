"""The configurations of cells: composed once in the process of the grid."""

import pickle
from typing import Any

from omegaconf import DictConfig, OmegaConf

from convrag.sweep.plan import ComposedCells

MASTER = OmegaConf.create()


class CountingLoader:
    """In place of Hydra's loader: notes what it composed."""

    def __init__(self) -> None:
        self.composed: list[list[str]] = []

    def load_sweep_config(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        self.composed.append(sweep_overrides)
        return OmegaConf.create({"overrides": sweep_overrides})


def make_loader() -> tuple[ComposedCells, CountingLoader]:
    inner: Any = CountingLoader()
    return ComposedCells(inner), inner


def test_a_kept_configuration_is_handed_out_once() -> None:
    loader, inner = make_loader()
    config = loader.load_sweep_config(MASTER, ["rewriter=mmr"])
    loader.keep(("rewriter=mmr",), config)
    assert loader.load_sweep_config(MASTER, ["rewriter=mmr"]) is config
    assert inner.composed == [["rewriter=mmr"]]
    assert loader.load_sweep_config(MASTER, ["rewriter=mmr"]) is not config  # the launcher has changed it


def test_another_process_composes_its_own() -> None:
    loader, _ = make_loader()
    loader.keep(("rewriter=mmr",), OmegaConf.create({"big": "configuration"}))
    assert b"configuration" not in pickle.dumps(loader)
    copied = pickle.loads(pickle.dumps(loader))
    assert copied.load_sweep_config(MASTER, ["rewriter=mmr"]) == {"overrides": ["rewriter=mmr"]}
