"""What a run holds in MLflow: parameters, metrics and tags as plain names and values."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from convrag import RunSummary, Sweep, Usage
from convrag.api.stages import GROUPS

_FORBIDDEN = re.compile(r"[^\w\-. :/]")
_LIBRARIES = ("convrag", "bm25s", "hydra-core", "litellm", "mlflow", "numpy", "scikit-learn", "torch", "transformers")


def parameters_of(config: Mapping[str, Any]) -> dict[str, str]:
    """The configuration flattened: `rewriter` is the option's name, `rewriter.alpha` a parameter."""
    return {name.removesuffix("._option_"): str(value) for name, value in _flat(config)}


def metrics_of(summary: RunSummary) -> list[tuple[str, float, int]]:
    """(name, value, step): scores overall and per domain, the mean per turn position as steps, times and counts."""
    found = [(name, value, 0) for name, value in summary.overall.items()]
    for domain, scores in summary.domains.items():
        found += [(f"{domain}/{name}", value, 0) for name, value in scores.items()]
    for position, part in summary.slices.get("turn", {}).items():
        found += [(f"by_turn/{name}", value, int(position)) for name, value in part.scores.items()]
    found += [(f"seconds/{stage}", value, 0) for stage, value in summary.timings.items()]
    for stage, usage in {**summary.usage, "all": sum(summary.usage.values(), Usage())}.items():
        found += [(f"usage/{stage}/{name}", float(value), 0) for name, value in asdict(usage).items()]
    counts = {"turns": summary.turns, "failed": summary.failed, "seconds/run": summary.seconds}
    counts |= {f"fallbacks/{stage}": count for stage, count in summary.fallbacks.items()}
    found += [(name, float(value), 0) for name, value in counts.items()]
    return [(_FORBIDDEN.sub("_at_", name), value, step) for name, value, step in found]


def factors_of(sweep: Sweep) -> dict[str, str]:
    """What a grid varies: factor -> its levels."""
    levels: dict[str, dict[str, None]] = {}
    for override in (each for cell in sweep.cells for each in cell.overrides):
        key, _, value = override.lstrip("+").partition("=")
        levels.setdefault(key, {})[value] = None
    return {key: ", ".join(found) for key, found in levels.items() if len(found) > 1}


def short(name: str) -> str:
    """A cell's name for a narrow column: of a stage only what was chosen (`mmr bm25 top_k=5`)."""
    pairs = (override.partition("=") for override in name.split(" ") if override)
    return " ".join(value if key in GROUPS else f"{key}={value}" for key, _, value in pairs)


@cache
def _origin() -> tuple[tuple[str, str], ...]:
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


def origin() -> dict[str, str]:
    """Tags that say which code ran: versions of libraries, and the commit where convrag runs from a checkout."""
    return dict(_origin())


def clipped(text: str, length: int) -> str:
    """At most so many characters; what is cut off is marked. The whole configuration is an artifact."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        name = f"{prefix}{key}"
        if isinstance(inner, Mapping):
            yield from _flat(inner, f"{name}.")
        else:
            yield name, inner
