"""The base of retrievers over vector databases: a table for each domain, searched once complete."""

from __future__ import annotations

import re
import threading
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, NamedTuple
from uuid import uuid4

from annotated_types import Ge

from convrag import (
    ConfigError,
    Dataset,
    Embedder,
    Hit,
    Passage,
    Query,
    Store,
    operational,
)
from convrag.sdk.identity import digest
from convrag.sdk.output.progress import count_parts
from convrag.sdk.search.corpus import PassageSource, serve_passages
from convrag.sdk.search.filtering import FilteringRetriever, RetrieverFilter
from convrag.sdk.search.queries import choose_queries, combine_vectors, embed_uncached
from convrag_vector_databases.vector_database import VectorDatabase

_LAYOUT = 1
"""The version of a table's layout.

It is raised when the layout changes, so that older tables are not searched.
"""


class _ServedPassages(PassageSource):
    """The passages of a domain, which the database has."""

    def __init__(self, database: VectorDatabase, alias: str) -> None:
        self._database = database
        self._alias = alias

    def get_by_id(self, ids: Sequence[str]) -> list[Passage]:
        found = {passage.id: passage for passage in self._database.fetch(self._alias, ids)}
        return [found[name] for name in ids if name in found]


class _Names(NamedTuple):
    """The alias that a domain is searched by, and the table that it must stand for."""

    alias: str
    table: str


@dataclass(kw_only=True, eq=False)
class VectorDatabaseRetriever(FilteringRetriever):
    """Search in a vector database of any kind.

    Args:
        dataset: whose corpora are searched.
        embedder: makes the vectors of passages and queries.
        store: whose locks keep two commands from building one table at the same time.
        filter: the condition on fields that passages must match: "product=kettle and year>=2023"
            (docs/search.md); null takes all passages.
        prefix: the beginning of each table's name.
        batch_size: passages that are embedded and sent at once, and lost when the process is
            killed.
    """

    dataset: Dataset
    embedder: Embedder
    store: Store
    filter: str | None = None
    prefix: Annotated[str, operational] = "convrag"
    batch_size: Annotated[int, operational, Ge(1)] = 256

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-z][a-z0-9_]{0,9}", self.prefix):
            text = "take up to ten lower-case letters, digits and underscores"
            raise ConfigError(f"retriever.prefix={self.prefix!r}: {text}")
        # An embedder built by hand has no fingerprint to share a table by: it gets its own table.
        self._own = uuid4().hex
        self.filters = RetrieverFilter(
            self.filter, self.dataset, self.store, check_index=self._require_fields
        )
        self._lock = threading.Lock()
        self._ready: dict[str, str] = {}

    @property
    @abstractmethod
    def index_settings(self) -> Any:
        """Return the settings, as plain data, that also decide how a table is built."""

    @abstractmethod
    def open_database(self) -> VectorDatabase:
        """Open the database. Raises ConfigError."""

    @cached_property
    def _database(self) -> VectorDatabase:
        return self.open_database()

    def prepare(self) -> None:
        self.index()
        self.filters.prepare()

    def index(self) -> list[str]:
        """Build the tables of all domains, or resume building them, and say what was done."""
        return [self._build(domain) for domain in self.dataset.domains()]

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        import numpy as np

        vector = combine_vectors(self.embedder, choose_queries(queries, "dense"))
        if vector is None or k < 1:
            return []
        domain = queries[0].domain
        if domain not in self._ready:
            self._build(domain)
        condition = self.filters.find_condition(queries)
        alias = self._ready[domain]
        hits = self._database.search(alias, vector.astype(np.float32), k, condition)
        return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))

    def _require_fields(self, domain: str) -> None:
        """Raise ConfigError where the table of a domain was built before passages had fields."""
        if domain not in self._ready:
            self._build(domain)
        names = self._name(domain)
        if not self._database.has_fields(names.alias):
            raise ConfigError(
                f"{names.table} was built before passages had fields, so it cannot be filtered: "
                "remove it from the database, and run the same command again"
            )

    def _name(self, domain: str) -> _Names:
        """Name the table of a domain, and its alias.

        A table of other passages, or of another fit of an embedder, replaces it under the alias.
        Names have at most 63 characters, which is PostgreSQL's limit.
        """
        embedder = self.embedder.fingerprint or self._own
        corpus = self.dataset.corpus_fingerprint(domain)
        series = [
            self.dataset.series or corpus,
            domain,
            self.embedder.series or embedder,
            self.index_settings,
        ]
        readable = re.sub(r"[^a-z0-9]+", "_", domain.lower())[:16]
        alias = f"{self.prefix}_{readable}_{digest([_LAYOUT, series])[:16]}"
        return _Names(alias, f"{alias}_{digest([embedder, corpus])[:16]}")

    def _build(self, domain: str) -> str:
        """Build the table of a domain, unless it is there, and say in a sentence what was done."""
        alias, table = self._name(domain)
        with self._lock, self.store.lock([f"vectors/{alias}"]):
            if self._database.find(alias) == table:
                remark = " already"
                total = self._database.count(alias)
            else:
                total, new = self._send_all(domain, table)
                self._database.publish(alias, table)
                earlier = total - new
                remark = f", {earlier:,} of them from an earlier attempt" if earlier else ""
            self._ready[domain] = alias
        serve_passages(self.dataset, domain, _ServedPassages(self._database, alias))
        return f"{domain}: {total:,} passages are in {table}{remark}"

    def _send_all(self, domain: str, table: str) -> tuple[int, int]:
        """Embed and send the passages that the table lacks. Raises ConfigError.

        Returns:
            The number of passages, and of those that were sent.
        """
        passages = iter(self.dataset.corpus(domain))
        total = new = 0
        with count_parts(f"Embedding {domain}", total=None) as advance:
            while batch := list(islice(passages, self.batch_size)):
                if not total:
                    first = embed_uncached(self.embedder, [batch[0].content])
                    self._database.create(table, first.shape[1])
                total += len(batch)
                new += self._send_batch(table, batch)
                advance(len(batch))
        if not total:
            why = self.dataset.explain_missing_corpus(domain)
            raise ConfigError(
                f"the data set has no passages to search for the domain {domain!r}. {why}".rstrip()
            )
        self._verify(table, total)
        return total, new

    def _send_batch(self, table: str, batch: Sequence[Passage]) -> int:
        """Embed and send the passages of a batch that the table lacks; return their number."""
        fetched = self._database.fetch(table, [passage.id for passage in batch])
        known = {passage.id for passage in fetched}
        missing = [passage for passage in batch if passage.id not in known]
        if missing:
            rows = embed_uncached(self.embedder, [passage.content for passage in missing])
            self._database.add(table, missing, rows)
        return len(missing)

    def _verify(self, table: str, total: int) -> None:
        """Check that the table holds all passages of the corpus. Raises ConfigError."""
        count = self._database.count(table)
        if count != total:
            raise ConfigError(
                f"{table} holds {count:,} passages and the corpus {total:,}, so it is not used: "
                "remove it from the database, see that no id stands twice in the corpus, and run "
                "the same command again"
            )
