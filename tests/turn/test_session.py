import gc
from typing import Any

import pytest

from convrag import ConfigError, Conversations, Turn, UnknownName
from convrag.api.errors import OtherConfiguration
from convrag.turn.logs import FailureLog
from toys import pipeline


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
    assert len(failures._seen) <= 1000
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
    with pytest.raises(
        OtherConfiguration, match="'c' was begun with domain=mars; this is domain=moon"
    ):
        chat.turn("c", "three?", domain="moon")


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
    conversations.delete("c")
    assert conversations.open("c", "default") is not kept


def test_conversations_in_memory_are_bounded_by_their_characters() -> None:
    """Ten thousand of 2,000 turns each took all memory."""
    chat = pipeline(conversations=Conversations(characters=20_000))
    chat.turn("short", "tea?")
    for number in range(3):
        chat.turn("long", f"{number} {'word ' * 1600}")
        chat.turn("other", "and tea?")
    kept = chat.conversations
    gc.collect()
    assert kept.get("short") is None
    assert kept.get("long") is None
    chat.turn("alone", "word " * 9000)  # longer than the bound: the one that is used stays
    assert kept.get("alone") is not None
    assert kept.ids() == ["alone"]
    assert kept._characters == sum(each.characters for each in kept._in_memory.values())


def test_the_characters_of_a_conversation_follow_its_turns() -> None:
    chat = pipeline()
    session = chat.conversations.open("c", "default")
    for text in ("one?", "two words?"):
        chat.turn("c", text)
        assert chat.conversations._characters == session.count_characters() > 0
    chat.regenerate("c")
    assert chat.conversations._characters == session.count_characters()
    chat.reset("c")
    assert chat.conversations._characters == 0


@pytest.mark.parametrize("text", ["", " \n", None, 3])
def test_an_empty_question_is_refused_and_leaves_no_turn(text: Any) -> None:
    """`turn("a", "")` ended in IndexError."""
    chat = pipeline()
    for ask in (chat.turn, chat.rewrite):
        with pytest.raises(
            ConfigError, match="the question is .*: it must be a text that is not empty"
        ):
            ask("a", text)
    with pytest.raises(ConfigError, match="top_k=0: it must be at least 1"):
        chat.turn("a", "one?", top_k=0)
    assert chat.conversations.get("a") is None
