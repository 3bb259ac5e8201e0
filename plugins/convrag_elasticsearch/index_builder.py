"""Builds an index. Searches see it only when it is complete; a build that was interrupted is resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convrag import Passage
from convrag.sdk.cancelling import when_cancelled
from convrag.sdk.parallel import call_in_threads
from convrag.sdk.progress import track
from convrag_elasticsearch.aliases import META, CompleteIndex, build_index_name, find_index, parse_generation
from convrag_elasticsearch.bulk import BulkActions, FieldBuilder
from convrag_elasticsearch.cluster import Cluster
from convrag_elasticsearch.errors import ClusterError, build_cluster_error

_NO_INDEX: Mapping[str, Any] = {}


@dataclass(frozen=True)
class IndexPlan:
    """The index to build.

    Args:
        domain: of the corpus, for messages.
        alias: under which the complete index is searched.
        latest_alias: of the index that was completed last, for people.
        mapping: of the index.
        settings: of the index.
        processors: of the ingest pipeline that each document passes.
        about: a description of the index for people, kept in its mapping.
    """

    domain: str
    alias: str
    latest_alias: str
    mapping: Mapping[str, Any]
    settings: Mapping[str, Any]
    processors: Sequence[Mapping[str, Any]]
    about: Mapping[str, Any]


@dataclass(frozen=True)
class BulkOptions:
    """How passages are sent.

    Args:
        threads: requests at a time.
        chunk: passages in a request.
        chunk_bytes: bytes in a request, at most.
    """

    threads: int
    chunk: int
    chunk_bytes: int


class IndexBuilder:
    """Builds the index of a plan, or resumes an interrupted build.

    Args:
        cluster: receives all requests but the bulk requests.
        bulk_cluster: the same cluster through a client of its own, for bulk requests alone.
        options: how passages are sent.
    """

    def __init__(self, cluster: Cluster, bulk_cluster: Cluster, options: BulkOptions) -> None:
        self.cluster = cluster
        self.bulk_cluster = bulk_cluster
        self.options = options

    def build(self, plan: IndexPlan, passages: Callable[[], Iterator[Passage]], build_fields: FieldBuilder) -> str:
        """Build the index, unless it is there, and say in a sentence what was done.

        Args:
            plan: the index.
            passages: opens the corpus.
            build_fields: builds the subqueries' fields of passages.

        Raises:
            ClusterError: the index cannot be completed; searches do not see it.
        """
        current = find_index(self.cluster, plan.alias)
        if current and current.intact:
            return f"{plan.domain}: {current.passages:,} passages are in {current.name} already"
        index, resumed = self._open_index(plan, current)
        actions = self._make_actions(index, resumed, passages(), build_fields)
        self._send(actions, index, f"Indexing {plan.domain}")
        self._verify(actions, index)
        self._publish(plan, index, actions.passage_count, current)
        earlier = f", {actions.existing_count:,} of them from an earlier attempt" if actions.existing_count else ""
        return f"{plan.domain}: {actions.passage_count:,} passages are in {index}{earlier}"

    def _open_index(self, plan: IndexPlan, current: CompleteIndex | None) -> tuple[str, bool]:
        """Find the index of an interrupted build, or create one; whether it is resumed.

        A complete index that has lost passages is not repaired: a new one is built beside it.
        """
        states = self.cluster.request(lambda client: client.indices.get(index=f"{plan.alias}-*"), if_missing=_NO_INDEX)
        last = max((parse_generation(name) for name in states), default=0)
        if last > (parse_generation(current.name) if current else 0):
            return build_index_name(plan.alias, last), True
        index = build_index_name(plan.alias, last + 1)
        self._create(plan, index)
        return index, False

    def _create(self, plan: IndexPlan, index: str) -> None:
        settings = dict(plan.settings)
        if plan.processors:
            processors = [dict(processor) for processor in plan.processors]
            self.cluster.request(lambda client: client.ingest.put_pipeline(id=plan.alias, processors=processors))
            settings["default_pipeline"] = plan.alias
        mapping = {**plan.mapping, "_meta": {META: dict(plan.about)}}
        try:
            self.cluster.request(lambda client: client.indices.create(index=index, mappings=mapping, settings=settings))
        except ClusterError as error:
            # It exists where another process created it meanwhile, or where our own first attempt lost its reply.
            if "resource_already_exists_exception" not in str(error):
                raise

    def _make_actions(
        self, index: str, resumed: bool, passages: Iterator[Passage], build_fields: FieldBuilder
    ) -> BulkActions:
        def find_existing(ids: Sequence[str]) -> set[str]:
            if not resumed:
                return set()
            docs = self.cluster.request(lambda client: client.mget(index=index, ids=list(ids), source=False))["docs"]
            return {doc["_id"] for doc in docs if doc.get("found")}

        failed = self.bulk_cluster.request(lambda client: client.transport.failed)
        return BulkActions(passages, build_fields, find_existing, self.cluster.policy, failed.is_set)

    def _send(self, actions: BulkActions, index: str, title: str) -> None:
        """Send all actions, from a thread of its own.

        So an interruption of this thread stops it after the passage at hand; the bulk helper by itself would go on to
        the end of the corpus. A request in progress is left behind (see `call_in_threads`).
        """

        def send(_: str) -> None:
            with when_cancelled(actions.stop):
                self._record_results(actions, index, title)

        with call_in_threads(send, [index], 1, "bulk") as results:
            list(results)

    def _record_results(self, actions: BulkActions, index: str, title: str) -> None:
        for succeeded, item in track(self._stream_results(actions, index), title):
            actions.record_result(succeeded, item)

    def _stream_results(self, actions: BulkActions, index: str) -> Iterator[tuple[bool, dict[str, Any]]]:
        yield from self._bulk(actions.stream(), index)
        while actions.has_retries:
            yield from self._bulk(actions.stream_retries(), index)

    def _bulk(self, actions: Iterator[dict[str, Any]], index: str) -> Iterator[tuple[bool, dict[str, Any]]]:
        from convrag_elasticsearch.client import stream_bulk

        options = self.options
        results = self.bulk_cluster.request(
            lambda client: stream_bulk(client, actions, index, options.threads, options.chunk, options.chunk_bytes)
        )
        while (result := self.bulk_cluster.request(lambda _: next(results, None))) is not None:
            yield result

    def _verify(self, actions: BulkActions, index: str) -> None:
        """Check that the index holds exactly the passages of the corpus. Raises ClusterError."""
        if actions.rejected_item is not None:
            error = build_cluster_error(actions.rejected_item, self.cluster.connection)
            raise ClusterError(f"passage {actions.rejected_item['_id']!r} cannot be indexed. {error}", error.status)
        self.cluster.request(lambda client: client.indices.refresh(index=index))
        count = int(self.cluster.request(lambda client: client.count(index=index))["count"])
        if count != actions.passage_count:
            raise ClusterError(
                f"{index} holds {count:,} passages and the corpus {actions.passage_count:,}, so it is not used: delete "
                f"it (DELETE /{index}), see that no id stands twice in the corpus, and build it again",
                409,
            )

    def _publish(self, plan: IndexPlan, index: str, passages: int, replaced: CompleteIndex | None) -> None:
        """Give the index its aliases, and delete the one that it replaces, in a single step."""
        about = {META: {**plan.about, "passages": passages}}
        self.cluster.request(lambda client: client.indices.put_mapping(index=index, meta=about))
        actions: list[dict[str, Any]] = [
            {"remove": {"index": f"{plan.latest_alias}-*", "alias": plan.latest_alias, "must_exist": False}},
            {"add": {"index": index, "alias": plan.alias}},
            {"add": {"index": index, "alias": plan.latest_alias}},
        ]
        if replaced:
            actions.append({"remove_index": {"index": replaced.name}})
        self.cluster.request(lambda client: client.indices.update_aliases(actions=actions))
