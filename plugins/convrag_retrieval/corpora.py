"""The corpora that a retriever searches, one for each domain of the data set."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from convrag import DataError, Dataset
from convrag.sdk.corpus import Corpus
from convrag.store.store import BATCH

T = TypeVar("T")


class PositionedCorpus(Corpus):
    """A corpus that also finds the position of a passage by its id; an index knows passages by their positions."""

    def positions(self, ids: Sequence[str]) -> dict[str, int]:
        """Look up positions: id -> position, in the order of `ids`; unknown ids are left out."""
        found: dict[str, int] = {}
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            marks = ",".join("?" * len(batch))
            rows = self._select(f"SELECT id, position FROM passages WHERE id IN ({marks})", batch)
            found.update((id_, int(position)) for id_, position in rows)
        return {id_: found[id_] for id_ in ids if id_ in found}


class DomainCache(Generic[T]):
    """Keeps one object for each domain, made at the first use of the domain; safe to use from many threads.

    Args:
        make: domain -> object; called once for each domain. An error is not kept: the next call tries again.
    """

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make
        self._made: dict[str, T] = {}
        self._locks: dict[str, threading.Lock] = {}

    def get(self, domain: str) -> T:
        """Return the domain's object. Raises whatever `make` raises."""
        if domain not in self._made:
            with self._locks.setdefault(domain, threading.Lock()):
                if domain not in self._made:
                    self._made[domain] = self._make(domain)
        return self._made[domain]


def find_empty_domains(dataset: Dataset) -> Iterator[str]:
    """Yield a message for each domain whose corpus is empty or cannot be read, for a retriever's `check`."""
    for domain in dataset.domains():
        try:
            if next(iter(dataset.corpus(domain)), None) is None:
                why = dataset.explain_missing_corpus(domain)
                yield " ".join([f"the data set has no passages to search for the domain {domain!r}.", why]).rstrip()
        except DataError as error:
            yield str(error)
