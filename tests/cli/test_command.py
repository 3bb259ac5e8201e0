"""The command as a user types it."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import StartedCommand, convrag, drop_progress, run_convrag, run_folders

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def main_job(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A run and its folder. Python itself starts it, so that its hashes differ from those of the
    runs after it.
    """
    folder = tmp_path_factory.mktemp("main")
    command = [sys.executable, "-m", "convrag", "tracker=none"]
    return folder, subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


def test_the_main_job_writes_its_files(
    main_job: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, done = main_job
    assert done.returncode == 0, done.stderr
    assert drop_progress(done.stderr) == ""
    (run,) = run_folders(folder)
    rewrites = (run / "datasets/default.jsonl").read_text(encoding="utf-8").splitlines()
    records = [
        json.loads(line)
        for line in (run / "intermediate/default.jsonl").read_text("utf-8").splitlines()
    ]
    assert len(rewrites) == len(records) == 49
    assert json.loads(rewrites[0])["text"].startswith("|user|: ")
    assert all(record["agent_response"] and not record["error"] for record in records)
    assert any(record["citations"] for record in records)
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["scored"]["overall"] == 49
    assert 0 < metrics["overall"]["nDCG@5"] <= 1
    assert "nDCG@5" in (run / "summary.md").read_text()
    assert "nDCG@5" in done.stdout
    assert all(len(line.split()) == 6 for line in (run / "run.trec").read_text().splitlines())
    assert not (run / ".unfinished").exists()


def test_the_same_again_is_reused_and_equal(
    main_job: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, _ = main_job
    again = convrag("workers=1", folder=folder)
    assert again.returncode == 0, again.stderr
    first, second = run_folders(folder)[:2]
    for name in ("datasets/default.jsonl", "run.trec"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    assert "calls: 0 made" in again.stdout


def test_the_scores_of_the_run_file_are_those_of_the_run(
    main_job: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    folder, _ = main_job
    run = run_folders(folder)[0]
    replayed = convrag(
        "retriever=run",
        f"retriever.path={run / 'run.trec'}",
        "generator=none",
        "rewriter=none",
        folder=tmp_path,
    )
    assert replayed.returncode == 0, replayed.stderr
    ours, theirs = (
        json.loads((f / "metrics.json").read_text())["overall"]
        for f in (run, run_folders(tmp_path)[0])
    )
    assert {name: ours[name] for name in theirs} == pytest.approx(theirs)


def test_help_lists_what_there_is(tmp_path: Path) -> None:
    done = run_convrag(["--help"], tmp_path)
    assert done.returncode == 0, done.stderr
    for word in (
        "full_history",
        "bm25",
        "extractive",
        "top_k=10",
        "minilm",
        "passages to retrieve per turn",
    ):
        assert word in done.stdout
    assert not (tmp_path / "outputs").exists()


def test_runs_that_start_together_keep_apart(tmp_path: Path) -> None:
    command = ["limit=1", "generator=none", "tracker=none"]
    running = [StartedCommand(command, tmp_path, stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [process.wait(timeout=300) for process in running] == [0, 0, 0]
    assert len(run_folders(tmp_path)) == 3


def test_a_killed_run_leaves_nothing_half_written(tmp_path: Path) -> None:
    turns = [{"question": f"what is kettle {n}?", "answer": "it"} for n in range(400)]
    (tmp_path / "t.jsonl").write_text(
        "".join(json.dumps({"id": f"c{c}", "turns": turns}) + "\n" for c in range(30))
    )
    (tmp_path / "c.jsonl").write_text('{"_id": "1", "text": "A kettle boils water."}\n')
    files = ["dataset=jsonl", "dataset.corpus=c.jsonl", "dataset.conversations=t.jsonl"]
    stages = ["rewriter=none", "generator=none", "tracker=none"]
    process = StartedCommand(
        [*files, *stages], tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("outputs/2*/*/.unfinished/run.trec")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.kill()
    process.wait(timeout=120)
    (run,) = run_folders(tmp_path)
    assert not (run / "metrics.json").exists()
    assert not (run / "datasets").exists()
