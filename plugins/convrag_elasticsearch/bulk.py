"""Bulk actions for the passages of a corpus: streamed, skipped where indexed already, repeated where rejected."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from convrag import Passage
from convrag_elasticsearch.documents import build_document, build_document_id
from convrag_elasticsearch.errors import TRANSIENT_STATUSES
from convrag_elasticsearch.retries import RetryPolicy, backoff_seconds

_BATCH = 256
"""Passages that are looked up on the cluster, and embedded, together."""

_CONFLICT = 409
"""The status of a document that exists already."""

Action = dict[str, Any]
FieldBuilder = Callable[[Sequence[Passage]], Sequence[dict[str, Any]]]


class BulkActions:
    """Makes bulk actions of passages. The bulk helper takes them from another thread, only as fast as it sends.

    `passage_count` counts the passages, `existing_count` those that the index had already. `rejected_item` is the first
    item of a reply that the cluster rejects for good.

    Args:
        passages: all of them; each is read once.
        build_fields: builds the subqueries' fields of passages.
        find_existing: document ids -> those that the index has already.
        policy: how often a rejected item is sent again.
        has_failed: whether a request has failed for good.
    """

    def __init__(
        self,
        passages: Iterator[Passage],
        build_fields: FieldBuilder,
        find_existing: Callable[[Sequence[str]], set[str]],
        policy: RetryPolicy,
        has_failed: Callable[[], bool],
    ) -> None:
        self.passage_count = self.existing_count = 0
        self.rejected_item: dict[str, Any] | None = None
        self._passages = passages
        self._build_fields = build_fields
        self._find_existing = find_existing
        self._policy = policy
        self._has_failed = has_failed
        self._stop = threading.Event()
        self._pending: dict[str, Action] = {}
        self._retry_queue: deque[Action] = deque()
        self._attempts: dict[str, int] = {}
        self._retry_time = 0.0

    def stream(self) -> Iterator[Action]:
        """Yield an action for each passage; rejected ones are repeated in between."""
        while batch := list(islice(self._passages, _BATCH)):
            for action in self._build_actions(batch):
                yield from self.stream_retries()
                if self.stopped:
                    return
                yield action
        yield from self.stream_retries()

    def stream_retries(self) -> Iterator[Action]:
        """Yield the actions that were rejected, each after its wait."""
        while self._retry_queue and not self.stopped:
            self._stop.wait(max(0.0, self._retry_time - time.monotonic()))
            yield self._retry_queue.popleft()

    def record_result(self, succeeded: bool, item: dict[str, Any]) -> None:
        """Record the cluster's reply to an action: it is done, repeated later, or rejected for good."""
        ((_, result),) = item.items()
        status = int(result["status"])
        key = str(result["_id"])
        if succeeded or status == _CONFLICT:  # a conflict: an earlier attempt succeeded, and its reply was lost
            self._pending.pop(key, None)
            self._attempts.pop(key, None)
            return
        attempts = self._attempts[key] = self._attempts.get(key, 0) + 1
        if status not in TRANSIENT_STATUSES or attempts > self._policy.retries:
            self.rejected_item = self.rejected_item or result
            self.stop()
            return
        self._retry_time = max(self._retry_time, time.monotonic() + backoff_seconds(attempts))
        self._retry_queue.append(self._pending[key])

    def stop(self) -> None:
        """Yield no further actions."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        """Whether no further actions are yielded, by `stop` or after a request that failed."""
        return self._stop.is_set() or self._has_failed()

    @property
    def has_retries(self) -> bool:
        """Whether rejected actions are to be sent again."""
        return bool(self._retry_queue) and not self.stopped

    def _build_actions(self, passages: Sequence[Passage]) -> Iterator[Action]:
        self.passage_count += len(passages)
        existing = self._find_existing([build_document_id(passage.id) for passage in passages])
        missing = [passage for passage in passages if build_document_id(passage.id) not in existing]
        self.existing_count += len(passages) - len(missing)
        if not missing:
            return
        for passage, fields in zip(missing, self._build_fields(missing), strict=True):
            id_ = build_document_id(passage.id)
            action: Action = {"_op_type": "create", "_id": id_, "_source": build_document(passage) | fields}
            self._pending[id_] = action
            yield action
