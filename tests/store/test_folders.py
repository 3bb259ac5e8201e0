"""Built folders that supersede each other, and when one of them is removed."""

import json
import os
import signal
from pathlib import Path

import pytest

from convrag.store import folders as folders_module
from convrag.store.folders import FolderHolds, try_removing
from convrag.store.store import Store
from processes import process_that_holds, run_in_child

pytestmark = pytest.mark.skipif(folders_module.fcntl is None, reason="needs locks of folders")

HOLD = """
import sys, time
from convrag.store.store import Store
store = Store(sys.argv[1])
store.folder("indexes", "one", lambda folder: (folder / "rows").write_text("one"), series="s")
print("held", flush=True)
time.sleep(60)
"""


def command(path: Path, key: str, series: str) -> list[str]:
    """What a command does that needs the folder of a key, and ends; returns the folders that are
    left.
    """
    store = Store(path)
    folder = store.folder(
        "indexes", key, lambda folder: folder.joinpath("rows").write_text(key), series=series
    )
    assert (folder / "rows").read_text() == key
    store.folders._holds.release()
    return kept(path)


def kept(path: Path) -> list[str]:
    return sorted(folder.name for folder in (path / "indexes").iterdir())


def test_the_newest_of_a_series_supersedes_the_one_before(tmp_path: Path) -> None:
    assert command(tmp_path, "one", "s") == ["one"]
    assert command(tmp_path, "two", "s") == ["two"]
    assert command(tmp_path, "two", "s") == ["two"]
    assert command(tmp_path, "one", "s") == ["one"], "it is built again where it is wanted again"


def test_folders_without_a_series_and_of_other_series_stay(tmp_path: Path) -> None:
    command(tmp_path, "plain", "")
    command(tmp_path, "other", "t")
    command(tmp_path, "one", "s")
    assert command(tmp_path, "two", "s") == ["other", "plain", "two"]
    assert command(tmp_path, "plainer", "") == ["other", "plain", "plainer", "two"]


def test_what_another_series_uses_stays_until_that_has_another(tmp_path: Path) -> None:
    """Two data sets with the same passages share an index."""
    command(tmp_path, "shared", "s")
    command(tmp_path, "shared", "t")
    assert command(tmp_path, "two", "s") == ["shared", "two"]
    assert command(tmp_path, "two", "s") == ["shared", "two"]
    assert command(tmp_path, "three", "t") == ["three", "two"]


def test_what_this_process_uses_stays_until_the_next_command(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = store.folder(
        "indexes", "one", lambda folder: folder.joinpath("rows").write_text("1"), series="s"
    )
    store.folder(
        "indexes", "two", lambda folder: folder.joinpath("rows").write_text("two"), series="s"
    )
    assert (first / "rows").read_text() == "1"
    assert command(tmp_path, "two", "s") == ["one", "two"]
    store.folders._holds.release()
    assert command(tmp_path, "two", "s") == ["two"]


@pytest.mark.slow
def test_what_another_process_uses_stays_until_it_ends_or_is_killed(tmp_path: Path) -> None:
    with process_that_holds(HOLD, tmp_path) as process:
        assert command(tmp_path, "two", "s") == ["one", "two"]
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert command(tmp_path, "two", "s") == ["two"]


@pytest.mark.slow
def test_a_forked_child_holds_what_its_parent_held(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.folder(
        "indexes", "one", lambda folder: folder.joinpath("rows").write_text("1"), series="s"
    )
    reading, writing = os.pipe()
    child = run_in_child(lambda: (os.close(writing), os.read(reading, 1)))
    store.folders._holds.release()
    assert command(tmp_path, "two", "s") == ["one", "two"]
    os.close(writing)
    os.close(reading)
    os.waitpid(child, 0)
    assert command(tmp_path, "two", "s") == ["two"]


@pytest.mark.parametrize("damaged", ["", "{", "[1]", '{"s": 5}', '{"s": []}'])
def test_what_is_not_known_any_more_is_not_removed(damaged: str, tmp_path: Path) -> None:
    command(tmp_path, "one", "s")
    (tmp_path / "indexes.series.json").write_text(damaged)
    assert command(tmp_path, "two", "s") == ["one", "two"]
    assert command(tmp_path, "three", "s") == ["one", "three"]


def test_no_name_in_the_file_leads_out_of_the_store(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "store" / "indexes").mkdir(parents=True)
    (tmp_path / "store" / "indexes.series.json").write_text(
        json.dumps({"s": ["../../outside", str(outside), "..", "."]})
    )
    assert command(tmp_path / "store", "one", "s") == ["one"]
    assert outside.is_dir()
    assert (tmp_path / "store").is_dir()


def test_a_process_that_was_killed_while_it_removed_leaves_nothing(tmp_path: Path) -> None:
    command(tmp_path, "one", "s")
    (tmp_path / "indexes" / "one").rename(tmp_path / "indexes" / "one.superseded")
    assert command(tmp_path, "two", "s") == ["two"]


def test_a_folder_that_is_removed_before_it_is_held_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(tmp_path, "one", "s")
    hold, removed = FolderHolds.hold, []

    def remove_first(self: FolderHolds, folder: Path) -> bool:
        if not removed:
            removed.append(try_removing(folder))
        return hold(self, folder)

    monkeypatch.setattr(folders_module.FolderHolds, "hold", remove_first)
    assert command(tmp_path, "one", "s") == ["one"]
    assert removed == [True]


def test_where_nothing_can_be_locked_nothing_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no locks available")

    monkeypatch.setattr(folders_module.fcntl, "flock", refuse)
    command(tmp_path, "one", "s")
    assert command(tmp_path, "two", "s") == ["one", "two"]
