"""A run in MLflow as plain names and values: its name, parameters, metrics, tags and data set."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from convrag import RunSummary
from convrag.sdk.groups import GROUPS
from convrag.sdk.output.printable import make_printable
from convrag.sdk.output.spans import get_option
from convrag.sdk.secrets import redact
from convrag.sdk.tasks.grids import METRICS_FILE, OPERATIONAL, find_cell_name, read_json
from convrag.sdk.tasks.runs import MANIFEST, read_hydra_config, read_overrides
from convrag.sdk.types import Sweep, Usage
from convrag_mlflow.stage_options import list_options

_LIBRARIES = (
    "convrag",
    "hydra-core",
    "litellm",
    "mlflow-skinny",
    "numpy",
    "scikit-learn",
    "torch",
    "transformers",
)
_NOT_IN_NAMES = (*OPERATIONAL, "task", "dataset", "plugins")
"""Beginnings of overrides that a name leaves out; the data set comes first in it anyway."""

_NAME_LENGTH = 120

# The most that MLflow takes
_DATASET_NAME_LENGTH = 500
_DATASET_SOURCE_LENGTH = 16_000


def name_run(folder: Path, config: Mapping[str, Any]) -> str:
    """Return the name of a run: a cell's factors (`mmr bm25`), or a single run's overrides.

    `python -m convrag rewriter=last_n rewriter.n=3` is `sample: rewriter=last_n rewriter.n=3`; a
    run without overrides is named after its stages, `sample: rewriter=none generator=ginger`.
    """
    cell = find_cell_name(folder)
    if cell:
        return shorten_name(cell)
    choices = [
        each for each in read_overrides(folder) if not each.lstrip("+~").startswith(_NOT_IN_NAMES)
    ]
    if not choices:
        choices = list_options(config, ("rewriter", "generator"))
    parts = [_name_dataset(config), " ".join(choices)]
    name = redact(": ".join(part for part in parts if part)) or folder.name
    if len(name) > _NAME_LENGTH:
        return f"{name[: _NAME_LENGTH - 3]}..."
    return name


def shorten_name(name: str) -> str:
    """Shorten a cell's name by the groups of its options: `mmr bm25 top_k=5`."""
    pairs = (override.partition("=") for override in name.split(" ") if override)
    return " ".join(value if key in GROUPS else f"{key}={value}" for key, _, value in pairs)


def describe_dataset(
    config: Mapping[str, Any], fingerprint: str, counts: Mapping[str, int]
) -> dict[str, str]:
    """Describe a run's data set as MLflow does: name, digest, source and profile, as texts.

    Args:
        config: the configuration of the run.
        fingerprint: the fingerprint of the data set, which changes when its files do.
        counts: the numbers of conversations and turns, by name.

    Returns:
        An empty dictionary if the run has no data set.
    """
    name = _name_dataset(config)
    if not name or not fingerprint:
        return {}
    source = {"uri": str(config["dataset"].get("path") or name), **config["dataset"]}
    return {
        "name": clip_text(name, _DATASET_NAME_LENGTH),
        "digest": fingerprint[:12],  # MLflow takes 36 characters, and shows them
        "source": clip_text(redact(json.dumps(source, default=str)), _DATASET_SOURCE_LENGTH),
        "profile": json.dumps(dict(counts)),
    }


def read_dataset(folder: Path) -> dict[str, str]:
    """Describe the data set of a finished run, from its files; empty if they do not name it."""
    fingerprints = read_json(folder / MANIFEST).get("fingerprints", {})
    fingerprint = str(fingerprints.get("dataset", ""))
    turns = read_json(folder / METRICS_FILE).get("turns", 0)
    return describe_dataset(read_hydra_config(folder), fingerprint, {"turns": turns})


def _name_dataset(config: Mapping[str, Any]) -> str:
    """Name a data set by its option and, if it has one, its domain: `mtrag clapnq`."""
    option = get_option(config, "dataset")
    settings = config.get("dataset")
    domain = settings.get("domain") if isinstance(settings, Mapping) else None
    if option and domain and isinstance(domain, str):
        return f"{option} {domain}"
    return option


def flatten_config(config: Mapping[str, Any]) -> dict[str, str]:
    """Flatten a configuration: `rewriter` is the option's name, `rewriter.alpha` its parameter."""
    return {name.removesuffix("._option_"): str(value) for name, value in _flatten(config)}


def list_metrics(summary: RunSummary) -> list[tuple[str, float, int]]:
    """List a run's metrics as (name, value, step): scores, times, usage and counts.

    The step is the turn position for scores per position, else 0.
    """
    values: dict[str, float] = dict(summary.overall)
    for domain, scores in summary.domains.items():
        values |= {f"{domain}/{name}": value for name, value in scores.items()}
    values |= {f"seconds/{stage}": value for stage, value in summary.timings.items()}
    values |= _list_usage(summary)
    values |= {
        "turns": summary.turns,
        "failed": summary.failed,
        "seconds/run": summary.seconds,
        "partial": summary.state == "partial",
        "always_fell_back": len(summary.always_fell_back),
    }
    values |= {f"fallbacks/{stage}": count for stage, count in summary.fallbacks.items()}
    metrics = [(name, float(value), 0) for name, value in values.items()]
    for position, part in summary.slices.get("turn", {}).items():
        for name, value in part.scores.items():
            metrics.append((f"by_turn/{name}", value, int(position)))
    return metrics


def _list_usage(summary: RunSummary) -> dict[str, float]:
    """List the usage of each stage and of all; without tokens if no language model was asked."""
    total = sum(summary.usage.values(), Usage())
    counters = [name for name in asdict(total) if total.tokens or not name.endswith("_tokens")]
    values = {}
    for stage, usage in {**summary.usage, "all": total}.items():
        for name in counters:
            values[f"usage/{stage}/{name}"] = float(getattr(usage, name))
    return values


def find_factors(sweep: Sweep) -> dict[str, str]:
    """Return factor -> its levels, as one text, of the factors that a grid varies."""
    levels: dict[str, list[str]] = {}
    for cell in sweep.cells:
        for override in cell.overrides:
            factor, _, level = override.lstrip("+").partition("=")
            known = levels.setdefault(factor, [])
            if level not in known:
                known.append(level)
    return {factor: ", ".join(known) for factor, known in levels.items() if len(known) > 1}


@cache
def _read_versions() -> tuple[tuple[str, str], ...]:
    versions = {}
    for name in _LIBRARIES:
        try:
            versions[f"version.{name}"] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        versions["mlflow.source.git.commit"] = done.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        pass  # installed from a wheel: there is no commit to name
    return tuple(versions.items())


def version_tags() -> dict[str, str]:
    """Return tags with the versions of libraries, and the commit if convrag is a git checkout."""
    return dict(_read_versions())


def clip_text(text: str, length: int) -> str:
    """Cut a text to a length, with an ellipsis, and remove control characters."""
    text = make_printable(text)
    if len(text) <= length:
        return text
    return f"{text[: length - 1]}…"


def _flatten(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        name = f"{prefix}{key}"
        if isinstance(inner, Mapping):
            yield from _flatten(inner, f"{name}.")
        else:
            yield name, inner
