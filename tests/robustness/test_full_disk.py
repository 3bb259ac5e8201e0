"""Disks that are full or read-only, and folders that go away: one message, and nothing
half-published.
"""

import errno
import io
import logging
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import run_convrag
from convrag import ConfigError, Run, Store, TurnRecord, hookimpl
from convrag.api.errors import RunStopped
from convrag.config.compose import compose
from convrag.run.runner import run_experiment
from convrag.store.database import StoreUnusable
from convrag.store.files import DiskError, describe_disk_error, write_atomically, writing
from convrag.turn.logs import LogFile
from small_disk import run_on_small_disk

FULL = "the disk is full. Make room there, or choose another folder: the same command goes on from what is kept."


def run_on_disk(folder: Path, *arguments: str, size: str = "600k") -> tuple[int, str, str]:
    """A command in whose folder `small` is a small disk: its status, what it said, and what is on
    that disk.
    """
    command = [sys.executable, "-m", "convrag", *arguments, "tracker=none"]
    done = run_on_small_disk(folder, command, size=size)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr, done.stdout


@pytest.mark.slow
def test_a_run_on_a_full_disk(tmp_path: Path) -> None:
    status, said, left = run_on_disk(tmp_path, "hydra.run.dir=small/run")
    assert status == 1
    (line,) = [line for line in said.splitlines() if "cannot be written" in line]
    assert line.startswith(f"convrag: {tmp_path}/small/run/.unfinished/")
    assert line.endswith(FULL)
    assert "unfinished" not in left
    assert "metrics.json" not in left
    again, _, _ = run_on_disk(tmp_path, "hydra.run.dir=small/run", size="6m")
    assert again == 0


@pytest.mark.slow
def test_a_store_that_fills_up_ends_the_run_and_keeps_its_turns(tmp_path: Path) -> None:
    status, _, said = run_on_disk(
        tmp_path, "store.path=small/store", "rewriter=dhrag", size="2600k"
    )
    assert status == 3
    assert "store.sqlite cannot be written: the disk is full." in said
    assert len(list(tmp_path.glob("outputs/*/*/metrics.json"))) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "arguments"),
    [
        ("24k", ["task=compare", "task.runs=[run]", "hydra.run.dir=small/compared"]),
        ("40k", ["task=evaluate", "task.records=run", "hydra.run.dir=small/evaluated"]),
        (
            "60k",
            ["task=record", "limit=1", "task.path=replies.jsonl", "hydra.run.dir=small/recorded"],
        ),
        ("4k", ["task=export", "task.records=run", "task.path=small/answers.jsonl"]),
        (
            "8k",
            [
                "task=new_plugin",
                "task.package=acme",
                "task.stage=rewriter",
                "task.path=small/convrag-acme",
            ],
        ),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else each,
)
def test_other_tasks_on_a_full_disk(size: str, arguments: list[str], tmp_path: Path) -> None:
    """One line names the file, and what could not be written whole is not there."""
    if arguments[0] not in ("task=new_plugin", "task=record"):
        run_convrag(["limit=1", "generator=direct", "tracker=none", "hydra.run.dir=run"], tmp_path)
    status, said, left = run_on_disk(tmp_path, *arguments, size=size)
    assert status in (1, 2)
    (line,) = [line for line in said.splitlines() if "cannot be written" in line]
    assert "small/" in line
    assert "full" in line or "No space" in line
    assert not any(
        word in left for word in ("unfinished", "metrics.json", "answers.jsonl", "convrag-acme")
    )


class Does:
    """Does something to the run's folder after its third turn."""

    def __init__(self, act: Callable[[Path], object]) -> None:
        self.act = act
        self.turns = 0

    @hookimpl
    def convrag_turn_finished(self, run: Run, record: TurnRecord) -> None:
        self.turns += 1
        if self.turns == 3:
            self.act(run.folder)


@pytest.mark.parametrize("left", ["", ".unfinished"])
def test_a_folder_that_is_removed_under_a_run(left: str, here: Path) -> None:
    """What was written before is lost, so the rest must not stand for the whole."""
    folder = here / "run"
    config = compose("limit=1", "generator=none", "tracker=none", "metrics=[]")
    remove = Does(lambda path: shutil.rmtree(path / left))
    with pytest.raises(DiskError, match=f"{folder} was removed while this run wrote there"):
        run_experiment(config, folder, remove)
    assert not list(folder.rglob("*.json*"))
    run_experiment(config, folder)
    assert (folder / "metrics.json").exists()


def test_no_folder_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    from convrag.run import records

    def none(**_: str) -> None:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(records, "TemporaryDirectory", none)
    with pytest.raises(
        DiskError, match=r"No usable temporary directory found in \['/tmp'\]. Name one in TMPDIR"
    ):
        records.TurnRecords(in_memory=0).add(None)  # type: ignore[arg-type]


def test_a_file_that_is_written_at_once_says_which_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "a.txt").write_text("before")
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left") as raised:
        write_atomically(tmp_path / "a.txt", "after")
    assert describe_disk_error(raised.value) == f"{tmp_path}/a.txt cannot be written: {FULL}"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "before"


def test_a_library_s_error_that_the_disk_led_to() -> None:
    error = ValueError("the archive is not closed")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    with (
        pytest.raises(DiskError, match=r"^the index cannot be written: the disk is full\."),
        writing("the index"),
    ):
        raise error


def test_other_errors_stay_as_they_are() -> None:
    assert describe_disk_error(KeyError("a")) == ""
    with pytest.raises(FileNotFoundError), writing("the index"):
        raise FileNotFoundError(errno.ENOENT, "No such file")
    known = ConfigError("choose another")
    known.__cause__ = PermissionError(errno.EACCES, "no")
    with pytest.raises(ConfigError, match="choose another"), writing("the index"):
        raise known


def test_a_full_store_stops_a_run(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.put("text", {"a": b"x"})
    ((pages,),) = store.entries._execute("PRAGMA page_count")
    store.entries._execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(
        StoreUnusable, match=r"store.sqlite cannot be written: the disk is full\."
    ) as raised:
        store.put("text", {"b": bytes(100_000)})
    assert isinstance(raised.value, RunStopped)
    assert store.get(["a", "b"]) == {"a": b"x"}


def test_a_line_of_the_log_that_does_not_fit_is_left_out_and_a_malformed_one_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    log = LogFile(tmp_path / "convrag.log", delay=True)
    log.stream = Full()  # type: ignore[assignment]
    log.handle(logging.makeLogRecord({"msg": "fine"}))
    assert capsys.readouterr().err == ""
    log.handle(logging.makeLogRecord({"msg": "%d turns", "args": ("three",)}))
    assert "Logging error" in capsys.readouterr().err


def test_sqlite_s_extended_codes() -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR | (3 << 8)
    assert describe_disk_error(error, "a.db").startswith(
        "a.db cannot be written: the disk reports an error."
    )
