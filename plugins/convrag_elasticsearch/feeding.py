"""Passages on their way into an index: streamed, sent again where turned away, skipped where they are there."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from convrag import Passage
from convrag_elasticsearch.documents import document, document_id
from convrag_elasticsearch.failures import PASSING
from convrag_elasticsearch.retrying import Patience, pause

_BATCH = 256
"""Passages that are looked at together: asked for on the cluster, given to an embedder."""

_EXISTS = 409

Action = dict[str, Any]
Fields = Callable[[Sequence[Passage]], Sequence[dict[str, Any]]]


class Feed:
    """Turns passages into actions for the bulk helper, which takes them from another thread only as fast as it sends.

    `seen` counts the passages, `there` those that the index had already. `refused` is the first item that it will never
    take.

    Args:
        passages: all of them; each is read once.
        fields: what is indexed of passages beside their document.
        present: the document ids, of some, that the index has already.
        patience: says how often an item that was turned away is sent again.
        stopped: whether a request has failed for good.
    """

    def __init__(
        self,
        passages: Iterator[Passage],
        fields: Fields,
        present: Callable[[Sequence[str]], set[str]],
        patience: Patience,
        stopped: Callable[[], bool],
    ) -> None:
        self.seen = self.there = 0
        self.refused: dict[str, Any] | None = None
        self._passages = passages
        self._fields = fields
        self._present = present
        self._patience = patience
        self._stopped = stopped
        self._stop = threading.Event()
        self._on_the_way: dict[str, Action] = {}
        self._turned_away: deque[Action] = deque()
        self._tries: dict[str, int] = {}
        self._not_before = 0.0

    def actions(self) -> Iterator[Action]:
        """All passages; what was turned away meanwhile goes first."""
        while batch := list(islice(self._passages, _BATCH)):
            for action in self._batch(batch):
                yield from self.again()
                if self.ended:
                    return
                yield action
        yield from self.again()

    def again(self) -> Iterator[Action]:
        """What was turned away, after a pause."""
        while self._turned_away and not self.ended:
            self._stop.wait(max(0.0, self._not_before - time.monotonic()))
            yield self._turned_away.popleft()

    def settle(self, taken: bool, item: dict[str, Any]) -> None:
        """Take note of the cluster's answer to an action."""
        ((_, answer),) = item.items()
        status = int(answer["status"])
        key = str(answer["_id"])
        if taken or status == _EXISTS:  # of an earlier try whose answer was lost
            self._on_the_way.pop(key, None)
            self._tries.pop(key, None)
            return
        tries = self._tries[key] = self._tries.get(key, 0) + 1
        if status not in PASSING or tries > self._patience.retries:
            self.refused = self.refused or answer
            self.stop()
            return
        self._not_before = max(self._not_before, time.monotonic() + pause(tries))
        self._turned_away.append(self._on_the_way[key])

    def stop(self) -> None:
        """Give no further actions."""
        self._stop.set()

    @property
    def ended(self) -> bool:
        """Whether it was stopped."""
        return self._stop.is_set() or self._stopped()

    @property
    def waiting(self) -> bool:
        """Whether something was turned away that is to be sent again."""
        return bool(self._turned_away) and not self.ended

    def _batch(self, passages: Sequence[Passage]) -> Iterator[Action]:
        self.seen += len(passages)
        found = self._present([document_id(passage.id) for passage in passages])
        missing = [passage for passage in passages if document_id(passage.id) not in found]
        self.there += len(passages) - len(missing)
        if not missing:
            return
        for passage, fields in zip(missing, self._fields(missing), strict=True):
            action: Action = {
                "_op_type": "create",
                "_id": document_id(passage.id),
                "_source": document(passage) | fields,
            }
            self._on_the_way[document_id(passage.id)] = action
            yield action
