"""Builds an index. Searches see it only when it is complete; an interrupted build is resumed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from convrag import Passage
from convrag.sdk.output.progress import count_parts
from convrag.sdk.parallel import call_in_threads
from convrag_elasticsearch.cluster import Cluster, make_path, write_lines
from convrag_elasticsearch.complete_index import META, CompleteIndex, count_passages, find_index
from convrag_elasticsearch.documents import build_document, build_document_id
from convrag_elasticsearch.errors import ClusterError
from convrag_elasticsearch.index_names import build_index_name, parse_generation
from convrag_elasticsearch.index_plan import IndexPlan
from convrag_elasticsearch.retries import send_items

FieldBuilder = Callable[[Sequence[Passage]], Sequence[dict[str, Any]]]
"""Passages -> the subqueries' fields of each."""

_CREATED = (200, 201, 409)
"""Statuses of a document that is there.

At a conflict (409), an earlier attempt succeeded, and its reply was lost.
"""


class IndexBuilder:
    """Builds the index of a plan, or resumes an interrupted build.

    Args:
        cluster: receives all requests but the bulk requests.
        bulk_cluster: the same cluster through a client of its own, for bulk requests alone.
        threads: requests at a time.
        chunk: passages in a request.
        chunk_bytes: bytes in a request, at most.
    """

    def __init__(
        self, cluster: Cluster, bulk_cluster: Cluster, *, threads: int, chunk: int, chunk_bytes: int
    ) -> None:
        self.cluster = cluster
        self.bulk_cluster = bulk_cluster
        self.threads = threads
        self.chunk = chunk
        self.chunk_bytes = chunk_bytes

    def build(
        self, plan: IndexPlan, passages: Callable[[], Iterator[Passage]], build_fields: FieldBuilder
    ) -> str:
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
        corpus = passages()
        index, resumed = self._open_index(plan, current)
        total, existing = self._send_all(
            index, corpus, build_fields, f"Indexing {plan.domain}", resumed=resumed
        )
        self._verify(index, total)
        self._publish(plan, index, total, current)
        earlier = f", {existing:,} of them from an earlier attempt" if existing else ""
        return f"{plan.domain}: {total:,} passages are in {index}{earlier}"

    def _open_index(self, plan: IndexPlan, current: CompleteIndex | None) -> tuple[str, bool]:
        """Find the index of an interrupted build, or create one; return whether it is resumed.

        A complete index that has lost passages is not repaired: a new one is built next to it.
        """
        states = self.cluster.request("GET", make_path(f"{plan.alias}-*"), if_missing={})
        last = max((parse_generation(name) for name in states), default=0)
        if last > (parse_generation(current.name) if current else 0):
            return build_index_name(plan.alias, last), True
        index = build_index_name(plan.alias, last + 1)
        self._create(plan, index)
        return index, False

    def _create(self, plan: IndexPlan, index: str) -> None:
        settings = dict(plan.settings)
        if plan.processors:
            pipeline = {"processors": [dict(processor) for processor in plan.processors]}
            self.cluster.request("PUT", make_path("_ingest", "pipeline", plan.alias), pipeline)
            settings["default_pipeline"] = plan.alias
        mapping = {**plan.mapping, "_meta": {META: dict(plan.about)}}
        try:
            self.cluster.request(
                "PUT", make_path(index), {"mappings": mapping, "settings": settings}
            )
        except ClusterError as error:
            # Another process created it meanwhile, or our own first attempt lost its reply.
            if "resource_already_exists_exception" not in str(error):
                raise

    def _send_all(
        self,
        index: str,
        passages: Iterator[Passage],
        build_fields: FieldBuilder,
        title: str,
        *,
        resumed: bool,
    ) -> tuple[int, int]:
        """Send the passages in batches from several threads.

        Returns:
            The number of passages, and of those that the index had already.
        """

        def send(batch: Sequence[Passage]) -> tuple[int, int]:
            missing = self._find_missing(batch, index) if resumed else batch
            if missing:
                self._send_batch(missing, index, build_fields(missing))
            return len(batch), len(batch) - len(missing)

        total = existing = 0
        batches = iter(lambda: list(islice(passages, self.chunk)), [])
        with (
            count_parts(title, total=None) as advance,
            call_in_threads(send, batches, self.threads, "bulk") as results,
        ):
            for passage_count, existing_count in results:
                total += passage_count
                existing += existing_count
                advance(passage_count)
        return total, existing

    def _find_missing(self, passages: Sequence[Passage], index: str) -> list[Passage]:
        """Find the passages that an interrupted build has not sent."""
        ids = [build_document_id(passage.id) for passage in passages]
        docs = self.cluster.request(
            "POST", f"{make_path(index, '_mget')}?_source=false", {"ids": ids}
        )["docs"]
        existing = {doc["_id"] for doc in docs if doc.get("found")}
        return [passage for passage, id_ in zip(passages, ids, strict=True) if id_ not in existing]

    def _send_batch(
        self, passages: Sequence[Passage], index: str, fields: Sequence[Mapping[str, Any]]
    ) -> None:
        """Send passages; those that the cluster rejects for the moment are sent again.

        Raises:
            ClusterError: the cluster rejects a passage for good.
        """
        path = f"{make_path(index, '_bulk')}?filter_path=items.*._id,items.*.status,items.*.error"
        actions = []
        for passage, own in zip(passages, fields, strict=True):
            action = {"create": {"_id": build_document_id(passage.id)}}
            actions.append(write_lines([action, {**build_document(passage), **own}]))

        def send(pending: Sequence[bytes]) -> list[ClusterError | None]:
            replies = [
                self.bulk_cluster.request("POST", path, body)
                for body in join_lines(pending, self.chunk_bytes)
            ]
            return [self._read_item(item["create"]) for reply in replies for item in reply["items"]]

        results = send_items(send, actions, self.cluster.policy, self.cluster.warn_of_wait)
        for rejected in results:
            if rejected is not None:
                raise rejected

    def _read_item(self, item: Mapping[str, Any]) -> ClusterError | None:
        """Read what became of a passage; None where it is there."""
        if item["status"] in _CREATED:
            return None
        error = self.cluster.explain(item)
        message = f"passage {item['_id']!r} cannot be indexed. {error}"
        return ClusterError(message, error.status, error.reason, transient=error.transient)

    def _verify(self, index: str, passages: int) -> None:
        """Check that the index holds exactly the passages of the corpus. Raises ClusterError."""
        self.cluster.request("POST", make_path(index, "_refresh"))
        count = count_passages(self.cluster, index)
        if count != passages:
            raise ClusterError(
                f"{index} holds {count:,} passages and the corpus {passages:,}, so it is not used: "
                f"delete it (DELETE /{index}), see that no id stands twice in the corpus, and "
                "build it again",
                409,
            )

    def _publish(
        self, plan: IndexPlan, index: str, passages: int, replaced: CompleteIndex | None
    ) -> None:
        """Give the index its aliases, and delete the one that it replaces, in a single step."""
        about = {META: {**plan.about, "passages": passages}}
        self.cluster.request("PUT", make_path(index, "_mapping"), {"_meta": about})
        others = [f"{plan.latest_alias}-*"]
        if replaced:
            others.append(f"-{replaced.name}")
        actions: list[dict[str, Any]] = [
            {"remove": {"indices": others, "alias": plan.latest_alias, "must_exist": False}},
            {"add": {"index": index, "alias": plan.alias}},
            {"add": {"index": index, "alias": plan.latest_alias}},
        ]
        if replaced:
            actions.append({"remove_index": {"index": replaced.name}})
        try:
            self.cluster.request("POST", "/_aliases", {"actions": actions})
        except ClusterError as error:
            # The other index is gone where our first attempt lost its reply, or another process was
            # faster.
            current = find_index(self.cluster, plan.alias) if error.status == 404 else None
            if current is None or current.name != index:
                raise


def join_lines(lines: Sequence[bytes], most: int) -> Iterator[bytes]:
    """Join lines, in their order, to bodies of at most `most` bytes.

    A longer line is a body by itself.
    """
    body: list[bytes] = []
    size = 0
    for line in lines:
        if body and size + len(line) > most:
            yield b"".join(body)
            body = []
            size = 0
        body.append(line)
        size += len(line)
    yield b"".join(body)
