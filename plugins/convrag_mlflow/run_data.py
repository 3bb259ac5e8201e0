"""The parameters, metrics and tags of a run in MLflow, as plain names and values."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from convrag import Run, RunSummary, Sweep, Usage
from convrag.sdk.printable import make_printable
from convrag_mlflow.names import describe_dataset, name_run

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


def describe_run(run: Run) -> dict[str, Any]:
    """What is logged of a run when it starts, as plain data: folder, name, tags, configuration, prompts and
    data set.
    """
    tags = {**version_tags(), "convrag.folder": str(run.folder)}
    tags |= {f"fingerprint.{place}": value for place, value in run.fingerprints.items()}
    described = {"folder": str(run.folder), "name": name_run(run.folder, run.config), "tags": tags}
    counts = {"conversations": run.conversations, "turns": run.turns}
    dataset = describe_dataset(run.config, run.fingerprints.get("dataset", ""), counts)
    return {**described, "config": dict(run.config), "prompts": dict(run.prompts), "dataset": dataset}


def flatten_config(config: Mapping[str, Any]) -> dict[str, str]:
    """A run's configuration as parameters: `rewriter` is the option's name, `rewriter.alpha` a parameter of it."""
    return {name.removesuffix("._option_"): str(value) for name, value in _flatten(config)}


def list_metrics(summary: RunSummary) -> list[tuple[str, float, int]]:
    """A run's metrics as (name, value, step): scores overall, per domain and per turn position (the step); times, usage
    and counts; no tokens where no language model was asked.
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
    counts |= {"partial": summary.state == "partial", "always_fell_back": len(summary.always_fell_back)}
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
    """Tags with the versions of libraries, and with the commit where convrag runs from a git checkout."""
    return dict(_read_versions())


def clip_text(text: str, length: int) -> str:
    """At most so many characters of a text, without control characters; an ellipsis ends one that is cut off."""
    text = make_printable(text)
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _flatten(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        name = f"{prefix}{key}"
        if isinstance(inner, Mapping):
            yield from _flatten(inner, f"{name}.")
        else:
            yield name, inner
