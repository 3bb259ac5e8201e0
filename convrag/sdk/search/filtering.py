"""The filters of a retriever: its own and that of a request, checked against each corpus."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from convrag.api.errors import ConfigError
from convrag.api.filters import Filter, join_filters
from convrag.api.passages import Passage
from convrag.api.queries import Query
from convrag.api.stages import Dataset, Retriever
from convrag.sdk.search.field_index import FieldIndex
from convrag.sdk.search.filters import Condition, make_condition, parse_filter
from convrag.store.fingerprint import digest
from convrag.store.store import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FilteringRetriever", "RetrieverFilter", "add_filter", "read_filter"]


def read_filter(text: str | None) -> Filter | None:
    """Parse the parameter `filter` of a retriever; None where it is empty. Raises ConfigError."""
    if text is None or not text.strip():
        return None
    try:
        return parse_filter(text)
    except ConfigError as error:
        raise ConfigError(f"retriever.filter: {error}") from error


def add_filter(queries: Sequence[Query], filter: Filter | None) -> list[Query]:
    """Put a filter on queries, next to their own, for a retriever that asks others."""
    if filter is None:
        return list(queries)
    return [replace(query, filter=join_filters([filter, query.filter])) for query in queries]


class RetrieverFilter:
    """The filter of a retriever, joined with those of queries, as conditions on a domain.

    Args:
        text: the parameter `filter`; None or empty for none.
        dataset: whose corpora are searched.
        store: keeps the fields of the corpora.
        open_passages: opens the passages of a domain, where the retriever has a copy of them; by
            default, the data set is read. Either happens at the first filter alone.
        check_index: raises ConfigError where the index of a domain cannot be filtered, since it was
            built before passages had fields; called once for each domain, at its first filter.

    Raises:
        ConfigError: the text is not a filter.
    """

    def __init__(
        self,
        text: str | None,
        dataset: Dataset,
        store: Store,
        open_passages: Callable[[str], Iterable[Passage]] | None = None,
        check_index: Callable[[str], None] | None = None,
    ) -> None:
        self.own = read_filter(text)
        self._dataset = dataset
        self._store = store
        self._open_passages = open_passages or dataset.corpus
        self._check_index = check_index
        self._checked: set[str] = set()
        """The domains whose indexes are known to have fields."""
        self._indexes: dict[str, FieldIndex] = {}
        self._locks: dict[str, threading.Lock] = {}

    def prepare(self) -> None:
        """Check the retriever's own filter in all domains. Raises ConfigError."""
        if self.own is not None:
            self.check(self.own)

    def check(self, filter: Filter, domain: str | None = None) -> None:
        """Check a filter as `Retriever.check_filter` does. Raises ConfigError."""
        domains = self._dataset.domains()
        for each in domains if domain is None else [domain]:
            try:
                make_condition(filter, self.open_index(each).kinds)
            except ConfigError as error:
                if len(domains) == 1:
                    raise
                raise ConfigError(f"corpus {each!r}: {error}") from error
            if self._check_index and each not in self._checked:
                self._check_index(each)
                self._checked.add(each)

    def find_condition(self, queries: Sequence[Query]) -> Condition | None:
        """Return the condition that all passages of a search must match; None where there is none.

        Args:
            queries: of the search, all of one domain.

        Raises:
            ConfigError: the corpus does not have a field, or values of this kind.
        """
        joined = self.join(queries)
        if joined is None:
            return None
        return make_condition(joined, self.open_index(queries[0].domain).kinds)

    def find_positions(self, queries: Sequence[Query]) -> NDArray[np.int64] | None:
        """Return the positions of the passages that match, rising; None where there is no filter.

        Raises ConfigError as `find_condition` does.
        """
        condition = self.find_condition(queries)
        if condition is None:
            return None
        return self.open_index(queries[0].domain).find_positions(condition)

    def join(self, queries: Sequence[Query]) -> Filter | None:
        """Join the retriever's filter and those of queries."""
        return join_filters([self.own, *(query.filter for query in queries)])

    def explain(self, queries: Sequence[Query]) -> dict[str, Any]:
        """Return `filter`, the joined filter as a text, for `Retriever.explain`; or nothing."""
        joined = self.join(queries)
        return {} if joined is None else {"filter": str(joined)}

    def open_index(self, domain: str) -> FieldIndex:
        """Open the fields of a domain, which are read at their first use."""
        with self._locks.setdefault(domain, threading.Lock()):
            if domain not in self._indexes:
                known = self._dataset.series
                self._indexes[domain] = FieldIndex(
                    partial(self._open_passages, domain),
                    self._dataset.corpus_fingerprint(domain),
                    domain,
                    self._store,
                    digest(["fields", known, domain]) if known else "",
                )
            return self._indexes[domain]


class FilteringRetriever(Retriever):
    """A retriever that obeys its own filter and those of queries.

    A subclass makes `filters` in its constructor, and searches what `filters.find_condition` or
    `filters.find_positions` leaves.
    """

    filters: RetrieverFilter

    def check_filter(self, filter: Filter, domain: str | None = None) -> None:
        self.filters.check(filter, domain)

    def explain(self, queries: Sequence[Query]) -> Mapping[str, Any]:
        """Return `filter`, the condition on fields, where there is one."""
        return self.filters.explain(queries)
