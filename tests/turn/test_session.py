from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from convrag.api.errors import ConfigError, DataError, UnknownName
from convrag.api.types import Passage, Turn
from convrag.turn.logs import FailureLog
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
        b"{\n",
        b"[]\n",
        b"{}\n",
        b"\xff\n",
        b'{"id": "c", "domain": "d"}\n3\n',
        b'{"id": "c", "domain": "d"}\n"x"\n',
        b'{"id": "c", "domain": "d"}\n{"id": "t", "question": "", "answer": "", "passages": 1, "shown": []}\n',
        b'{"id": "c", "domain": "d"}\n{"id": "t", "question": "", "answer": "", "passages": "", "shown": [3]}\n',
    ],
)
def test_a_broken_file_is_named(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_bytes(data)
    with pytest.raises(DataError, match="c.jsonl: this is not a saved conversation"):
        Conversations(tmp_path).get("c")


def saved_lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_a_turn_is_appended_and_nothing_else_is_written_again(tmp_path: Path) -> None:
    kept = Conversations(tmp_path)
    going, path = kept.open("c", "moon"), tmp_path / "c.jsonl"
    for number in range(3):
        going.add_turn(Turn(f"c<::>{number}", f"\ud800 {number}?\u2028", "Yes.", (Passage("p", "text"),)))
        kept.save(going)
        file = path.stat().st_ino
        assert len(saved_lines(path)) == number + 2
    path.write_bytes(path.read_bytes().replace(b"Yes.", b"Yep."))  # of the same length: only what is read tells
    again = Conversations(tmp_path)
    conversation = again.open("c", "ignored")
    assert (conversation.domain, len(conversation.history)) == ("moon", 3)
    conversation.add_turn(Turn("c<::>3", "3?"))
    again.save(conversation)
    assert path.stat().st_ino == file  # it was never replaced
    assert [turn.answer for turn in Conversations(tmp_path).open("c", "").history] == ["Yep.", "Yep.", "Yep.", ""]


@pytest.mark.parametrize("change", ["edit", "undo", "delete", "foreign line", "torn line"])
def test_a_file_that_is_not_as_it_was_left_is_written_anew(change: str, tmp_path: Path) -> None:
    kept, path = Conversations(tmp_path), tmp_path / "c.jsonl"
    going = kept.open("c", "default")
    for number in range(4):
        going.add_turn(Turn(f"c<::>{number}", f"{number}?", "Yes."))
        kept.save(going)
    if change == "edit":
        going.history[1] = Turn("c<::>1", "another?", "No.")
    elif change == "undo":
        going.history.pop()
    elif change == "delete":
        path.unlink()
    elif change == "foreign line":
        path.write_bytes(path.read_bytes() + b"{}\n")
    else:  # as after a kill: the turn was not saved, and the process that goes on reads the file
        path.write_bytes(path.read_bytes() + saved_lines(path)[-1][:-7])
        kept = Conversations(tmp_path)
        assert kept.open("c", "default").history == going.history
        going = kept.open("c", "default")
    going.add_turn(Turn("c<::>new", "new?", "Yes."))
    kept.save(going)
    assert Conversations(tmp_path).open("c", "default").history == going.history
    assert len(saved_lines(path)) == 1 + len(going.history)


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


def test_memory_has_a_bound_by_default() -> None:
    held = Conversations()
    for number in range(10_003):
        held.open(f"c{number}", "default")
    assert len(held._in_memory) == len(held._referenced) == 10_000
    assert held.get("c2") is None
    assert held.get("c3") is not None


def test_reasons_of_failures_are_not_kept_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    failures = FailureLog()
    caplog.set_level("INFO", logger="convrag.turn.logs")
    for number in [*range(1500), 1499, 0]:
        failures.log_failure(f"reason {number}", "failed: %s", number, error=ValueError("x"))
    assert len(failures._seen) == 1000
    assert [record.levelname for record in caplog.records[-3:]] == ["WARNING", "INFO", "WARNING"]


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


def test_ids_of_any_form_are_files_of_their_own(tmp_path: Path) -> None:
    """An id of 300 characters ended in OSError; "Tea" and "tea" are one file where a file system ignores case."""
    ids = sorted(["x" * 300, "x" * 299 + "y", "Tea", "tea", "..", "", "nul", "a/b"])
    chat = pipeline(conversations=Conversations(tmp_path / "kept"))
    for each in ids:
        chat.turn(each, f"Is it {each}?")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert len({path.name.casefold() for path in (tmp_path / "kept").iterdir()}) == len(ids)
    kept = Conversations(tmp_path / "kept")
    assert kept.ids() == ids
    for each in ids:
        assert kept.open(each, "default").history[0].question == f"Is it {each}?"


def test_a_folder_may_be_a_text_and_a_file_is_none(tmp_path: Path) -> None:
    pipeline(conversations=Conversations(str(tmp_path))).turn("c", "one?")
    assert Conversations(tmp_path).ids() == ["c"]
    with pytest.raises(DataError, match=r"c.jsonl: this is a file, where a folder for conversations is needed"):
        Conversations(tmp_path / "c.jsonl")


@pytest.mark.parametrize("text", ["", " \n", None, 3])
def test_an_empty_question_is_refused_and_leaves_no_turn(text: Any) -> None:
    """`turn("a", "")` ended in IndexError."""
    chat = pipeline()
    for ask in (chat.turn, chat.rewrite):
        with pytest.raises(ConfigError, match="the question is .*: it must be a text that is not empty"):
            ask("a", text)
    with pytest.raises(ConfigError, match="top_k=0: it must be at least 1"):
        chat.turn("a", "one?", top_k=0)
    assert chat.conversations.get("a") is None
