"""Builds an index: half of one is never seen by a search, and what is there is not sent twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from convrag import Passage
from convrag.sdk.progress import track
from convrag_elasticsearch.cluster import Cluster
from convrag_elasticsearch.failures import ClusterError, item_error
from convrag_elasticsearch.feeding import Feed, Fields
from convrag_elasticsearch.names import generation_of, index_of
from convrag_elasticsearch.published import META, Published, published

_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Plan:
    """What is to be built.

    Args:
        domain: of the corpus, for people.
        alias: under which the index is searched once it is complete.
        latest: the alias, for people, of what was completed last.
        mapping: of the index.
        settings: of the index.
        processors: what the cluster does with each document first.
        about: what a person who finds the index should know.
    """

    domain: str
    alias: str
    latest: str
    mapping: Mapping[str, Any]
    settings: Mapping[str, Any]
    processors: Sequence[Mapping[str, Any]]
    about: Mapping[str, Any]


@dataclass(frozen=True)
class Pace:
    """How passages are sent.

    Args:
        threads: requests on their way at a time.
        chunk: passages in a request.
        chunk_bytes: of a request, at most.
    """

    threads: int
    chunk: int
    chunk_bytes: int


class Builder:
    """Builds what a plan says, or goes on where a killed one stopped.

    Args:
        cluster: is asked.
        sender: the same cluster, through a client that does nothing but send passages.
        pace: how they are sent.
    """

    def __init__(self, cluster: Cluster, sender: Cluster, pace: Pace) -> None:
        self.cluster = cluster
        self.sender = sender
        self.pace = pace

    def build(self, plan: Plan, passages: Callable[[], Iterator[Passage]], fields: Fields) -> str:
        """What was done, in a sentence. Raises ClusterError where the index cannot be completed; it stays unseen."""
        there = published(self.cluster, plan.alias)
        if there and there.complete:
            return f"{plan.domain}: {there.passages:,} passages are in {there.name} already"
        index, begun = self._target(plan, there)
        feed = self._feed(index, begun, passages(), fields)
        self._send(feed, index, f"Indexing {plan.domain}")
        self._finish(feed, index)
        self._publish(plan, index, feed.seen, there)
        again = f", {feed.there:,} of them from an earlier attempt" if feed.there else ""
        return f"{plan.domain}: {feed.seen:,} passages are in {index}{again}"

    def _target(self, plan: Plan, there: Published | None) -> tuple[str, bool]:
        """The index to fill, and whether an earlier attempt began it. One that lost passages is built anew beside."""
        states = self.cluster.ask(lambda client: client.indices.get(index=f"{plan.alias}-*"), absent=_NOTHING)
        last = max((generation_of(name) for name in states), default=0)
        if last > (generation_of(there.name) if there else 0):
            return index_of(plan.alias, last), True
        index = index_of(plan.alias, last + 1)
        self._create(plan, index)
        return index, False

    def _create(self, plan: Plan, index: str) -> None:
        settings = dict(plan.settings)
        if plan.processors:
            processors = [dict(processor) for processor in plan.processors]
            self.cluster.ask(lambda client: client.ingest.put_pipeline(id=plan.alias, processors=processors))
            settings["default_pipeline"] = plan.alias
        mapping = {**plan.mapping, "_meta": {META: dict(plan.about)}}
        try:
            self.cluster.ask(lambda client: client.indices.create(index=index, mappings=mapping, settings=settings))
        except ClusterError as error:
            if "resource_already_exists_exception" not in str(error):
                raise  # else somebody began at the same moment, or our own first request came through after all

    def _feed(self, index: str, begun: bool, passages: Iterator[Passage], fields: Fields) -> Feed:
        def present(ids: Sequence[str]) -> set[str]:
            if not begun:
                return set()
            docs = self.cluster.ask(lambda client: client.mget(index=index, ids=list(ids), source=False))["docs"]
            return {doc["_id"] for doc in docs if doc.get("found")}

        failed = self.sender.ask(lambda client: client.transport.failed)
        return Feed(passages, fields, present, self.cluster.patience, failed.is_set)

    def _send(self, feed: Feed, index: str, title: str) -> None:
        """Send everything from a thread of its own: an interruption of this one then ends it between two passages,
        where the bulk helper by itself would go on to the end of the corpus.
        """
        done = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(self._stream, feed, index, title)
            sending.add_done_callback(lambda _: done.set())
            try:
                done.wait()
            except BaseException:
                feed.stop()
                raise
        sending.result()

    def _stream(self, feed: Feed, index: str, title: str) -> None:
        for taken, item in track(self._answers(feed, index), title):
            feed.settle(taken, item)

    def _answers(self, feed: Feed, index: str) -> Iterator[tuple[bool, dict[str, Any]]]:
        yield from self._bulk(feed.actions(), index)
        while feed.waiting:
            yield from self._bulk(feed.again(), index)

    def _bulk(self, actions: Iterator[dict[str, Any]], index: str) -> Iterator[tuple[bool, dict[str, Any]]]:
        from convrag_elasticsearch import _client

        pace = self.pace
        answers = self.sender.ask(
            lambda client: _client.bulk(client, actions, index, pace.threads, pace.chunk, pace.chunk_bytes)
        )
        while (answer := self.sender.ask(lambda client: next(answers, None))) is not None:
            yield answer

    def _finish(self, feed: Feed, index: str) -> None:
        """See that the index holds exactly what the corpus holds."""
        if feed.refused is not None:
            error = item_error(feed.refused, self.cluster.connection)
            raise ClusterError(f"passage {feed.refused['_id']!r} cannot be indexed. {error}", error.status)
        self.cluster.ask(lambda client: client.indices.refresh(index=index))
        count = int(self.cluster.ask(lambda client: client.count(index=index))["count"])
        if count != feed.seen:
            raise ClusterError(
                f"{index} holds {count:,} passages and the corpus {feed.seen:,}, so it is not used: delete it "
                f"(DELETE /{index}), see that no id stands twice in the corpus, and build it again",
                409,
            )

    def _publish(self, plan: Plan, index: str, passages: int, replaced: Published | None) -> None:
        """Let searches see it, all of it at once, in place of what was there."""
        about = {META: {**plan.about, "passages": passages}}
        self.cluster.ask(lambda client: client.indices.put_mapping(index=index, meta=about))
        actions: list[dict[str, Any]] = [
            {"remove": {"index": f"{plan.latest}-*", "alias": plan.latest, "must_exist": False}},
            {"add": {"index": index, "alias": plan.alias}},
            {"add": {"index": index, "alias": plan.latest}},
        ]
        if replaced:
            actions.append({"remove_index": {"index": replaced.name}})
        self.cluster.ask(lambda client: client.indices.update_aliases(actions=actions))
