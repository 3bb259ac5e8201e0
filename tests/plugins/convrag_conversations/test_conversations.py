"""Conversations in a database: they go on after a restart, in order, and nothing of them is lost or
mixed up.
"""

import json
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from convrag import Conversations, TurnRecord
from convrag.api.errors import ConversationChanged, ConversationsUnusable
from convrag_conversations.sqlite import SqliteTransactions
from toys import QuotingGenerator, pipeline

STRANGE_IDS = [
    "",
    "../../x",
    "Tea",
    "tea",
    "a\\0b",
    "a\0b",
    "\ud83d\ude00",
    "😀",
    "\udcff",
    "x" * 10_000,
]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.cluster)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The path of a file that is not there yet, and the address of an empty database."""
    if request.param == "sqlite":
        return tmp_path / "kept" / "conversations.db"
    return request.getfixturevalue("postgres").make_database()


def questions(conversations: Conversations, name: str) -> list[str]:
    return [record.original_query for record in conversations.records(name)]


def test_a_conversation_goes_on_after_a_restart(database: Any) -> None:
    first = pipeline(conversations=Conversations(database))
    first.turn("a/b ü", "one?")
    again = pipeline(conversations=Conversations(database))
    record = again.turn("a/b ü", "two?")
    assert record.number == 2
    assert record.rewritten_query == "TWO? 0 p0 p1"
    kept = Conversations(database)
    assert kept.ids() == ["a/b ü"]
    session = kept.get("a/b ü")
    assert session is not None
    assert session.history == again.conversations.open("a/b ü", "default").history
    assert [passage.id for passage in session.history[0].passages] == ["p0", "p1"]
    assert kept.records("a/b ü")[1].hits == record.hits
    again.reset("a/b ü")
    assert (Conversations(database).ids(), Conversations(database).records("a/b ü")) == (
        ["a/b ü"],
        [],
    )
    again.conversations.delete("a/b ü")
    assert Conversations(database).ids() == []


def test_what_is_said_of_a_conversation_stays_and_goes_with_it(database: Any) -> None:
    kept = Conversations(database)
    for name in "abc":
        pipeline(conversations=kept).turn(name, "one?")
    with kept._database._transactions.write() as statements:  # type: ignore[union-attr]
        statements.execute("DROP TABLE convrag_feedback")  # as earlier versions left it
    kept = Conversations(database)
    for name, number in [("b", 1), ("a", 2), ("b", 3), ("c", 4), ("unknown", 5)]:
        kept.add_feedback(name, {"number": number, "comment": "ü\0\ud83d"})
    again = Conversations(database)
    assert [row["number"] for row in again.read_feedback()] == [1, 2, 3, 4]
    assert again.read_feedback("b") == [{"number": n, "comment": "ü\0\ud83d"} for n in (1, 3)]
    again.delete("b")
    again.reset("a")
    assert [row["number"] for row in again.read_feedback()] == [4]
    assert questions(again, "c") == ["one?"]


def test_ids_are_any_text(database: Any) -> None:
    chat = pipeline(conversations=Conversations(database))
    for number, each in enumerate(STRANGE_IDS):
        record = chat.turn(each, f"{number}? {each}"[:50])
        assert not record.error
    kept = Conversations(database)
    assert kept.ids() == sorted(STRANGE_IDS)
    assert {info.id for info in kept.list()} == set(STRANGE_IDS)
    for number, each in enumerate(STRANGE_IDS):
        (record,) = kept.records(each)
        assert record.original_query == f"{number}? {each}"[:50].replace(
            "\ud83d\ude00", "😀"
        )  # as JSON joins halves
    pipeline(conversations=kept).turn("tea", "two?")
    assert len(questions(kept, "tea")) == 2
    assert len(questions(kept, "Tea")) == 1


def test_the_list_has_the_newest_first(database: Any) -> None:
    conversations = Conversations(database)
    chat = pipeline(conversations=conversations)
    for name in "abc":
        chat.turn(name, f"What is\n{name} " + "x" * 100)
    conversations.open("empty", "default", model="mmr")
    chat.turn("a", "And then?")
    listed = Conversations(database).list()
    assert [info.id for info in listed] == ["a", "empty", "c", "b"]
    assert [info.turns for info in listed] == [2, 0, 1, 1]
    assert listed[0].title == "What is a " + "x" * 69 + "…"
    assert (listed[1].model, listed[1].title) == ("mmr", "")
    assert listed[0].updated > listed[0].created
    assert listed[0].created.tzname() == "UTC"
    assert [info.id for info in conversations.list(limit=2, offset=1)] == ["empty", "c"]


def test_memory_lists_as_a_database_does() -> None:
    conversations = Conversations()
    chat = pipeline(conversations=conversations)
    for name in "aba":
        chat.turn(name, "one?")
    assert [(info.id, info.turns, info.title) for info in conversations.list()] == [
        ("a", 2, "one?"),
        ("b", 1, "one?"),
    ]
    assert [info.id for info in conversations.list(limit=1, offset=1)] == ["b"]


def test_memory_is_bounded_and_what_is_in_the_database_comes_back(database: Any) -> None:
    chat = pipeline(conversations=Conversations(database, limit=2))
    for name in "abcd":
        chat.turn(name, "one?")
    assert len(chat.conversations._in_memory) == 2
    assert chat.turn("a", "two?").number == 2


def test_a_turn_that_another_process_has_added_is_seen(database: Any) -> None:
    here, there = (pipeline(conversations=Conversations(database)) for _ in range(2))
    numbers = [
        chat.turn("c", f"{n}?").number for n, chat in enumerate([here, there, there, here, there])
    ]
    assert numbers == [1, 2, 3, 4, 5]
    here.reset("c")
    assert there.turn("c", "new?").number == 1
    assert here.turn("c", "and?").number == 2
    here.conversations.delete("c")
    assert there.conversations.get("c") is None
    assert [
        there.turn("c", "1?").number,
        here.turn("c", "2?").number,
        there.turn("c", "3?").number,
    ] == [1, 2, 3]
    assert questions(here.conversations, "c") == ["1?", "2?", "3?"]
    here.regenerate("c", query="other")
    there.turn("c", "4?")
    assert [record.rewritten_query for record in here.conversations.records("c")][2] == "other"


class Interrupted(QuotingGenerator):
    """Lets somebody else go first, in mid-turn."""

    def __init__(self, other: Any) -> None:
        self.other = other

    def generate(self, question: Any, evidence: Any) -> Any:
        self.other()
        return super().generate(question, evidence)


@pytest.mark.parametrize("change", ["turn", "reset", "delete", "regenerate", "delete and turn"])
@pytest.mark.parametrize("asks", ["turn", "regenerate"])
def test_a_turn_that_was_overtaken_is_refused(change: str, asks: str, database: Any) -> None:
    other = pipeline(conversations=Conversations(database))
    other.turn("c", "one?")

    def interfere() -> None:
        if "delete" in change:
            other.conversations.delete("c")
        if "turn" in change:
            other.turn("c", "theirs?")
        if change == "reset":
            other.reset("c")
        if change == "regenerate":
            other.regenerate("c", query="theirs")

    chat = pipeline(conversations=Conversations(database), generator=Interrupted(interfere))
    with pytest.raises(
        ConversationChanged, match="conversation 'c' was changed by another process"
    ):
        chat.turn("c", "ours?") if asks == "turn" else chat.regenerate("c")
    expected = {
        "turn": ["one?", "theirs?"],
        "reset": [],
        "delete": [],
        "regenerate": ["one?"],
        "delete and turn": ["theirs?"],
    }
    assert questions(Conversations(database), "c") == expected[change]
    chat.stages = other.stages
    assert chat.turn("c", "again?").number == len(expected[change]) + 1


@pytest.mark.parametrize("change", ["reset", "delete"])
def test_a_reset_in_mid_turn_is_heard_in_memory_too(change: str) -> None:
    conversations = Conversations()
    chat = pipeline(
        conversations=conversations,
        generator=Interrupted(lambda: getattr(conversations, change)("c")),
    )
    with pytest.raises(ConversationChanged):
        chat.turn("c", "one?")
    session = conversations.get("c")
    assert (session is None) == (change == "delete")
    assert not session or session.history == []


def test_a_conversation_begun_twice_at_once_is_one(database: Any) -> None:
    other = pipeline(conversations=Conversations(database))
    chat = pipeline(
        conversations=Conversations(database),
        generator=Interrupted(lambda: other.turn("c", "theirs?")),
    )
    with pytest.raises(ConversationChanged):
        chat.turn("c", "ours?")
    assert questions(other.conversations, "c") == ["theirs?"]


def test_the_file_is_its_owners(tmp_path: Path) -> None:
    Conversations(tmp_path / "kept" / "c.db").open("c", "default")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "kept").iterdir()}
    assert set(modes.values()) == {0o600}


def test_a_record_is_json_that_others_can_read(database: Any) -> None:
    pipeline(conversations=Conversations(database)).turn("c", "what?")
    with Conversations(database)._database._transactions.read() as connection:  # type: ignore[union-attr]
        (record,) = connection.execute("SELECT record FROM convrag_turns").fetchone()
    assert json.loads(record)["original_query"] == "what?"


def test_numbers_that_json_does_not_have_come_back(database: Any) -> None:
    from convrag.api.passages import Hit, Passage

    class Odd(type(pipeline().stages.retriever)):  # type: ignore[misc]
        def retrieve(self, queries: Any, k: int) -> Any:
            return [Hit(Passage("p\0\ud800", "text"), 1.0)]

        def explain(self, queries: Any) -> Any:
            return {"scores": [float("inf"), float("-inf")]}

    chat = pipeline(conversations=Conversations(database), retriever=Odd())
    chat.turn("c", "what?")
    (record,) = Conversations(database).records("c")
    assert record.trace["retriever"]["scores"] == [None, None]
    assert record.hits[0].passage.id == "p\0\ud800"
    assert pipeline(conversations=Conversations(database)).turn("c", "two?").number == 2


def test_a_turn_of_several_megabytes(database: Any) -> None:
    chat = pipeline(conversations=Conversations(database))
    text = "long \0 \ud800 " * 500_000
    chat.turn("c", text)
    (record,) = Conversations(database).records("c")
    assert record.original_query == text
    assert len(Conversations(database).list()[0].title) <= 80


def test_one_record_is_read_without_the_others(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Feedback on one turn read all turns of the conversation."""
    chat = pipeline(conversations=Conversations(database))
    for text in ("one?", "two?", "three?"):
        chat.turn("c", text)
    chat.turn("d", "other?")
    parsed = []
    from_dict = TurnRecord.from_dict
    monkeypatch.setattr(
        TurnRecord, "from_dict", lambda row: parsed.append(row["turn_id"]) or from_dict(row)
    )
    conversations = Conversations(database)
    numbers = (1, 2, 3, 0)
    found = [conversations.find_record("c", number) for number in numbers]
    assert [each and each.original_query for each in found] == ["one?", "two?", "three?", "three?"]
    assert len(parsed) == len(numbers)
    assert conversations.find_record("c", 4) is None
    assert conversations.find_record("c", 10**19) is None  # more than a database's integer
    assert conversations.find_record("x", 0) is None
    assert [conversations.count_turns(name) for name in "cdx"] == [3, 1, 0]


