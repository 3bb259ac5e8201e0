"""Atomic writes: a reader sees the old file or the new one, and never a part of either."""

import subprocess
import sys
from pathlib import Path

import pytest

from convrag.store.files import open_atomically, write_atomically


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_and_nothing_stays_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_atomically(path, "first\n")
    write_atomically(path, "sécond\n")
    assert path.read_bytes() == "sécond\n".encode()
    assert names_in(tmp_path) == ["file.txt"]


def test_bytes(tmp_path: Path) -> None:
    with open_atomically(tmp_path / "file.bin", "wb") as file:
        file.write(b"\x00\r\n")
    assert (tmp_path / "file.bin").read_bytes() == b"\x00\r\n"


def test_the_file_appears_at_the_end_of_the_block(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("before")
    with open_atomically(path) as file:
        file.write("after")
        file.flush()
        assert path.read_text() == "before"
    assert path.read_text() == "after"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_fails_changes_nothing(error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("before")

    def fail() -> None:
        with open_atomically(path) as file:
            file.write("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "before"
    assert names_in(tmp_path) == ["file.txt"]


def test_a_missing_folder_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"folder/file\.txt'\Z"
    ):  # and not of a temporary name
        write_atomically(tmp_path / "folder" / "file.txt", "text")
    assert names_in(tmp_path) == []


def test_a_file_can_be_read_by_whom_the_umask_allows(tmp_path: Path) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("")
    write_atomically(tmp_path / "file.txt", "")
    assert (tmp_path / "file.txt").stat().st_mode == plain.stat().st_mode


WRITE_OFTEN = """
import sys
from pathlib import Path
from convrag.store.files import write_atomically

for _ in range(50):
    write_atomically(Path(sys.argv[1]), sys.argv[2] * 10_000)
"""


@pytest.mark.slow
def test_two_processes_may_write_one_path(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITE_OFTEN, str(path), letter]) for letter in "ab"
    ]
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            assert path.read_text() in ("a" * 10_000, "b" * 10_000)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert names_in(tmp_path) == ["file.txt"]
