"""A run in MLflow as plain names and values: its name, parameters, metrics, tags and data set."""

import json
import re
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

_FORBIDDEN = re.compile(r"[^\w\-. :/]")
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
_UNTOLD = ("task", "dataset", "plugins")
"""Beginnings of overrides that a name leaves out, as it does overrides of operation; the data set
stands first.
"""

_LENGTH = 120


def name_run(folder: Path, config: Mapping[str, Any]) -> str:
    """What a run is called: a cell by its factors (`mmr bm25`), a single run by what was asked for.

    `python -m convrag rewriter=last_n rewriter.n=3` is `sample: rewriter=last_n rewriter.n=3`; a
    run without overrides is named by its stages, `sample: rewriter=none generator=ginger`.
    """
    if cell := find_cell_name(folder):
        return shorten_name(cell)
    data = _name_dataset(config)
    stages = [
        f"{group}={option}"
        for group in ("rewriter", "generator")
        if (option := get_option(config, group))
    ]
    overrides = [
        each
        for each in read_overrides(folder)
        if not each.lstrip("+~").startswith((*OPERATIONAL, *_UNTOLD))
    ]
    what = " ".join(overrides or stages)
    name = redact(": ".join(filter(None, (data, what)))) or folder.name
    return name if len(name) <= _LENGTH else f"{name[: _LENGTH - 3]}..."


def shorten_name(name: str) -> str:
    """A cell's name for a narrow column, without the groups of its options: `mmr bm25 top_k=5`."""
    pairs = (override.partition("=") for override in name.split(" ") if override)
    return " ".join(value if key in GROUPS else f"{key}={value}" for key, _, value in pairs)


def describe_dataset(
    config: Mapping[str, Any], fingerprint: str, counts: Mapping[str, int]
) -> dict[str, str]:
    """A run's data set as MLflow has it: name, digest, source and profile (texts); empty where the
    run has none.

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
    """The data set of a finished run, from its files, as `describe_dataset` gives it; empty where
    they do not say.
    """
    fingerprints = read_json(folder / MANIFEST).get("fingerprints", {})
    turns = read_json(folder / METRICS_FILE).get("turns", 0)
    return describe_dataset(
        read_hydra_config(folder), str(fingerprints.get("dataset", "")), {"turns": turns}
    )


def _name_dataset(config: Mapping[str, Any]) -> str:
    """`mtrag clapnq`: the option and its domain, where it has one."""
    settings = config.get("dataset")
    domain = settings.get("domain") if isinstance(settings, Mapping) else None
    return " ".join(
        filter(None, (get_option(config, "dataset"), domain if isinstance(domain, str) else ""))
    )


def flatten_config(config: Mapping[str, Any]) -> dict[str, str]:
    """A run's configuration as parameters: `rewriter` is the option's name, `rewriter.alpha` a
    parameter of it.
    """
    return {name.removesuffix("._option_"): str(value) for name, value in _flatten(config)}


def list_metrics(summary: RunSummary) -> list[tuple[str, float, int]]:
    """A run's metrics as (name, value, step): scores overall, per domain and per turn position (the
    step); times, usage and counts; no tokens where no language model was asked.
    """
    found = [(name, value, 0) for name, value in summary.overall.items()]
    for domain, scores in summary.domains.items():
        found += [(f"{domain}/{name}", value, 0) for name, value in scores.items()]
    for position, part in summary.slices.get("turn", {}).items():
        found += [(f"by_turn/{name}", value, int(position)) for name, value in part.scores.items()]
    found += [(f"seconds/{stage}", value, 0) for stage, value in summary.timings.items()]
    total = sum(summary.usage.values(), Usage())
    counted = [name for name in asdict(total) if total.tokens or not name.endswith("_tokens")]
    for stage, usage in {**summary.usage, "all": total}.items():
        found += [(f"usage/{stage}/{name}", float(getattr(usage, name)), 0) for name in counted]
    counts = {"turns": summary.turns, "failed": summary.failed, "seconds/run": summary.seconds}
    counts |= {
        "partial": summary.state == "partial",
        "always_fell_back": len(summary.always_fell_back),
    }
    counts |= {f"fallbacks/{stage}": count for stage, count in summary.fallbacks.items()}
    found += [(name, float(value), 0) for name, value in counts.items()]
    return [(_FORBIDDEN.sub("_at_", name), value, step) for name, value, step in found]


def find_factors(sweep: Sweep) -> dict[str, str]:
    """The factors that a grid varies -> their levels, as one text."""
    levels: dict[str, dict[str, None]] = {}
    for override in (each for cell in sweep.cells for each in cell.overrides):
        key, _, value = override.lstrip("+").partition("=")
        levels.setdefault(key, {})[value] = None
    return {key: ", ".join(found) for key, found in levels.items() if len(found) > 1}


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
    """Tags with the versions of libraries, and with the commit where convrag runs from a git
    checkout.
    """
    return dict(_read_versions())


def clip_text(text: str, length: int) -> str:
    """At most so many characters of a text, without control characters; an ellipsis ends one that
    is cut off.
    """
    text = make_printable(text)
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _flatten(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        name = f"{prefix}{key}"
        if isinstance(inner, Mapping):
            yield from _flatten(inner, f"{name}.")
        else:
            yield name, inner
