"""A damaged database costs what was damaged, and nothing else: it is computed again, with one
warning.
"""

import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import toys
from convrag.api.errors import ConfigError
from convrag.store.remember import remember
from convrag.store.store import FILE, Store

VALUES = {
    f"{n * 7919 % 1000:040d}": random.Random(n).randbytes(40 + 37 * (n % 120)) for n in range(300)
}


def known(stage: Any, store: Store) -> Any:
    stage.fingerprint = "f"
    remember(stage, store)
    return stage


def edit(folder: Path, sql: str) -> None:
    with sqlite3.connect(folder / FILE) as connection:
        connection.execute(sql)
    connection.close()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose older half is in the database, and whose newer half is in the WAL beside it."""
    folder = tmp_path_factory.mktemp("finished")
    store = Store(folder / "living")
    for number, (key, value) in enumerate(VALUES.items()):
        if number == len(VALUES) // 2:
            with sqlite3.connect(store.path / FILE) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.close()
        store.put("test", {key: value}, 1.5)
    shutil.copytree(store.path, folder / "copy")
    assert (folder / "copy" / f"{FILE}-wal").stat().st_size > 100_000
    return folder / "copy"


def use_again(folder: Path) -> float:
    """Ask for everything, compute what is missing, and return the share that was still there.
    Nothing may be wrong.
    """
    store = Store(folder)
    there = 0
    for key, value in VALUES.items():
        found = store.get([key])
        assert found in ({}, {key: value})
        there += bool(found)
        if not found:
            store.put("test", {key: value}, 1.5)
    for again in (store, Store(folder)):
        assert again.get(VALUES).items() <= VALUES.items()
    return there / len(VALUES)


def damage(folder: Path, kind: str, seed: int) -> None:
    chance = random.Random(seed)
    files = sorted(
        path for path in folder.iterdir() if path.name.startswith(FILE) and path.stat().st_size
    )
    chosen = chance.choices(files, weights=[path.stat().st_size for path in files], k=30)
    for path in chosen if kind == "flip" else chosen[:1]:
        data = bytearray(path.read_bytes())
        place = chance.randrange(len(data))
        if kind == "flip":
            data[place] ^= 1 << chance.randrange(8)
        elif kind == "zero":
            data[place : place + 4096] = bytes(len(data[place : place + 4096]))
        elif kind == "cut":
            del data[place:]
        path.write_bytes(data)
    if kind == "header":
        data = bytearray((folder / FILE).read_bytes())
        for place in chance.sample(range(600), 8):
            data[place] ^= 1 << chance.randrange(8)
        (folder / FILE).write_bytes(data)


@pytest.mark.parametrize("kind", ["flip", "zero", "cut", "header"])
@pytest.mark.parametrize("seed", range(6))
def test_damage_anywhere_costs_nothing_but_what_was_damaged(
    kind: str, seed: int, finished: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(finished, tmp_path / "store")
    damage(tmp_path / "store", kind, seed)
    use_again(tmp_path / "store")
    assert all(FILE in record.getMessage() for record in caplog.records)
    assert sum("was damaged" in message for message in caplog.messages) <= 1
    use_again(tmp_path / "store")  # what was read before the damage was met is computed again, too
    assert use_again(tmp_path / "store") > 0.9


def test_an_array_with_a_flipped_bit_is_computed_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = known(toys.LetterEmbedder(), Store(tmp_path)).embed(["abc", "bad"])
    with sqlite3.connect(tmp_path / FILE) as connection:
        ((row, value),) = connection.execute("SELECT rowid, value FROM entries LIMIT 1")
        flipped = bytes([value[0], value[1] ^ 4, *value[2:]])
        connection.execute("UPDATE entries SET value = ? WHERE rowid = ?", (flipped, row))
    connection.close()
    again = known(toys.LetterEmbedder(), Store(tmp_path))
    assert again.embed(["abc", "bad"]).tolist() == first.tolist()
    assert len(again.seen) == 1
    assert "an entry is damaged; it is computed again" in caplog.text


def test_a_value_under_the_key_of_another_is_damage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(tmp_path)
    store.put("test", {"a": b"1", "b": b"2"})
    edit(tmp_path, "UPDATE entries SET key = 'c' WHERE key = 'a'")
    assert store.get(["a", "b", "c"]) == {"b": b"2"}
    assert "an entry is damaged; it is computed again" in caplog.text


def test_a_file_that_is_no_database_is_moved_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).write_text("no database at all, but long enough to be looked at" * 20)
    store = Store(tmp_path)
    store.put("test", {"a": b"1"})
    assert Store(tmp_path).get(["a"]) == {"a": b"1"}
    (aside,) = tmp_path.glob("store.damaged-*.sqlite")
    assert "no database at all" in aside.read_text()
    assert (
        f"{tmp_path / FILE} was damaged (file is not a database), and is begun anew" in caplog.text
    )
    assert aside.name in caplog.text


def test_a_table_of_an_early_version_is_moved_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    edit(
        tmp_path,
        "CREATE TABLE entries (key TEXT PRIMARY KEY, kind TEXT NOT NULL, value BLOB NOT NULL)",
    )
    Store(tmp_path).put("test", {"a": b"1"})
    assert len(list(tmp_path.glob("store.damaged-*.sqlite"))) == 1
    assert "was damaged (no such column: seconds)" in caplog.text


def test_what_was_paid_for_is_taken_over_from_a_damaged_database(
    finished: Path, tmp_path: Path
) -> None:
    shutil.copytree(finished, tmp_path / "store")
    damage(tmp_path / "store", "zero", 1)
    use_again(tmp_path / "store")
    (aside,) = (tmp_path / "store").glob("store.damaged-*.sqlite")
    fresh = Store(tmp_path / "fresh")
    count = fresh.take_over(aside)
    found = fresh.entries.find(VALUES)
    assert len(found) > len(VALUES) / 4
    assert all(found[key] == (VALUES[key], 1.5) for key in found)
    assert Store(tmp_path / "fresh").get(VALUES) == fresh.get(VALUES), "they are kept"
    assert count == len(found)


USE = """
import logging, sys, time
from pathlib import Path
from convrag.store.store import Store
logging.basicConfig(format="%(message)s")
store = Store(sys.argv[1])
Path(sys.argv[2]).touch()
while not Path(sys.argv[3]).exists():
    time.sleep(0.005)
