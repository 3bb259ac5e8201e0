"""`ConversationTracker` finds what a walk up the whole chain would find, whatever happens to the requests."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convrag_dedup import ConversationTracker
from convrag_dedup.deduplication import normalise_id
from convrag_dedup.persistent_map import PersistentMap
from convrag_dedup.request_chains import RequestChains


class WalkingTracker:
    """The tracker in its plainest form: each call joins the sets of all ancestors."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.requests: dict[str, tuple[str | None, frozenset[str]]] = {}

    def chain(self, name: str | None) -> list[str]:
        chain: dict[str, None] = {}
        while name is not None and name in self.requests and name not in chain:
            chain[name] = None
            name = self.requests[name][0]
        return list(chain)

    def deduplicate(self, name: str, documents: list[Any], parent: str | None) -> tuple[bool, list[Any], list[Any]]:
        given: dict[str, Any] = {}
        for document in documents:
            given.setdefault(normalise_id(document), document)
        chain = self.chain(parent)
        shown = {document for each in chain if each != name for document in self.requests[each][1]}
        new = [key for key in given if key not in shown]
        self.requests.pop(name, None)
        self.requests[name] = (parent if chain else None, frozenset(new))
        while self.limit is not None and len(self.requests) > self.limit:
            del self.requests[next(iter(self.requests))]
        return not chain, [given[key] for key in new], [given[key] for key in given if key in shown]

    def clear(self, name: str) -> int:
        chain = self.chain(name)
        for each in chain:
            del self.requests[each]
        return len(chain)


names = st.sampled_from("abcdefgh")
documents = st.lists(st.integers(0, 9) | st.sampled_from(["1", " 2", "3"]), max_size=4)
asking = st.tuples(names, documents, st.none() | names)
growing = st.tuples(st.none(), documents, st.none())  # a new request after the last one
steps = st.lists(asking | asking | growing | growing | names, max_size=40)


@settings(max_examples=600, deadline=None)
@given(steps, st.none() | st.integers(0, 6))
def test_it_finds_what_a_walk_up_the_chain_finds(steps: list[Any], limit: int | None) -> None:
    tracker, plain, last, count = ConversationTracker(limit=limit), WalkingTracker(limit), None, 0
    for step in steps:
        if isinstance(step, str):
            assert tracker.clear_conversation(step) == plain.clear(step)
            continue
        name, docs, parent = step
        if name is None:
            count += 1
            name, parent = f"n{count}", last
        last = name
        done = tracker.deduplicate(name, docs, parent)
        found = (done.is_new_conversation, done.new_docs, done.overlapping_docs)
        assert found == plain.deduplicate(name, docs, parent)
        for each in (*"abcdefgh", name):
            assert tracker.get_conversation_chain(each) == plain.chain(each)[::-1]
    assert len(tracker._requests) == len(plain.requests)


@pytest.mark.parametrize("limit", [None, 40])
@pytest.mark.parametrize("seed", range(5))
def test_long_conversations_with_branches(seed: int, limit: int | None) -> None:
    """Now and then a request is replaced, with others behind it, or begins a branch far back."""
    random = Random(seed)
    tracker, plain = ConversationTracker(limit=limit), WalkingTracker(limit)
    for number in range(1000):
        name = str(random.randrange(number) if number and random.random() < 0.1 else number)
        back = random.randrange(1, 40) if random.random() < 0.2 else 1
        ids = [random.randrange(200) for _ in range(5)]
        done = tracker.deduplicate(name, ids, str(number - back))
        found = (done.is_new_conversation, done.new_docs, done.overlapping_docs)
        assert found == plain.deduplicate(name, ids, str(number - back))


def test_a_document_that_two_ancestors_have_shown_is_known_as_long_as_one_is() -> None:
    tracker = ConversationTracker()
    tracker.deduplicate("a", [0])
    tracker.deduplicate("b", [1], "a")
    tracker.clear_conversation("a")
    tracker.deduplicate("a", [1])  # an ancestor again, which has now shown what b has shown
    assert tracker.deduplicate("c", [1], "b").overlapping_docs == [1]
    tracker.clear_conversation("a")
    assert tracker.deduplicate("d", [1], "c").overlapping_docs == [1]


def test_what_dropped_requests_have_shown_is_not_kept_for_ever() -> None:
    """A conversation without an end, of which the newest requests are kept."""
    tracker = ConversationTracker(limit=20)
    for number in range(1000):
        tracker.deduplicate(str(number), range(5 * number, 5 * number + 5), str(number - 1))
    seen = tracker._requests._read_seen("999")
    assert len(seen) <= 2 * 20 * 5 + 5
    assert tracker.deduplicate("next", [5 * 900, 5 * 990], "999").overlapping_docs == [5 * 990]


def test_it_has_a_bound_by_default() -> None:
    tracker = ConversationTracker()
    for number in range(10_050):
        tracker.deduplicate(str(number), [number])
    assert len(tracker._requests) == 10_000
    assert tracker.get_conversation_chain("49") == []


def test_nothing_is_left_of_forgotten_requests() -> None:
    chains = RequestChains()
    for number in range(50):
        chains.add(str(number), str(number - 1) if number else None, ("x",))
    for number in reversed(range(50)):
        chains.drop(str(number))
    assert (chains._requests, chains._children) == ({}, {})


class Clashing(str):
    """A text whose hash is that of many others."""

    __slots__ = ()

    def __hash__(self) -> int:
        return len(self) % 3


@pytest.mark.parametrize("key", [str, Clashing])
def test_a_map_keeps_its_versions_apart(key: Any) -> None:
    maps: list[tuple[PersistentMap[str, int], dict[str, int]]] = [(PersistentMap(), {})]
    for number in range(60):
        known, plain = maps[number // 2]
        new = {key(str((number * 7 + each) % 97)): number for each in range(number % 9)}
        maps.append((known.add(new), {**plain, **new}))
    for known, plain in maps:
        assert len(known) == len(plain)
        assert all(known.get(key(str(each))) == plain.get(key(str(each))) for each in range(97))
        even = known.filter(lambda value: value % 2 == 0)
        assert len(even) == sum(value % 2 == 0 for value in plain.values())
