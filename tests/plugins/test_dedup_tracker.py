"""`ConversationTracker` finds what a walk up the whole chain would find, whatever happens to the requests."""

from typing import Any

from hypothesis import given, settings, strategies as st

from convrag_dedup import ConversationTracker
from convrag_dedup.deduplication import normalise_id


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


@settings(max_examples=600)
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
