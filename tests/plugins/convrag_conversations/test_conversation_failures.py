"""Databases of conversations that are damaged, of something else, full, away or guarded: one
message, nothing lost.
"""

import logging
import random
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from convrag.api.errors import ConfigError, ConversationsUnusable, ConvragError, MissingExtra
from convrag.turn.conversations import Conversations
from places import ROOT
from postgres_server import PASSWORD, PostgresServer
from small_disk import run_on_small_disk
from toys import pipeline


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def make_folder(path: Path) -> None:
    path.mkdir()


def write_text(path: Path) -> None:
    path.write_text("no database " * 100, encoding="utf-8")


def plant_store(path: Path) -> None:
    change(path, "CREATE TABLE entries (key TEXT)")


def plant_version(path: Path) -> None:
    Conversations(path).close()
    change(path, "UPDATE convrag_schema SET version = 7")


def drop_version(path: Path) -> None:
    Conversations(path).close()
    change(path, "DELETE FROM convrag_schema")


@pytest.mark.parametrize(
    ("plant", "message"),
    [
        (make_folder, r"c\.db is a folder\. Name a file in it"),
        (
            write_text,
            r"c\.db cannot be used: file is not a database\. Name another, or move this one away",
        ),
        (
            plant_store,
            r"c\.db cannot be used: it is a database of something else, with the table entries\. Name",
        ),
        (
            plant_version,
            r"c\.db cannot be used: its tables have version 7, and this convrag reads version 1\. Name",
        ),
        (drop_version, r"c\.db cannot be used: its tables have version none"),
    ],
)
def test_what_is_no_database_of_conversations_is_left_alone(
    plant: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "c.db"
    plant(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(ConversationsUnusable, match=message) as caught:
        Conversations(path)
    assert str(caught.value).count("\n") == 0
    assert (
        not path.is_file() or path.read_bytes()[100:] == before[100:]
    )  # the head says which mode the journal has


@pytest.mark.parametrize(
    ("database", "message"),
    [
        ("", "'' is not the name of a file"),
        ("a\0b", "is not the name of a file"),
        (
            "mysql://u:secret@host/x",
            "conversations=mysql://host/x: no plugin opens such a database; name a database of PostgreSQL",
        ),
        ("sqlite://", "no plugin opens such a database"),
        ("postgresql://u:secret@host:port/x", "SQLAlchemy cannot read this address"),
        ("http://u:secret@host", "no plugin opens such a database"),
    ],
)
def test_addresses_that_are_none(database: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        Conversations(database)
    assert "secret" not in str(caught.value)


def test_a_path_may_be_an_address_or_a_text(here: Path) -> None:
    pipeline(conversations=Conversations("sqlite:///c.db")).turn("c", "one?")
    assert Conversations("c.db").ids() == Conversations(here / "c.db").ids() == ["c"]
    Conversations("new/folder/c.db").close()
    with pytest.raises(ConversationsUnusable, match="c.db/d.db cannot be used"):
        Conversations("c.db/d.db")


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"conversations needs psycopg.*convrag\[postgres\]"):
        Conversations("postgresql://host/x")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE convrag_turns SET record = 'x' WHERE number = 2",
        "UPDATE convrag_turns SET record = '{}' WHERE number = 2",
        "UPDATE convrag_turns SET record = x'ff' WHERE number = 2",
        "UPDATE convrag_turns SET record = json_set(record, '$.contexts', 3) WHERE number = 2",
        "DELETE FROM convrag_turns WHERE turn_id = 'c<::>1'",
        "UPDATE convrag_turns SET number = 9 WHERE number = 2",
        "UPDATE convrag_conversations SET configuration = '['",
        "UPDATE convrag_conversations SET created = 'then'",
        "DROP TABLE convrag_turns",
    ],
)
def test_a_damaged_conversation_is_named_and_can_be_deleted(statement: str, tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    chat = pipeline(conversations=Conversations(path))
    for question in ("one?", "two?"):
        chat.turn("c", question)
    chat.turn("d", "one?")
    chat.conversations.close()
    change(path, statement)
    again = pipeline(conversations=Conversations(path))
    with pytest.raises(ConversationsUnusable, match=r"c\.db.*(is damaged|no such table)"):
        again.turn("c", "three?")
    if "created" in statement:
        change(
            path,
            "UPDATE convrag_conversations SET created = '2026-01-01T00:00:00+00:00' WHERE number = 2",
        )
    if "DROP" not in statement:
        again.conversations.delete("c")
        if "conversations SET" not in statement:
            assert again.turn("d", "two?").number == 2
        assert again.turn("c", "anew?").number == 1


def test_a_file_with_flipped_bits_gives_turns_or_one_message(tmp_path: Path) -> None:
    path, damaged = tmp_path / "c.db", tmp_path / "damaged.db"
    chat = pipeline(conversations=Conversations(path))
    for number in range(30):
        chat.turn(f"c{number % 5}", f"{number}?")
    chat.conversations.close()
    chance, said = random.Random(5), list[str]()
    for _ in range(60):
        data = bytearray(path.read_bytes())
        for _ in range(chance.choice((1, 20, 400))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        damaged.write_bytes(data if chance.random() < 0.8 else data[: chance.randrange(len(data))])
        for suffix in ("-wal", "-shm"):
            Path(f"{damaged}{suffix}").unlink(missing_ok=True)
        try:
            other = Conversations(damaged)
            other.list()
            for name in other.ids()[:8]:
                other.records(name)
            pipeline(conversations=other).turn("c1", "again?")
        except ConvragError as error:
            said.append(str(error))
    assert len(said) > 10
    assert all("damaged.db" in message and "\n" not in message for message in said)


FILL = """
import sys
sys.path.insert(0, sys.argv[1])
from convrag.api.errors import ConvragError
from convrag.turn.conversations import Conversations
from toys import pipeline

try:
    chat = pipeline(conversations=Conversations("small/c.db"))
except ConvragError as error:
    print(error)
    sys.exit()
turns = 0
try:
    while True:
        chat.turn("c", f"{turns}? " + "x" * 20_000)
        turns += 1
except ConvragError as error:
    print(error)
print(turns, len(chat.conversations.records("c")), len(chat.conversations.open("c", "").history))
chat.conversations.close()
print(len(Conversations("small/c.db").records("c")))
"""


@pytest.mark.slow
def test_a_full_disk_costs_one_turn_alone(tmp_path: Path) -> None:
    tests = str(ROOT / "tests/support")
    done = run_on_small_disk(tmp_path, [sys.executable, "-c", FILL, tests], size="900k")
    assert done.returncode == 0, done.stderr
    message, counts, reread, *_ = done.stdout.splitlines()
    assert message.startswith(
        f"conversations: {tmp_path}/small/c.db cannot be written: the disk is full. Make room"
    )
    turns, kept, remembered = map(int, counts.split())
    assert turns == kept == remembered == int(reread) > 2


@pytest.mark.cluster
def test_a_server_that_is_away_or_says_no(
    postgres: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    address = postgres.make_database()
    chat = pipeline(conversations=Conversations(address))
    chat.turn("c", "one?")
    messages = []
    wrong = "an-other/word"
    for bad in (
        postgres.make_address("postgres", password=wrong),
        postgres.make_address("postgres", user="nobody-here"),
        postgres.make_address("no_such_database"),
        address.replace(str(postgres.port), "1"),
    ):
        with pytest.raises(
            ConversationsUnusable, match=r"psycopg://127\.0\.0\.1:\d+/\w+ cannot be used"
        ) as refused:
            Conversations(bad)
        messages.append(str(refused.value))
    postgres.stop()
    try:
        with pytest.raises(ConversationsUnusable, match="cannot be used") as caught:
            chat.turn("c", "two?")
        messages.append(str(caught.value))
    finally:
        postgres.start()
    assert chat.turn("c", "two?").number == 2, (
        "connections of before the restart are not used again"
    )
    said = "\n".join(
        [*messages, caplog.text, repr(chat.conversations), repr(vars(chat.conversations))]
    )
    for secret in (PASSWORD, wrong, *address.split("@")[0].split(":")[-1:]):
        assert secret not in said
    assert all("\n" not in message for message in messages)


@pytest.mark.cluster
def test_a_turn_that_is_lost_with_the_connection_is_not_half_there(
    postgres: PostgresServer,
) -> None:
    address = postgres.make_database()
    chat = pipeline(conversations=Conversations(address))
    chat.turn("c", "one?")
    name = address.rpartition("/")[2]
    postgres.execute(
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    )
    assert chat.turn("c", "two?").number == 2
    postgres.execute("ALTER TABLE convrag_turns ADD CONSTRAINT short CHECK (number < 3)", name)
    with pytest.raises(ConversationsUnusable, match="violates check constraint"):
        chat.turn("c", "three?")
    assert (
        len(Conversations(address).records("c"))
        == len(chat.conversations.open("c", "").history)
        == 2
    )
    postgres.execute("ALTER TABLE convrag_turns DROP CONSTRAINT short", name)
    assert chat.turn("c", "three?").number == 3


def test_what_was_said_stands_in_no_message(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    chat: Any = pipeline(conversations=Conversations(tmp_path / "c.db"))
    change(tmp_path / "c.db", "DROP TABLE convrag_turns")
    with pytest.raises(ConversationsUnusable) as caught:
        chat.turn("c", "a confidential matter")
    assert "confidential" not in str(caught.value) + str(caught.value.__cause__) + caplog.text


def test_a_changed_turn_does_not_fit_its_checksum(tmp_path: Path) -> None:
    """What is JSON all the same would be shown as what was said."""
    path = tmp_path / "c.db"
    talking = pipeline(conversations=Conversations(path))
    for question in ("one?", "two?"):
        talking.turn("c", question)
    change(
        path, "UPDATE convrag_turns SET record = replace(record, 'two?', 'tw0?') WHERE number = 2"
    )
    for read in (
        lambda store: store.records("c"),
        lambda store: store.find_record("c", 2),
        lambda store: store.get("c"),
    ):
        with pytest.raises(ConversationsUnusable, match="turn 2 of conversation 'c' is damaged"):
            read(Conversations(path))


def test_a_database_of_an_earlier_version_has_no_checksums(tmp_path: Path) -> None:
    """Its turns are read, and new ones are checked."""
    path = tmp_path / "c.db"
    pipeline(conversations=Conversations(path)).turn("c", "one?")
    change(path, "DROP TABLE convrag_checksums")
    talking = pipeline(conversations=Conversations(path))
    talking.turn("c", "two?")
    assert [each.original_query for each in Conversations(path).records("c")] == ["one?", "two?"]
    change(
        path, "UPDATE convrag_turns SET record = replace(record, 'two?', 'tw0?') WHERE number = 2"
    )
    with pytest.raises(ConversationsUnusable, match="turn 2 .* is damaged"):
        Conversations(path).records("c")


def test_a_turn_that_an_earlier_version_has_replaced_is_read(tmp_path: Path) -> None:
    """It leaves the checksum of the turn before, which has another version."""
    path = tmp_path / "c.db"
    pipeline(conversations=Conversations(path)).turn("c", "one?")
    change(path, "UPDATE convrag_turns SET version = 2, record = replace(record, 'one?', 'an?')")
    assert [each.original_query for each in Conversations(path).records("c")] == ["an?"]


def test_an_empty_file_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "c.db"
    Conversations(path).close()
    Conversations(path).close()
    assert caplog.text == ""
    path.write_bytes(b"")
    for rest in tmp_path.glob("c.db-*"):
        rest.unlink()
    pipeline(conversations=Conversations(path)).turn("c", "one?")
    assert f"{path} is empty: nothing is left of the conversations" in caplog.text
