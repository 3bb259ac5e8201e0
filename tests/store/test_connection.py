"""What a remembered call asks of the disk: one look at the file and one statement."""

from pathlib import Path

import pytest

from convrag.store import database
from convrag.store.database import FileIdentity, SqliteEntries, identify
from convrag.store.store import Store


def test_a_value_is_read_by_one_statement_after_one_look_at_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    store.put("kind", {"a": b"1", "b": b"2"})
    looks: list[Path] = []
    statements: list[str] = []

    def note(file: Path) -> FileIdentity | None:
        looks.append(file)
        return identify(file)

    monkeypatch.setattr(database, "identify", note)
    entries = store.entries
    assert isinstance(entries, SqliteEntries)
    assert entries._connection is not None
    entries._connection.set_trace_callback(statements.append)
    assert store.get(["a", "b"]) == {"a": b"1", "b": b"2"}
    assert len(looks) == 1
    assert len(statements) == 1
