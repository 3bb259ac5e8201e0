import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from convrag import ConfigError, Store


def test_nothing_is_made_before_it_is_used(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    assert not (tmp_path / "store").exists()
    assert store.get(["key"]) == {}
    assert (tmp_path / "store").exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigError, match=r"store.path=.*file.* cannot be used"):
        Store(tmp_path / "file").open()
    (tmp_path / "store" / "store.sqlite").mkdir(parents=True)
    with pytest.raises(ConfigError, match="cannot be used"):
        Store(tmp_path / "store").open()


def test_a_folder_is_built_once_by_many_threads(tmp_path: Path) -> None:
    store = Store(tmp_path)
    built: list[int] = []

    def build(folder: Path) -> None:
        built.append(1)
        time.sleep(0.05)
        (folder / "index").write_text("whole")

    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: store.folder("indexes", "key", build), range(8)))
    assert len(built) == 1
    assert {(folder / "index").read_text() for folder in folders} == {"whole"}


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def fail(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError):
        store.folder("indexes", "key", fail)
    assert not (tmp_path / "indexes" / "key").exists()
    folder = store.folder("indexes", "key", lambda path: (path / "whole").touch())
    assert sorted(path.name for path in folder.iterdir()) == [".manifest.json", "whole"]


@pytest.mark.parametrize("shared", [True, False])
def test_a_fresh_store_is_opened_by_many_at_once(shared: bool, tmp_path: Path) -> None:
    """SQLite's switch to WAL mode waits for nobody: "database is locked", whatever the timeout."""
    for attempt in range(10):
        together = threading.Barrier(8)
        one = Store(tmp_path / str(attempt))

        def put(number: int, one: Store = one, together: threading.Barrier = together) -> None:
            store = one if shared else Store(one.path)
            together.wait()
            store.put("test", {str(number): b"x"})

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(put, range(8)))
        assert len(one.get(map(str, range(8)))) == 8
