"""The corpora that a retriever searches, one for each domain of the data set."""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from convrag import DataError, Dataset, Hit, Retriever, Store
from convrag.sdk.corpus import Corpus
from convrag.sdk.identity import digest
from convrag.sdk.storage import BATCH

if TYPE_CHECKING:
    from convrag_retrieval.known_texts import BuildCounts

log = logging.getLogger(__name__)

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


@dataclass(frozen=True)
class DomainIndex(Generic[T]):
    """The index of one domain: the passages, what finds their positions, and what was built, in a sentence."""

    corpus: PositionedCorpus
    rows: T
    about: str

    def make_hits(self, best: Sequence[tuple[int, float]]) -> list[Hit]:
        """Make hits of (position, score)."""
        passages = self.corpus.get_by_position([position for position, _ in best])
        return [Hit(passage, score) for passage, (_, score) in zip(passages, best, strict=True)]


class CorpusRetriever(Retriever):
    """Base of retrievers that keep an index in the store for each domain of the data set.

    Args:
        dataset: whose corpora are searched.
        store: keeps the indexes.
    """

    def __init__(self, dataset: Dataset, store: Store) -> None:
        self.dataset = dataset
        self.store = store
        self._domains = DomainCache(self._load)

    def check(self) -> Iterator[str]:
        yield from find_empty_domains(self.dataset)

    def prepare(self) -> None:
        self.index()

    def index(self) -> list[str]:
        """Build the indexes of all domains, and say of each what was done."""
        return [self._domains.get(domain).about for domain in self.dataset.domains()]

    @abstractmethod
    def _load(self, domain: str) -> DomainIndex[Any]:
        """Open the index of a domain; build it where it is not there."""


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


def make_series(name: str, dataset: Dataset, domain: str, *settings: object) -> str:
    """Name a series of indexes, in which each supersedes the one before when the passages of a domain have changed.

    Args:
        name: of the retriever.
        dataset: the data set.
        domain: its domain.
        settings: what else tells the indexes of a retriever apart. An empty one is a stage that was built by hand.

    Returns:
        A series for `Store.folder`; empty where the data set was built by hand, so that nobody knows it again.
    """
    known = dataset.series and "" not in settings
    return digest([name, dataset.series, domain, list(settings)]) if known else ""


def describe_index(corpus: Corpus, counts: BuildCounts | None, done: str) -> str:
    """Say in a sentence, in the log as well, what a build did; or that there was nothing to build.

    Args:
        corpus: whose index it is.
        counts: of the build; None where the index was there.
        done: what was done with new passages ("embedded").
    """
    if counts is None:
        is_one = len(corpus) == 1
        return f"{corpus.domain}: {len(corpus):,} {'passage is' if is_one else 'passages are'} in the index already"
    sentence = counts.describe(corpus.domain, done)
    log.info("Index built of %s", sentence)
    return sentence


def find_empty_domains(dataset: Dataset) -> Iterator[str]:
    """Yield a message for each domain whose corpus is empty or cannot be read, for a retriever's `check`."""
    for domain in dataset.domains():
        try:
            if next(iter(dataset.corpus(domain)), None) is None:
                why = dataset.explain_missing_corpus(domain)
                yield " ".join([f"the data set has no passages to search for the domain {domain!r}.", why]).rstrip()
        except DataError as error:
            yield str(error)
