"""Thoughts are separated from a reply, wherever its pieces are cut."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from convrag import Completion, Message, Prompt
from convrag.sdk.llm.thoughts import ThoughtSplitter, separate_thoughts, split_thoughts
from convrag.store.remember import remember
from convrag.store.store import Store
from toys import Says

THOUGHT = "\nThe user asks about towns [2].\nMaybe Deal?\n"

REPLIES = {
    "A dog.": ("", "A dog."),
    f"<think>{THOUGHT}</think>\n\nHull [1].": (THOUGHT.strip(), "Hull [1]."),
    f"{THOUGHT}</think>\n\nHull [1].": (THOUGHT.strip(), "Hull [1]."),
    "<think>cut": ("cut", ""),
    "<think></think>A dog.": ("", "A dog."),
    "<think>a</think>\n<think>b</think>c": ("a\nb", "c"),
    "[THINK]a[/THINK]b": ("a", "b"),
    "◁think▷a◁/think▷b": ("a", "b"),
    "<thinking>a </think> b</thinking>c": ("a </think> b", "c"),
    '"Hull."</think>Goole': ('"Hull."', "Goole"),
    "<think>a</think>b</think>c": ("a", "bc"),
    "R1 ends its thoughts with `</think>`.": ("", "R1 ends its thoughts with `</think>`."),
    "<thin air> and a < b </thin": ("", "<thin air> and a < b </thin"),
}
"""Reply -> its thoughts and its text."""


@pytest.mark.parametrize("reply", REPLIES)
def test_thoughts_and_text(reply: str) -> None:
    assert split_thoughts(reply) == REPLIES[reply]


@given(st.sampled_from(sorted(REPLIES)), st.data())
def test_the_same_in_pieces(reply: str, data: st.DataObject) -> None:
    splitter = ThoughtSplitter()
    rest = reply
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        splitter.add(rest[:size])
        rest = rest[size:]
    splitter.finish()
    assert (splitter.thoughts, splitter.text) == REPLIES[reply]


@given(st.text())
def test_nothing_of_a_text_is_lost(text: str) -> None:
    splitter = ThoughtSplitter()
    passed = [splitter.add(character) for character in text]
    passed.append(splitter.finish())
    assert "".join(passed) == text


class TestReplyThatMayBeginInsideAThought:
    def test_nothing_is_passed_on_before_the_closing_tag(self) -> None:
        splitter = ThoughtSplitter(begins_inside=True)
        assert splitter.add("Is it Hull? </thi") == ""
        assert splitter.add("nk>Hull.") == "Hull."
        assert splitter.closed_unopened

    def test_without_a_tag_it_is_a_text(self) -> None:
        splitter = ThoughtSplitter(begins_inside=True)
        assert splitter.add("Hull") == ""
        assert splitter.finish() == "Hull"
        assert (splitter.thoughts, splitter.text) == ("", "Hull")

    def test_without_a_tag_it_is_a_thought_where_it_was_cut(self) -> None:
        assert split_thoughts("Is it Hull", begins_inside=True, cut=True) == ("Is it Hull", "")

    def test_thoughts_that_come_apart_say_that_the_text_begins(self) -> None:
        splitter = ThoughtSplitter(begins_inside=True)
        splitter.expect_text()
        assert splitter.add("Hull") == "Hull"


def test_a_reply_of_an_earlier_version_is_separated() -> None:
    earlier = Completion("<think>Laika?</think>A dog.", completion_tokens=9)
    assert separate_thoughts(earlier) == replace(earlier, text="A dog.", reasoning="Laika?")
    assert separate_thoughts(Completion("A dog.")) == Completion("A dog.")


def test_what_the_store_has_of_an_earlier_version_is_separated(tmp_path: Path) -> None:
    llm = Says("<think>Laika?</think>A dog.")
    llm.fingerprint = "x"
    remember(llm, Store(tmp_path))
    prompt = Prompt("answer", (Message("user", "Who was Laika?"),))
    computed = llm.complete(prompt)
    assert (computed.text, computed.reasoning) == ("A dog.", "Laika?")
    assert llm.complete(prompt) == computed
    assert len(llm.prompts) == 1
