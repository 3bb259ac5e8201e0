"""Builds an index. Searches see it only when it is complete; a build that was interrupted is
resumed.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from convrag import Passage
from convrag.sdk.output.progress import count_parts
from convrag.sdk.parallel import call_in_threads
from convrag_elasticsearch.cluster import Cluster, make_path, write_lines
from convrag_elasticsearch.errors import ClusterError
from convrag_elasticsearch.retries import send_items
from convrag_elasticsearch.subqueries import build_document, build_document_id

META = "convrag"
"""The key under `_meta` of a mapping where an index is described."""

_FINGERPRINT_LENGTH = 16
_MAX_DOMAIN_LENGTH = 80


class CompleteIndex(NamedTuple):
    """An index that was completed: how many passages it had then, and how many it has now."""

    name: str
    passages: int
    current_passages: int

    @property
    def intact(self) -> bool:
        """Whether it has lost no passages since."""
        return self.passages == self.current_passages


def find_index(cluster: Cluster, alias: str) -> CompleteIndex | None:
    """Find the index that an alias stands for; None where there is none yet. Raises ClusterError."""
    for index, state in cluster.request("GET", make_path(alias), if_missing={}).items():
        about = state["mappings"].get("_meta", {}).get(META, {})
        return CompleteIndex(index, int(about.get("passages", -1)), count_passages(cluster, alias))
    return None


def count_passages(cluster: Cluster, index: str) -> int:
    """Count the passages of an index or alias. Raises ClusterError, also where not all shards
    answer.
    """
    return int(cluster.request("GET", make_path(index, "_count"))["count"])


def build_alias(prefix: str, domain: str, kind: str, fingerprint: str) -> str:
    """Build the alias under which a complete index is searched: it stands for one corpus and one
    set of settings.
    """
    return f"{build_latest_alias(prefix, domain, kind)}-{fingerprint[:_FINGERPRINT_LENGTH]}"


def build_latest_alias(prefix: str, domain: str, kind: str) -> str:
    """Build the alias of the index of a kind that was completed last. It is for people; searches do
    not use it.
    """
    return f"{prefix}-{_sanitise_domain(domain)}-{kind}"


def build_index_name(alias: str, generation: int) -> str:
    """Build the name of an index. Generation 2 replaces generation 1 where that was damaged, and so
    on.
    """
    return f"{alias}-{generation}"


def parse_generation(index: str) -> int:
    """Read the generation, from 1 on, from the name of an index; 0 for a name that is not one of
    ours.
    """
    number = index.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def _sanitise_domain(domain: str) -> str:
    """Keep lower-case ASCII letters, digits and underscores. Two domains may become one; their
    fingerprints differ.
    """
    return re.sub(r"[^a-z0-9_]+", "_", domain.lower())[:_MAX_DOMAIN_LENGTH] or "_"


FieldBuilder = Callable[[Sequence[Passage]], Sequence[dict[str, Any]]]

_CREATED = (200, 201, 409)
"""Statuses of a document that is there: at a conflict, an earlier attempt succeeded, and its reply
was lost.
"""


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
        """Find the index of an interrupted build, or create one; whether it is resumed.

        A complete index that has lost passages is not repaired: a new one is built beside it.
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
            # It exists where another process created it meanwhile, or where our own first attempt
            # lost its reply.
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
        """Send the passages in batches from several threads; count all, and those that the index
        had already.
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
        """Send passages; what the cluster rejects for the moment is sent again. Raises ClusterError
        for other ones.
        """
        path = f"{make_path(index, '_bulk')}?filter_path=items.*._id,items.*.status,items.*.error"
        actions = [
            write_lines(
                (
                    {"create": {"_id": build_document_id(passage.id)}},
                    build_document(passage) | dict(own),
                )
            )
            for passage, own in zip(passages, fields, strict=True)
        ]

        def send(pending: Sequence[bytes]) -> list[ClusterError | None]:
            replies = [
                self.bulk_cluster.request("POST", path, body)
                for body in join_lines(pending, self.chunk_bytes)
            ]
            return [self._read_item(item["create"]) for reply in replies for item in reply["items"]]

        results = send_items(send, actions, self.cluster.policy, self.cluster.tell_wait)
        if rejected := next((result for result in results if result is not None), None):
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
                f"{index} holds {count:,} passages and the corpus {passages:,}, so it is not used: delete "
                f"it (DELETE /{index}), see that no id stands twice in the corpus, and build it again",
                409,
            )

    def _publish(
        self, plan: IndexPlan, index: str, passages: int, replaced: CompleteIndex | None
    ) -> None:
        """Give the index its aliases, and delete the one that it replaces, in a single step."""
        about = {META: {**plan.about, "passages": passages}}
        self.cluster.request("PUT", make_path(index, "_mapping"), {"_meta": about})
        others = [f"{plan.latest_alias}-*", *([f"-{replaced.name}"] if replaced else [])]
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
            if (
                error.status != 404
                or (current := find_index(self.cluster, plan.alias)) is None
                or current.name != index
            ):
                raise


def join_lines(lines: Sequence[bytes], most: int) -> Iterator[bytes]:
    """Join lines, in their order, to bodies of at most so many bytes; a longer line is one by
    itself.
    """
    start = size = 0
    for place, line in enumerate(lines):
        if size and size + len(line) > most:
            yield b"".join(lines[start:place])
            start, size = place, 0
        size += len(line)
    yield b"".join(lines[start:])
