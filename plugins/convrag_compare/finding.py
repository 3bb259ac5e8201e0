"""Finished runs by what a user calls them: a folder, a glob, a grid's folder, or the id of a run in MLflow."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from convrag import ConfigError
from convrag.api.stages import OPTION_KEY
from convrag_compare.factors import factors_of, settings
from convrag_compare.outcome import Outcome, choices_of, read_outcome

_MLFLOW_ID = re.compile(r"[0-9a-f]{32}")


def find(runs: Sequence[str], download: Path, tracking_uri: str) -> list[Outcome]:
    """Read the runs, in the order given.

    Args:
        runs: folders of runs or grids, globs of such folders, or MLflow ids (of a grid: all its runs).
        download: folder for what comes from MLflow.
        tracking_uri: MLflow's address.

    Raises:
        ConfigError: one is none of these, or holds no finished run.
        MissingExtra: MLflow is needed and not installed.
        DataError: a file of a run is broken.
    """
    folders = list(dict.fromkeys(folder for run in runs for folder in _folders(run, download, tracking_uri)))
    names = _names(folders)
    outcomes = [read_outcome(folder, name, _choices(folder)) for folder, name in zip(folders, names, strict=True)]
    return _told_apart(_completed(outcomes, folders))


def _folders(run: str, download: Path, tracking_uri: str) -> Iterator[Path]:
    path = Path(run).expanduser().absolute()
    matches = [path] if path.exists() else sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    found = [folder for match in matches for folder in _runs_in(match)]
    if found:
        yield from found
    elif not matches and _MLFLOW_ID.fullmatch(run):
        from convrag_compare.from_mlflow import fetch

        yield from fetch(run, download, tracking_uri)
    else:
        raise ConfigError(
            f"task.runs: {run!r} is no finished run. Give folders that hold a metrics.json, folders of grids, globs of "
            "such, or MLflow run ids: task.runs=[outputs/2025-01-31/12-00-00-abc,...]"
        )


def _runs_in(folder: Path) -> list[Path]:
    """The folder itself, or the finished cells of the grid that it holds, in the grid's order."""
    if (folder / "metrics.json").is_file():
        return [folder]
    try:
        cells = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))["cells"]
        inner = [folder / cell["id"] for cell in cells if not cell.get("same_as")]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [cell for cell in inner if (cell / "metrics.json").is_file()]


def _names(folders: Sequence[Path]) -> list[str]:
    """The last part of each path, and as many more as it takes to tell them all apart."""
    depth = 1
    while len({folder.parts[-depth:] for folder in folders}) < len(folders):
        depth += 1
    return ["/".join(folder.parts[-depth:]) for folder in folders]


def _choices(folder: Path) -> dict[str, str]:
    path = folder / ".hydra" / "overrides.yaml"
    return choices_of(list(OmegaConf.load(path))) if path.exists() else {}


def _completed(outcomes: list[Outcome], folders: Sequence[Path]) -> list[Outcome]:
    """What one run chose and another one left at its default is told of that one too, from its configuration."""
    keys = dict.fromkeys(key for outcome in outcomes for key in outcome.choices)
    result = []
    for outcome, folder in zip(outcomes, folders, strict=True):
        if all(key in outcome.choices for key in keys):
            result.append(outcome)
            continue
        config = _load(folder / ".hydra" / "config.yaml")
        chosen = _load(folder / ".hydra" / "hydra.yaml").get("hydra", {}).get("runtime", {}).get("choices", {})
        found = {key: outcome.choices.get(key) or _configured(config, chosen, key) for key in keys}
        result.append(replace(outcome, choices={key: value for key, value in found.items() if value}))
    return result


def _told_apart(outcomes: list[Outcome]) -> list[Outcome]:
    """Runs that chose the same get their names for a factor."""
    factors = factors_of(outcomes)
    if len({settings(outcome, factors) for outcome in outcomes}) == len(outcomes):
        return outcomes
    return [replace(outcome, choices={"run": outcome.name, **outcome.choices}) for outcome in outcomes]


def _load(path: Path) -> Mapping[str, Any]:
    loaded = OmegaConf.to_container(OmegaConf.load(path), resolve=False) if path.exists() else {}
    return {str(key): value for key, value in loaded.items()} if isinstance(loaded, dict) else {}


def _configured(config: Mapping[str, Any], chosen: Mapping[str, Any], key: str) -> str:
    """The value at a dotted key; of a stage, the name of the option."""
    if isinstance(chosen.get(key), str):
        return str(chosen[key])
    value: Any = config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, Mapping):
        value = value.get(OPTION_KEY)
    return "" if value is None else str(value)
