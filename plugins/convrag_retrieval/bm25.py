"""`retriever=bm25`: lexical search over the data set's corpora; bm25_index has the formulas."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Interval

from convrag import Hit, Query
from convrag.sdk.identity import digest, find_version, hash_modules
from convrag.sdk.search.queries import choose_queries
from convrag.sdk.text.analysis import Analysis
from convrag_retrieval.bm25_settings import BM25Settings
from convrag_retrieval.corpora import (
    BuildCounts,
    CorpusRetriever,
    DomainIndex,
    PositionedCorpus,
    make_series,
)

log = logging.getLogger(__name__)

_CODE = (
    "convrag_retrieval.bm25_index",
    "convrag_retrieval.bm25_settings",
    "convrag.sdk.search.postings",
)
"""The modules that decide what an index holds."""


@dataclass(kw_only=True, eq=False)
class BM25Retriever(CorpusRetriever):
    """Search with BM25: fast, exact, without a model; the baseline of every retrieval paper.

    The formula is Lucene's, which gives no word a negative weight; others differ little (Kamphuis
    et al. 2020). A passage counts with its title and text; words are runs of two or more letters or
    digits, lower-cased. Several queries add up: a passage's score is the sum of weight times score,
    and one without any of their words is no hit. Each domain's index is built once, kept in the
    store and memory-mapped, so that all runs and cells share it.

    Args:
        dataset: whose corpora are searched.
        store: keeps the indexes.
        k1: saturation of term frequency: the larger, the more repeated words count; 0 counts a word
            once. Default:
            that of bm25s.
        b: normalisation by passage length, from 0 (none) to 1 (full). Default: that of bm25s.
        words: how texts are split. "auto": see `convrag.sdk.text.analysis.Analysis`; "plain": runs
            of two or more letters or digits, as most published figures have them, with Lucene's
            stop words and no stems.
        language: of the passages ("german"); "auto" tells it, or them, by their stop words and
            their script.
        stopwords: "auto" drops the words that only join or ask, in the language of each text;
            "english" 33 function words (Lucene's list); "none" drops none.
        stemmer: "auto" lets inflected forms match each other (Snowball, through PyStemmer), in the
            passages' languages; "english" in English; "none" does not.
        filter: the condition on fields that passages must match: "product=kettle and year>=2023"
            (docs/search.md); null takes all passages.
    """

    libraries = ("numpy", "PyStemmer", "rapidfuzz")

    k1: Annotated[float, Ge(0)] = 1.5
    b: Annotated[float, Interval(ge=0, le=1)] = 0.75
    words: Literal["auto", "plain"] = "auto"
    language: str = "auto"
    stopwords: Literal["auto", "english", "none"] = "auto"
    stemmer: Literal["auto", "english", "none"] = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        analysis = Analysis.choose(self.words, self.language, self.stopwords, self.stemmer)
        self.settings = BM25Settings(self.k1, self.b, analysis)

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        searched = choose_queries(queries, "lexical")
        if not searched or k < 1:
            return []
        index = self._open(searched[0].domain)
        best = index.rows.search(
            [query.text for query in searched],
            [query.weight for query in searched],
            k,
            self.filters.find_positions(queries),
        )
        return index.make_hits(best)

    def explain(self, queries: Sequence[Query]) -> Mapping[str, Any]:
        """Return how the queries were read.

        `read_as` are words that no passage has -> the nearest word, searched for instead; `filter`
        is the condition on fields.
        """
        searched = choose_queries(queries, "lexical")
        index = self._open(searched[0].domain).rows if searched else None
        replaced = index.find_replacements([query.text for query in searched]) if index else {}
        read_as = {"read_as": replaced} if replaced else {}
        return {**read_as, **super().explain(queries)}

    def scores(self, queries: Sequence[Query], ids: Sequence[str]) -> dict[str, float]:
        """Score given passages: id -> BM25 score; ids that the corpus lacks are left out."""
        searched = choose_queries(queries, "lexical")
        if not searched:
            return dict.fromkeys(ids, 0.0)
        index = self._open(searched[0].domain)
        positions = index.corpus.positions(ids)
        texts = [query.text for query in searched]
        weights = [query.weight for query in searched]
        scores = index.rows.score(texts, weights, list(positions.values()))
        return dict(zip(positions, scores.tolist(), strict=True))

    def _load(self, domain: str) -> DomainIndex:
        from convrag_retrieval.bm25_index import BM25Index, build_index

        corpus = PositionedCorpus(self.dataset, domain, self.store)
        counts = BuildCounts()

        def build(folder: Path) -> None:
            build_index(corpus, self.settings, folder)
            counts.new = len(corpus)

        code = [hash_modules(*_CODE), *map(find_version, self.libraries)]
        key = digest(["bm25", corpus.fingerprint, self.settings, code])
        series = make_series("bm25", self.dataset, domain, self.settings)
        folder = self.store.folder("indexes", key, build, series=series)
        index = BM25Index(folder, self.settings, len(corpus))
        for note in index.notes:
            _warn(f"{domain}: {note}")
        done = f"indexed ({', '.join(index.languages)})" if index.languages else "indexed"
        return DomainIndex(corpus, index, counts.describe(corpus, done))


@cache
def _warn(note: str) -> None:
    """Log a warning, once in a process: the cells of a grid open the same index."""
    log.warning("%s", note)
