"""What a retriever has one of for each domain, and whether there is anything to search."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from convrag import DataError, Dataset

T = TypeVar("T")


class PerDomain(Generic[T]):
    """Domain -> what `make` makes of it at first use; the first thread makes it for all."""

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make
        self._made: dict[str, T] = {}
        self._locks: dict[str, threading.Lock] = {}

    def __call__(self, domain: str) -> T:
        if domain not in self._made:
            with self._locks.setdefault(domain, threading.Lock()):
                if domain not in self._made:
                    self._made[domain] = self._make(domain)
        return self._made[domain]


def missing_passages(dataset: Dataset) -> Iterator[str]:
    """What `check` of a retriever says of a data set that has a domain with no passages, or a broken one."""
    for domain in dataset.domains():
        try:
            if next(iter(dataset.corpus(domain)), None) is None:
                yield f"the data set has no passages to search for the domain {domain!r}."
        except DataError as error:
            yield str(error)
