from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from convrag.api.errors import DataError, UnknownName
from convrag.api.types import Turn
from convrag.turn.session import Conversations
from toys import pipeline


def test_a_conversation_goes_on_after_a_restart(tmp_path: Path) -> None:
    first = pipeline(conversations=Conversations(tmp_path))
    first.turn("a/b ü", "one?")
    again = pipeline(conversations=Conversations(tmp_path))
    record = again.turn("a/b ü", "two?")
    assert record.number == 2
    assert record.rewritten_query == "TWO? 0 p0 p1"
    kept = Conversations(tmp_path)
    assert kept.ids() == ["a/b ü"]
    history = kept.open("a/b ü", "default").history
    assert [turn.question for turn in history] == ["one?", "two?"]
    assert [passage.id for passage in history[0].passages] == ["p0", "p1"]
    again.reset("a/b ü")
    assert Conversations(tmp_path).ids() == []
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"\xff",
        b'{"id": "c", "domain": "d", "turns": 3}',
        b'{"id": "c", "domain": "d", "turns": ["x"]}',
        b'{"id": "c", "domain": "d", "turns": [{"id": "t", "question": "", "answer": "", "passages": 1, "shown": []}]}',
        b'{"id": "c", "domain": "d", "turns": [{"id": "t", "question": "", "answer": "", "passages": "", "shown": [3]}]}',  # noqa: E501
    ],
)
def test_a_broken_file_is_named(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_bytes(data)
    with pytest.raises(DataError, match="c.json: this is not a saved conversation"):
        Conversations(tmp_path).get("c")


def test_memory_is_bounded_and_what_is_on_disk_comes_back(tmp_path: Path) -> None:
    chat = pipeline(conversations=Conversations(tmp_path, limit=2))
    for name in "abcd":
        chat.turn(name, "one?")
    assert len(chat.conversations._in_memory) == 2
    assert chat.turn("a", "two?").number == 2
    forgetful = pipeline(conversations=Conversations(limit=2))
    for name in "abc":
        forgetful.turn(name, "one?")
    assert forgetful.turn("a", "one?").number == 1


def test_unused_conversations_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    held = Conversations(ttl=10)
    held.open("a", "default")
    now[0] += 6
    held.open("b", "default")
    now[0] += 6
    assert held.get("a") is None
    assert held.get("b") is not None


def test_a_turn_can_be_planned() -> None:
    chat = pipeline()
    edited = chat.turn("c", "what?", query="edited query", top_k=1)
    assert edited.rewritten_query == "edited query"
    assert edited.trace["rewriter"] == {"edited": True}
    assert [hit.passage.id for hit in edited.hits] == ["p0"]
    silent = chat.turn("c", "what?", generate=False)
    assert silent.answer.text == ""
    assert silent.evidence.items
    assert not silent.error


def test_a_query_can_be_seen_before_it_is_searched_for() -> None:
    chat = pipeline()
    chat.turn("c", "one?")
    seen = chat.rewrite("c", "two?")
    assert seen.text == chat.turn("c", "two?").rewritten_query
    assert chat.conversations.open("c", "default").history[1].question == "two?"


def test_a_domain_must_be_said_where_there_are_several() -> None:
    chat: Any = pipeline()
    chat.domains = ("moon", "mars")
    with pytest.raises(UnknownName, match="mars, moon"):
        chat.turn("c", "one?")
    assert chat.turn("c", "one?", domain="mars").domain == "mars"
    assert chat.turn("c", "two?").domain == "mars"


def test_a_conversation_that_is_dropped_in_the_midst_of_a_turn_keeps_it() -> None:
    conversations = Conversations(limit=1)
    going = conversations.open("a", "default")
    conversations.open("b", "default")  # drops a
    assert conversations.open("a", "default") is going
    going.add_turn(Turn("a<::>1", "Tea?"))
    conversations.open("b", "default")
    del going
    gc.collect()
    assert conversations.get("a") is None  # nobody has it any more
    kept = conversations.open("c", "default")
    conversations.reset("c")
    assert conversations.open("c", "default") is not kept
