"""Reads what Hydra wrote into a run's folder, `.hydra/`, with references as they are: `${oc.env:KEY}` is no value."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from omegaconf import OmegaConf


def read_hydra_config(folder: Path) -> Mapping[str, Any]:
    """The configuration of a run; empty where there is none."""
    return _read_mapping(folder / ".hydra" / "config.yaml")


def read_overrides(folder: Path) -> list[str]:
    """The overrides of a run as they were typed, `rewriter=last_n`; empty where there are none."""
    overrides = _read(folder / ".hydra" / "overrides.yaml")
    return list(map(str, overrides)) if isinstance(overrides, list) else []


def read_choices(folder: Path) -> Mapping[str, str]:
    """Each config group of a run with the option that was chosen; empty where Hydra does not say."""
    return dict(_read_mapping(folder / ".hydra" / "hydra.yaml").get("hydra", {}).get("runtime", {}).get("choices", {}))


def _read_mapping(path: Path) -> dict[str, Any]:
    loaded = _read(path)
    return cast(dict[str, Any], loaded) if isinstance(loaded, dict) else {}


def _read(path: Path) -> Any:
    return OmegaConf.to_container(OmegaConf.load(path), resolve=False) if path.exists() else None
