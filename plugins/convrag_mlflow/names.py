"""What a single run is called in MLflow, and the data set that stands in MLflow's column of data sets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from convrag.sdk.groups import GROUPS, OPTION_KEY
from convrag.sdk.secrets import redact
from convrag.sdk.tasks.grids import METRICS_FILE, find_cell_name, read_json

_UNTOLD = ("task", "dataset", "plugins")
"""Beginnings of overrides that a name leaves out, besides those of operation; the data set stands before them."""

_LENGTH = 120


def name_run(folder: Path, config: Mapping[str, Any]) -> str:
    """What a run is called: a cell by its factors (`mmr bm25`), a single run by what was asked for.

    `python -m convrag rewriter=last_n rewriter.n=3` is `sample: rewriter=last_n rewriter.n=3`; a run without overrides
    is named by its stages, `sample: rewriter=none generator=ginger`.
    """
    if cell := find_cell_name(folder):
        return shorten_name(cell)
    data = _name_dataset(config)
    stages = [f"{group}={option}" for group in ("rewriter", "generator") if (option := _get_option(config, group))]
    what = " ".join(_read_telling_overrides(folder) or stages)
    name = redact(": ".join(filter(None, (data, what)))) or folder.name
    return name if len(name) <= _LENGTH else f"{name[: _LENGTH - 3]}..."


def shorten_name(name: str) -> str:
    """A cell's name for a narrow column, without the groups of its options: `mmr bm25 top_k=5`."""
    pairs = (override.partition("=") for override in name.split(" ") if override)
    return " ".join(value if key in GROUPS else f"{key}={value}" for key, _, value in pairs)


def describe_dataset(config: Mapping[str, Any], fingerprint: str, counts: Mapping[str, int]) -> dict[str, str]:
    """A run's data set as MLflow has it: name, digest, source and profile (texts); empty where the run has none.

    Args:
        config: of the run.
        fingerprint: of the data set: it changes when its files do.
        counts: of conversations or turns, by what is counted.
    """
    name = _name_dataset(config)
    if not name or not fingerprint:
        return {}
    source = {"uri": str(config["dataset"].get("path") or name), **config["dataset"]}
    return {
        "name": name,
        "digest": fingerprint[:12],  # MLflow takes 36 signs, and shows them
        "source": redact(json.dumps(source, default=str)),
        "profile": json.dumps(dict(counts)),
    }


def read_dataset(folder: Path) -> dict[str, str]:
    """The data set of a finished run, from its files, as `describe_dataset` gives it; empty where they do not say."""
    from convrag.sdk.tasks.runs import MANIFEST, read_hydra_config

    fingerprints = read_json(folder / MANIFEST).get("fingerprints", {})
    turns = read_json(folder / METRICS_FILE).get("turns", 0)
    return describe_dataset(read_hydra_config(folder), str(fingerprints.get("dataset", "")), {"turns": turns})


def _name_dataset(config: Mapping[str, Any]) -> str:
    """`mtrag clapnq`: the option and its domain, where it has one."""
    settings = config.get("dataset")
    domain = settings.get("domain") if isinstance(settings, Mapping) else None
    return " ".join(filter(None, (_get_option(config, "dataset"), domain if isinstance(domain, str) else "")))


def _get_option(config: Mapping[str, Any], group: str) -> str:
    settings = config.get(group)
    return str(settings.get(OPTION_KEY, "")) if isinstance(settings, Mapping) else ""


def _read_telling_overrides(folder: Path) -> list[str]:
    from convrag.sdk.tasks.grids import OPERATIONAL
    from convrag.sdk.tasks.runs import read_overrides

    return [each for each in read_overrides(folder) if not each.lstrip("+~").startswith((*OPERATIONAL, *_UNTOLD))]