for number in range(600):
    found = store.get([f"{number:040d}"])
    if not found:
        store.put("test", {f"{number:040d}": b"%d" % number * 300}, 1.0)
"""


@pytest.mark.slow
def test_processes_that_meet_damage_at_once_replace_the_database_once(tmp_path: Path) -> None:
    """Some of them have it open already, and go on writing into it until they see that it was
    replaced.
    """
    store = Store(tmp_path / "s")
    for number in range(0, 600, 2):
        store.put("test", {f"{number:040d}": b"%d" % number * 300}, 1.0)
    store.put("test", {f"x{number}": b"%d" % number * 300 for number in range(600)}, 1.0)
    del store
    go = tmp_path / "go"

    def start(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", USE, str(tmp_path / "s"), str(tmp_path / name), str(go)]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    early = [start(f"early{n}") for n in range(2)]
    while not all((tmp_path / f"early{n}").exists() for n in range(2)):
        assert all(process.poll() is None for process in early)
    file = tmp_path / "s" / FILE
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    data = bytearray(file.read_bytes())
    for page in range(5, len(data) // 4096, 9):
        data[4096 * page : 4096 * page + 64] = b"\xff" * 64
    with file.open("r+b") as opened:
        opened.write(data)
    late = [start(f"late{n}") for n in range(3)]
    go.touch()
    errors = [process.communicate(timeout=120)[1] for process in [*early, *late]]
    assert [process.returncode for process in [*early, *late]] == [0] * 5, errors
    found = Store(tmp_path / "s").get(f"{number:040d}" for number in range(600))
    assert found == {f"{number:040d}": b"%d" % number * 300 for number in range(600)}
    assert len(list((tmp_path / "s").glob("store.damaged-*.sqlite"))) == 1
    assert sum("was damaged" in error for error in errors) == 1
    with sqlite3.connect(file) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), OSError(30, "Read-only file system")]
)
def test_where_no_new_database_can_be_written_the_store_is_named(
    error: OSError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / FILE).write_text("no database at all, but long enough to be looked at" * 20)

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(
        ConfigError,
        match=rf"store.path={tmp_path} cannot be used: .*the (disk is full|file system is read-only)",
    ):
        Store(tmp_path).get(["a"])
    assert (tmp_path / FILE).exists()


def test_a_full_disk_is_no_damage(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put("test", {"a": b"1"})
    store.entries._execute("PRAGMA max_page_count=10")
    with pytest.raises(ConfigError, match=r"store.path=.* cannot be used: .*the disk is full"):
        store.put("test", {"b": bytes(100_000)})
    assert store.get(["a"]) == {"a": b"1"}
    assert not list(tmp_path.glob("*damaged*"))
