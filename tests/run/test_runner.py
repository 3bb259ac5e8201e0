"""Which finished runs stand for the same run asked for again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from convrag.api.records import Run, RunSummary
from convrag.run.runner import MANIFEST, _compute_identity, read_finished_summary
from convrag.store.manifest import describe_files


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


def finish(folder: Path) -> Run:
    """A finished run, as the runner leaves it."""
    run = Run(folder, {"top_k": 3}, 1, 2, fingerprints={"rewriter": "a"})
    summary = RunSummary({"nDCG@5": 0.5}, {}, {"overall": 2}, 2, 0, {}, {}, {}, 1.0)
    (folder / "intermediate").mkdir(parents=True)
    (folder / "intermediate" / "default.jsonl").write_text("{}\n" * 100)
    (folder / "metrics.json").write_text(json.dumps(asdict(summary)))
    manifest = {"identity": _compute_identity(run), "files": describe_files(folder)}
    (folder / MANIFEST).write_text(json.dumps(manifest))
    return run


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-40] ^= 1  # within the numbers: it is JSON all the same
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda folder: flip(folder / "metrics.json"), "metrics.json is damaged"),
        (lambda folder: (folder / "metrics.json").write_text("["), "metrics.json is damaged"),
        (lambda folder: (folder / "metrics.json").unlink(), "metrics.json is missing"),
        (lambda folder: flip(folder / "intermediate" / "default.jsonl"), "default.jsonl is damaged"),
        (lambda folder: (folder / MANIFEST).write_text("{"), "run.json is damaged"),
        (lambda folder: (folder / MANIFEST).write_text("[]"), "run.json is damaged"),
    ],
)
def test_a_run_whose_files_are_damaged_is_run_again(
    harm: Callable[[Path], object], words: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = finish(tmp_path)
    assert read_finished_summary(run) is not None
    assert not caplog.messages
    harm(tmp_path)
    assert read_finished_summary(run) is None
    (message,) = caplog.messages
    assert str(tmp_path) in message
    assert words in message
    assert message.endswith("this experiment is run again")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"usage": []}', '{"usage": {"llm": 3}}'])
def test_damaged_metrics_of_a_run_of_an_early_version_make_it_run_again(
    text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = finish(tmp_path)
    (tmp_path / MANIFEST).write_text(json.dumps({"identity": _compute_identity(run)}))
    assert read_finished_summary(run) is not None
    (tmp_path / "metrics.json").write_text(text)
    assert read_finished_summary(run) is None
    assert "these are no metrics of a run" in caplog.text
