"""A built folder whose files are damaged or missing is built again, whoever reads it meanwhile."""

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from convrag.store.folders import MANIFEST, TRUSTED, find_damage
from convrag.store.store import Store


class Builder:
    """Builds the same files each time, and counts how often."""

    def __init__(self) -> None:
        self.built = 0

    def __call__(self, folder: Path) -> None:
        self.built += 1
        np.save(folder / "rows.npy", np.arange(5000.0))
        (folder / "words").mkdir()
        (folder / "words" / "list.json").write_text('["a", "b"]')


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 8
    path.write_bytes(data)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "flipped": (lambda folder: flip(folder / "rows.npy"), "rows.npy is damaged"),
    "cut": (lambda folder: os.truncate(folder / "rows.npy", 100), "rows.npy is damaged"),
    "longer": (lambda folder: os.truncate(folder / "rows.npy", 50_000), "rows.npy is damaged"),
    "deleted": (lambda folder: (folder / "words" / "list.json").unlink(), "list.json is missing"),
    "folder deleted": (lambda folder: shutil.rmtree(folder / "words"), "list.json is missing"),
    "emptied": (
        lambda folder: [shutil.rmtree(folder), folder.mkdir()],
        f"{MANIFEST} cannot be read",
    ),
    "no JSON": (lambda folder: (folder / MANIFEST).write_text("{"), f"{MANIFEST} cannot be read"),
    "no manifest": (
        lambda folder: (folder / MANIFEST).write_text("[1]"),
        "its files cannot be checked",
    ),
    "no files": (
        lambda folder: (folder / MANIFEST).write_text('{"rows.npy": 3}'),
        "its files cannot be checked",
    ),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_folder_is_built_again_with_a_warning(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, build = Store(tmp_path), Builder()
    folder = store.folder("indexes", "key", build)
    rows = np.load(folder / "rows.npy", mmap_mode="r")  # a reader keeps what it has open
    assert store.folder("indexes", "key", build) == folder
    assert build.built == 1
    harm, words = DAMAGES[kind]
    if kind in ("flipped", "cut", "longer"):
        rows = np.load(folder / "rows.npy")
    harm(folder)
    assert Store(tmp_path).folder("indexes", "key", build) == folder
    assert build.built == 2
    assert find_damage(folder) == ""
    assert np.load(folder / "rows.npy").tolist() == rows.tolist() == list(range(5000))
    assert sorted(path.name for path in folder.parent.iterdir()) == ["key"]
    (message,) = caplog.messages
    assert message.startswith(f"{folder}: {words}")
    assert message.endswith("; it is built again")


def test_a_folder_that_was_copied_is_read_once_and_not_built_again(tmp_path: Path) -> None:
    build = Builder()
    folder = Store(tmp_path / "a").folder("indexes", "key", build)
    shutil.copytree(tmp_path / "a", tmp_path / "b", copy_function=shutil.copy)  # with new times
    copied = Store(tmp_path / "b").folder("indexes", "key", build)
    assert build.built == 1
    times = json.loads((copied / MANIFEST).read_text())["rows.npy"]["mtime_ns"]
    assert (
        times
        == (copied / "rows.npy").stat().st_mtime_ns
        != (folder / "rows.npy").stat().st_mtime_ns
    )


def test_what_a_failing_disk_changes_is_found_on_the_next_day(tmp_path: Path) -> None:
    build = Builder()
    folder = Store(tmp_path).folder("indexes", "key", build)
    status = (folder / "rows.npy").stat()
    flip(folder / "rows.npy")
    os.utime(folder / "rows.npy", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert find_damage(folder) == ""
    yesterday = time.time() - TRUSTED - 1
    os.utime(folder / MANIFEST, (yesterday, yesterday))
    assert find_damage(folder) == "rows.npy is damaged"
    Store(tmp_path).folder("indexes", "key", build)
    assert build.built == 2
