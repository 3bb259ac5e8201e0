"""The corpora that a retriever searches, one for each domain of the data set."""

import logging
import threading
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from convrag import DataError, Dataset, Hit, Store
from convrag.sdk.identity import digest
from convrag.sdk.search.corpus import Corpus
from convrag.sdk.search.filtering import FilteringRetriever, RetrieverFilter
from convrag.sdk.storage import BATCH

log = logging.getLogger(__name__)


class PositionedCorpus(Corpus):
    """A corpus that also finds the position of a passage by its id, as an index needs."""

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
class DomainIndex:
    """The index of a domain: its passages, what finds positions, and a sentence about the build."""

    corpus: PositionedCorpus
    rows: Any
    about: str

    def make_hits(self, best: Sequence[tuple[int, float]]) -> list[Hit]:
        """Make hits of (position, score)."""
        passages = self.corpus.get_by_position([position for position, _ in best])
        return [Hit(passage, score) for passage, (_, score) in zip(passages, best, strict=True)]


@dataclass
class BuildCounts:
    """The numbers of passages that a build knew, added and removed."""

    kept: int = 0
    new: int = 0
    removed: int = 0

    def describe(self, corpus: Corpus, done: str) -> str:
        """Say in a sentence, in the log as well, what was built; or that nothing was to be built.

            cloud: 10,000 passages: 9,990 kept, 8 embedded, 2 removed

        Args:
            corpus: whose index it is.
            done: what was done with new passages ("embedded").
        """
        total = f"{corpus.domain}: {len(corpus):,} passage{'' if len(corpus) == 1 else 's'}"
        counted = ((self.kept, "kept"), (self.new, done), (self.removed, "removed"))
        parts = [f"{count:,} {what}" for count, what in counted if count]
        if not parts:
            return f"{total} {'is' if len(corpus) == 1 else 'are'} in the index already"
        sentence = f"{total}: {', '.join(parts)}"
        log.info("Index built of %s", sentence)
        return sentence


@dataclass(kw_only=True, eq=False)
class CorpusRetriever(FilteringRetriever):
    """Base of retrievers that keep an index in the store for each domain of the data set.

    Args:
        dataset: whose corpora are searched.
        store: keeps the indexes.
        filter: the condition on fields that passages must match; None takes all.

    Raises:
        ConfigError: the filter cannot be read.
    """

    dataset: Dataset
    store: Store
    filter: str | None = None

    def __post_init__(self) -> None:
        self.filters = RetrieverFilter(
            self.filter, self.dataset, self.store, lambda domain: self._open(domain).corpus
        )
        self._loaded: dict[str, DomainIndex] = {}
        self._locks: dict[str, threading.Lock] = {}

    def check(self) -> Iterator[str]:
        for domain in self.dataset.domains():
            try:
                if next(iter(self.dataset.corpus(domain)), None) is None:
                    why = self.dataset.explain_missing_corpus(domain)
                    message = f"the data set has no passages to search for the domain {domain!r}."
                    yield f"{message} {why}".rstrip()
            except DataError as error:
                yield str(error)

    def prepare(self) -> None:
        self.index()
        self.filters.prepare()

    def index(self) -> list[str]:
        """Build the indexes of all domains, and say of each what was done."""
        return [self._open(domain).about for domain in self.dataset.domains()]

    def _open(self, domain: str) -> DomainIndex:
        """Return the index of a domain, loaded at its first use; many threads may ask.

        An error is not cached.
        """
        with self._locks.setdefault(domain, threading.Lock()):
            if domain not in self._loaded:
                self._loaded[domain] = self._load(domain)
            return self._loaded[domain]

    @abstractmethod
    def _load(self, domain: str) -> DomainIndex:
        """Open the index of a domain; build it where it is not there."""


def make_series(name: str, dataset: Dataset, domain: str, *settings: object) -> str:
    """Name a series of indexes, each of which supersedes the one before.

    A new one is built when the passages of a domain have changed.

    Args:
        name: of the retriever.
        dataset: the data set.
        domain: its domain.
        settings: what else tells the indexes of a retriever apart. An empty one is a stage that was
            built by hand.

    Returns:
        A series for `Store.folder`; empty where the data set was built by hand, so that nobody
        knows it again.
    """
    known = dataset.series and "" not in settings
    return digest([name, dataset.series, domain, list(settings)]) if known else ""
