"""Requests, each with the request before it, and the documents that a request and its ancestors have shown."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from convrag_dedup.persistent_map import PersistentMap

_FEWEST = 64  # entries of dropped requests that may stay in a map


class _Tree:
    """What the maps of connected requests have in common: False as soon as a request before one of them has changed."""

    __slots__ = ("unchanged",)

    def __init__(self) -> None:
        self.unchanged = True


class _Request:
    """A request.

    Attributes:
        name: its id.
        parent: the id of the request before it, which may be forgotten by now; None for the first of a conversation.
        documents: the ids that it has shown.
        kept: False when it has been dropped or replaced.
        seen: document -> the request that has shown it, for all that it and its ancestors have shown; an entry whose
            request is no longer kept does not count. None until it is asked for.
        size: at least the number of entries in `seen`.
        crowded: from this size on, the entries of dropped requests are removed.
        tree: `seen` holds as long as this is unchanged.
    """

    __slots__ = ("crowded", "documents", "kept", "name", "parent", "seen", "size", "tree")

    def __init__(self, name: str, parent: str | None, documents: tuple[str, ...]) -> None:
        self.name = name
        self.parent = parent
        self.documents = documents
        self.kept = True
        self.seen: PersistentMap[str, _Request] | None = None
        self.size = 0
        self.crowded = _FEWEST
        self.tree = _Tree()


class RequestChains:
    """Requests by id, each of which names the one before it.

    A request keeps a map of all that its chain has shown. The maps of a chain share their parts, so a new request costs
    the logarithm of the chain's length, also where it is the second child of its parent. Dropping the oldest requests
    of a chain changes no map: their entries no longer count. Where a request in the middle of a chain is replaced,
    dropped, or known again, the maps after it are made anew, each when it is next asked for, by a walk up the chain.
    """

    def __init__(self) -> None:
        self._requests: dict[str, _Request] = {}
        self._children: dict[str, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._requests)

    def __contains__(self, name: object) -> bool:
        return name in self._requests

    def list_chain(self, name: str | None) -> list[str]:
        """A request and its ancestors, newest first. Requests that are each other's ancestors end the chain."""
        chain: dict[str, None] = {}
        while name is not None and name in self._requests and name not in chain:
            chain[name] = None
            name = self._requests[name].parent
        return list(chain)

    def find_shown(self, documents: Iterable[str], parent: str | None, name: str) -> set[str]:
        """Those of the documents that the chain of a new request has shown.

        Args:
            documents: their ids.
            parent: the request before the new one.
            name: the new request's. An earlier request of this name will be replaced, and does not count.
        """
        if parent is None or parent not in self._requests:
            return set()
        if name in self._requests and (name == parent or name in self._children):  # it may be its own ancestor
            chain = [self._requests[each] for each in self.list_chain(parent) if each != name]
            return {document for request in chain for document in request.documents}.intersection(documents)
        seen = self._read_seen(parent)
        return {each for each in documents if (request := seen.get(each)) is not None and request.kept}

    def add(self, name: str, parent: str | None, documents: tuple[str, ...]) -> None:
        """Add a request after all others; it replaces one of the same name.

        Args:
            name: its id.
            parent: the request before it; None for the first one of a conversation.
            documents: the ids that it has shown.
        """
        if name in self._requests:
            self.drop(name)
        self._requests[name] = _Request(name, parent, documents)
        self._mark_changed(name)
        if parent is not None:
            self._children.setdefault(parent, {})[name] = None

    def drop(self, name: str) -> None:
        """Forget a request; those after it remain."""
        request = self._requests.pop(name)
        request.kept, request.seen, request.documents = False, None, ()
        if request.parent is not None:
            siblings = self._children[request.parent]
            del siblings[name]
            if not siblings:
                del self._children[request.parent]
            if request.parent in self._requests:  # those after it had more ancestors than this one
                self._mark_changed(name)

    def drop_oldest(self) -> None:
        """Forget the request that was added first."""
        self.drop(next(iter(self._requests)))

    def _mark_changed(self, name: str) -> None:
        """Note that the requests after this one have other ancestors than before."""
        for child in self._children.get(name, ()):
            self._requests[child].tree.unchanged = False

    def _read_seen(self, name: str) -> PersistentMap[str, _Request]:
        """What a request and its ancestors have shown, by a walk up to the first one whose map is up to date."""
        request: _Request | None = self._requests[name]
        walked: dict[str, _Request] = {}
        while request is not None and request.name not in walked:
            if request.seen is not None and request.tree.unchanged:
                break
            walked[request.name] = request
            request = None if request.parent is None else self._requests.get(request.parent)
        if request is None or request.name in walked:  # the first one of a conversation, or one of a circle
            seen, size, crowded, tree = PersistentMap[str, _Request](), 0, _FEWEST, _Tree()
        else:
            seen, size, crowded, tree = *_remove_dropped(request), request.tree
        if not walked:
            return seen
        # of two requests that have shown a document, the one that will be dropped last
        added = {document: each for each in reversed(walked.values()) for document in each.documents}
        for each in walked.values():
            each.seen, each.tree = None, tree
        asked = self._requests[name]
        asked.seen, asked.size, asked.crowded = seen.add(added), size + len(added), crowded
        return asked.seen


def _remove_dropped(request: _Request) -> tuple[PersistentMap[str, _Request], int, int]:
    """A request's map, its size and the size at which it is crowded; of a crowded one, dropped requests are removed."""
    assert request.seen is not None
    if request.size >= request.crowded:
        request.seen = request.seen.filter(attrgetter("kept"))
        request.size = len(request.seen)
        request.crowded = max(2 * request.size, _FEWEST)
    return request.seen, request.size, request.crowded
