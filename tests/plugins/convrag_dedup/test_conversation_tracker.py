"""`ConversationTracker` finds what a walk up the whole chain of requests would find."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from convrag import ConfigError
from convrag_dedup import ConversationTracker
from convrag_dedup.deduplication import normalise_id


def test_a_chain_of_requests_is_a_conversation() -> None:
    tracker = ConversationTracker()
    first = tracker.deduplicate("r1", [4, 1, 2])
    assert first.is_new_conversation
    assert first.new_docs == [4, 1, 2]
    second = tracker.deduplicate("r2", [1, 5, 2], parent_request_id="r1")
    assert not second.is_new_conversation
    assert second.new_docs == [5]
    assert second.overlapping_docs == [1, 2]
    assert second.reference_hints == [
        "Please refer to [Doc_1] in the previous conversation.",
        "Please refer to [Doc_2] in the previous conversation.",
    ]
    third = tracker.deduplicate("r3", ["5", 4, 6, 6], parent_request_id="r2")
    assert third.new_docs == [6]
    assert third.overlapping_docs == ["5", 4]
    assert tracker.get_conversation_chain("r3") == ["r1", "r2", "r3"]


def test_an_unknown_parent_begins_a_conversation() -> None:
    tracker = ConversationTracker()
    assert tracker.deduplicate("r2", [1], parent_request_id="gone").is_new_conversation
    assert tracker.get_conversation_chain("r2") == ["r2"]
    assert tracker.get_conversation_chain("gone") == []


def test_clearing_a_conversation_leaves_others() -> None:
    tracker = ConversationTracker()
    tracker.deduplicate("a1", [1])
    tracker.deduplicate("a2", [2], "a1")
    tracker.deduplicate("b1", [1])
    assert tracker.clear_conversation("a2") == 2
    assert tracker.deduplicate("a3", [1], "a2").is_new_conversation
    assert tracker.get_conversation_chain("b1") == ["b1"]
    tracker.reset()
    assert tracker.get_conversation_chain("b1") == []


def test_requests_that_name_each_other_end() -> None:
    tracker = ConversationTracker()
    tracker.deduplicate("a", [1])
    tracker.deduplicate("b", [2], "a")
    assert tracker.deduplicate("a", [3, 2], "b").overlapping_docs == [2]
    assert tracker.get_conversation_chain("a") == ["b", "a"]


def test_a_limit_below_one_is_an_error() -> None:
    with pytest.raises(ConfigError, match="max_requests=0: .* at least 1"):
        ConversationTracker(max_requests=0)


class WalkingTracker:
    """The tracker in its plainest form: each call joins the sets of all requests before it."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.requests: dict[str, tuple[str | None, set[str]]] = {}

    def list_chain(self, name: str | None) -> list[str]:
        chain: list[str] = []
        while name is not None and name in self.requests and name not in chain:
            chain.append(name)
            name = self.requests[name][0]
        return chain

    def deduplicate(self, name: str, documents: list[Any], parent: str | None) -> Any:
        given: dict[str, Any] = {}
        for document in documents:
            given.setdefault(normalise_id(document), document)
        chain = self.list_chain(parent)
        shown = {document for each in chain if each != name for document in self.requests[each][1]}
        self.requests.pop(name, None)
        self.requests[name] = (parent if chain else None, given.keys() - shown)
        while self.limit is not None and len(self.requests) > self.limit:
            del self.requests[next(iter(self.requests))]
        new = [given[key] for key in given if key not in shown]
        return not chain, new, [given[key] for key in given if key in shown]

    def clear(self, name: str) -> int:
        chain = self.list_chain(name)
        for each in chain:
            del self.requests[each]
        return len(chain)


NAMES = st.sampled_from("abcdefgh")
DOCUMENTS = st.lists(st.integers(0, 9) | st.sampled_from(["1", " 2", "3"]), max_size=4)
REQUEST = st.tuples(NAMES, DOCUMENTS, st.none() | NAMES)
NEXT_REQUEST = st.tuples(st.none(), DOCUMENTS, st.none())
"""A new request after the last one; a name alone clears a conversation."""


@settings(max_examples=200)
@given(
    st.lists(REQUEST | REQUEST | NEXT_REQUEST | NEXT_REQUEST | NAMES, max_size=40),
    st.none() | st.integers(1, 6),
)
def test_it_finds_what_a_walk_up_the_chain_finds(steps: list[Any], limit: int | None) -> None:
    tracker = ConversationTracker(max_requests=limit)
    plain = WalkingTracker(limit)
    last = None
    for number, step in enumerate(steps):
        if isinstance(step, str):
            assert tracker.clear_conversation(step) == plain.clear(step)
            continue
        name, documents, parent = step
        if name is None:
            name = f"n{number}"
            parent = last
        last = name
        done = tracker.deduplicate(name, documents, parent)
        found = (done.is_new_conversation, done.new_docs, done.overlapping_docs)
        assert found == plain.deduplicate(name, documents, parent)
        for each in (*"abcdefgh", name):
            assert tracker.get_conversation_chain(each) == plain.list_chain(each)[::-1]
    assert len(tracker._requests) == len(plain.requests)
