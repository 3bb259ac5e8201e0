"""`retriever=bm25`: the index of each domain, and the passages that its positions stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal

from convrag import ConfigError, Dataset, Hit, Query, Retriever, Store
from convrag.store.fingerprint import digest
from convrag_retrieval.bm25_settings import BM25Settings, Method
from convrag_retrieval.located import LocatedCorpus
from convrag_retrieval.per_domain import PerDomain, missing_passages

if TYPE_CHECKING:
    from convrag_retrieval.bm25_index import BM25Index


class BM25Retriever(Retriever):
    """Lexical search with BM25 (bm25s): fast, exact, without any model; the baseline of every retrieval paper.

    A passage counts with its title and text; words are runs of two or more letters or digits, lower-cased. Several
    queries add up: a passage's score is the sum of weight times score, and one without any of their words is no hit.
    Each domain's index is built once, kept in the store and memory-mapped, so that all runs and cells share it.

    Args:
        dataset: whose corpora are searched.
        store: keeps the indexes.
        method: the BM25 formula, by bm25s' names; they differ little (Kamphuis et al. 2020). Lucene's gives no word a
            negative weight.
        k1: how slowly further occurrences of a word stop counting; 0 counts a word once. Default: bm25s' own.
        b: how much long passages are held back, from 0 (not at all) to 1 (in proportion). Default: bm25s' own.
        delta: least credit of a word that occurs, for bm25l and bm25+ only (Lv and Zhai 2011). Default: bm25s' own.
        stopwords: "english" drops 33 function words (Lucene's list), "none" keeps them.
        stemmer: "english" lets inflected forms match each other (Snowball, through PyStemmer), "none" does not.

    Raises:
        ConfigError: a number lies outside of its range.
    """

    def __init__(
        self,
        *,
        dataset: Dataset,
        store: Store,
        method: Method = "lucene",
        k1: float = 1.5,
        b: float = 0.75,
        delta: float = 0.5,
        stopwords: Literal["english", "none"] = "english",
        stemmer: Literal["english", "none"] = "none",
    ) -> None:
        _check_range("k1", k1, high=float("inf"))
        _check_range("b", b, high=1)
        _check_range("delta", delta, high=float("inf"))
        self.dataset = dataset
        self.store = store
        self.settings = BM25Settings(method, k1, b, delta, stopwords, stemmer)
        self._open = PerDomain(self._load)

    def check(self) -> Iterator[str]:
        yield from missing_passages(self.dataset)

    def prepare(self) -> None:
        for domain in self.dataset.domains():
            self._open(domain)

    def content_hash(self) -> str:
        return _versions()

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        searched = [query for query in queries if query.weight]
        if not searched or k < 1:
            return []
        corpus, index = self._open(searched[0].domain)
        best = index.search([query.text for query in searched], [query.weight for query in searched], k)
        passages = corpus.at([position for position, _ in best])
        return [Hit(passage, score) for passage, (_, score) in zip(passages, best, strict=True)]

    def scores(self, queries: Sequence[Query], ids: Sequence[str]) -> dict[str, float]:
        """Passage id -> score, found or not; ids that the corpus lacks are left out."""
        if not (searched := [query for query in queries if query.weight]):
            return dict.fromkeys(ids, 0.0)
        corpus, index = self._open(searched[0].domain)
        scores = index.scores([query.text for query in searched], [query.weight for query in searched])
        return {id_: float(scores[position]) for id_, position in corpus.positions(ids).items()}

    def _load(self, domain: str) -> tuple[LocatedCorpus, BM25Index]:
        from convrag_retrieval.bm25_index import BM25Index

        corpus = LocatedCorpus(self.dataset, domain, self.store)
        key = digest(["bm25", corpus.fingerprint, self.settings, _versions()])
        folder = self.store.folder("indexes", key, lambda path: BM25Index.build(corpus, self.settings, path))
        return corpus, BM25Index(folder, self.settings)


def _versions() -> str:
    """The libraries that decide words and scores: another version may index otherwise."""
    return f"bm25s {version('bm25s')}, PyStemmer {version('PyStemmer')}"


def _check_range(name: str, value: float, high: float) -> None:
    if not 0 <= value <= high:
        wanted = "0 or more" if high == float("inf") else f"between 0 and {high:g}"
        raise ConfigError(f"retriever=bm25: {name}={value} makes no sense; {name} must be {wanted}.")