def test_records_of_memory_are_not_kept() -> None:
    from convrag.api.errors import ConfigError

    chat = pipeline()
    chat.turn("c", "what?")
    with pytest.raises(ConfigError, match="records are kept in a database alone"):
        chat.conversations.records("c")
    assert not any(
        isinstance(each, TurnRecord) for each in vars(chat.conversations.open("c", "")).values()
    )


def test_a_database_that_another_process_holds_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("convrag_conversations.sqlite.BUSY_SECONDS", 1)
    chat = pipeline(conversations=Conversations(tmp_path / "c.db"))
    chat.turn("c", "one?")
    with closing(sqlite3.connect(tmp_path / "c.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            ConversationsUnusable,
            match="database is locked. Another process has held it for 1 s: try",
        ):
            chat.turn("c", "two?")
        assert len(chat.conversations.records("c")) == 1, "readers do not wait"
    assert chat.turn("c", "two?").number == 2


def test_a_turn_makes_few_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conversations = Conversations(tmp_path / "c.db")
    chat = pipeline(conversations=conversations)
    statements: list[str] = []
    connect = SqliteTransactions._connect

    def listen(self: SqliteTransactions) -> sqlite3.Connection:
        connection = connect(self)
        connection.set_trace_callback(lambda statement: statements.append(statement.split()[0]))
        return connection

    conversations.close()
    monkeypatch.setattr(SqliteTransactions, "_connect", listen)
    chat.turn("new", "one?")
    read, written = ["BEGIN", "SELECT", "COMMIT"], ["BEGIN", *["INSERT"] * 3, "COMMIT"]
    assert statements == [*read, *read, *read, *written], "it is looked for twice"
    statements.clear()
    chat.turn("new", "two?")
    assert statements == [*read, "BEGIN", "UPDATE", "INSERT", "INSERT", "COMMIT"], (
        "one look, and one transaction"
    )
