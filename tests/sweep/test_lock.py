"""A grid's folder has one writer."""

from __future__ import annotations

import errno
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from convrag.api.errors import ConvragError
from convrag.sweep.lock import LOCK_FILE, GridInUse, hold_cell, hold_grid

HOLD = """
import sys, time
from pathlib import Path
from convrag.sweep.lock import hold_grid
with hold_grid(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_second_holder_is_told_who_the_first_is(tmp_path: Path) -> None:
    with hold_grid(tmp_path / "grid"):
        with pytest.raises(GridInUse, match=f"process {os.getpid()} on .*, since 2.*: .*grid. Wait") as caught:
            hold_grid(tmp_path / "grid").__enter__()
        assert (caught.value.pid, caught.value.host) == (os.getpid(), platform.node())
        with hold_grid(tmp_path / "other"):
            pass
    with hold_grid(tmp_path / "grid"):
        pass
    assert issubclass(GridInUse, ConvragError)


def test_what_a_killed_process_held_is_free(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(GridInUse, match=f"process {holder.pid} on"):
            hold_grid(tmp_path).__enter__()
        holder.kill()
        holder.wait()
    with hold_grid(tmp_path):
        pass


def test_a_folder_that_its_holder_removes_is_held_anew(tmp_path: Path) -> None:
    with hold_grid(tmp_path):
        (tmp_path / LOCK_FILE).unlink()
        with hold_grid(tmp_path), pytest.raises(GridInUse):
            hold_grid(tmp_path).__enter__()


def test_a_file_system_without_locks_costs_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    monkeypatch.setattr("convrag.store.locks.KeyLocks._set_byte_lock", refuse)
    with hold_grid(tmp_path / "grid"), hold_cell(tmp_path / "grid/cell"):
        pass
    assert len(caplog.messages) == 2
    assert all("cannot be locked (No locks available)" in message for message in caplog.messages)
