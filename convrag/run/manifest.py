"""What the results of a finished run depend on: run.json, by which it is known when the same run is asked for again."""

from __future__ import annotations

import json

from convrag import __version__
from convrag.api.errors import DataError
from convrag.api.records import Run, RunSummary
from convrag.score.summary import read_summary
from convrag.store.fingerprint import digest
from convrag.store.source import hash_convrag

MANIFEST = "run.json"


def format_manifest(run: Run) -> str:
    """Format the run.json of a run."""
    return json.dumps({"identity": compute_identity(run), "fingerprints": run.fingerprints}, indent=2)


def read_finished_summary(run: Run) -> RunSummary | None:
    """Read the summary in the run's folder, if a run with the same stages and settings has finished there.

    A partial or failed run (see RunSummary.state) has not: run again, it asks only for what is missing. Nor has one
    whose files are damaged.
    """
    try:
        manifest = json.loads((run.folder / MANIFEST).read_text(encoding="utf-8"))
        summary = read_summary(run.folder / "metrics.json")
        whole = summary.state == "ok" and manifest["identity"] == compute_identity(run)
    except (OSError, ValueError, KeyError, TypeError, DataError):
        return None
    return summary if whole else None


def compute_identity(run: Run) -> str:
    """Compute a hash of all that the results of a run depend on: convrag, the stages and some of the settings."""
    settings = {name: run.config.get(name) for name in ("top_k", "top_n", "history", "limit")}
    return digest([__version__, hash_convrag(), run.fingerprints, settings])
