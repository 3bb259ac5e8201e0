"""Which finished runs stand for the same run asked for again."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from convrag.api.records import Run, RunSummary
from convrag.run.runner import MANIFEST, _compute_identity, read_finished_summary


@pytest.mark.parametrize(
    ("failed", "stopped", "fingerprint", "reused"),
    [
        (0, "", "a", True),
        (1, "", "a", False),  # the server may be healthy again
        (0, "the cost limit is reached", "a", False),
        (0, "", "b", False),
    ],
)
def test_only_a_whole_run_is_reused(failed: int, stopped: str, fingerprint: str, reused: bool, tmp_path: Path) -> None:
    run = Run(tmp_path, {"top_k": 3}, 1, 2, fingerprints={"rewriter": "a"})
    summary = RunSummary({"nDCG@5": 0.5}, {}, {"overall": 2}, 2, failed, {}, {}, {}, 1.0, stopped=stopped)
    (tmp_path / "metrics.json").write_text(json.dumps(asdict(summary)))
    (tmp_path / MANIFEST).write_text(json.dumps({"identity": _compute_identity(run)}))
    same = Run(tmp_path, {"top_k": 3}, 1, 2, fingerprints={"rewriter": fingerprint})
    assert (read_finished_summary(same) is not None) == reused
