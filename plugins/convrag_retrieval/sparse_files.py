"""`retriever=sparse_files`: learned sparse search with vectors that were made elsewhere."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from convrag import Dataset, Hit, Query, Store
from convrag.sdk.identity import digest, hash_modules
from convrag.sdk.search.queries import choose_queries
from convrag.sdk.search.sparse_vectors import PassageVectorFile, QueryVectorFile, find_problems
from convrag_retrieval.corpora import BuildCounts, CorpusRetriever, DomainIndex, PositionedCorpus

if TYPE_CHECKING:
    from convrag.sdk.search.postings import Postings

_PART = 1024
_TOKENS = "tokens.json"


class _Rows(NamedTuple):
    """Posting lists, and the token of each."""

    postings: Postings
    tokens: Mapping[str, int]


class SparseFilesRetriever(CorpusRetriever):
    """Search with weighted tokens from files that a learned sparse model (SPLADE) has made.

    A line of the files is `{"id": "p1", "vector": {"moon": 1.5, "tide": 0.7}}`, with the id of a
    passage or a turn. A query is looked up by its `"text"`, or by the id of its turn where the
    rewrite is a single query. A score is the product of both vectors; several queries add up,
    weighted.

    Args:
        dataset: whose corpora are searched.
        store: keeps the indexes.
        passage_vectors: JSONL with a vector for each passage of the data set; it may have more.
        query_vectors: JSONL with a vector for each query.
        filter: the condition on fields that passages must match: "product=kettle and year>=2023"
            (docs/search.md); null takes all passages.
    """

    libraries = ("numpy",)

    def __init__(
        self,
        *,
        dataset: Dataset,
        store: Store,
        passage_vectors: Path,
        query_vectors: Path,
        filter: str | None = None,
    ) -> None:
        super().__init__(dataset=dataset, store=store, filter=filter)
        self.passage_file = PassageVectorFile(passage_vectors)
        self.query_file = QueryVectorFile(query_vectors)

    def check(self) -> Iterator[str]:
        yield from super().check()
        yield from find_problems((self.passage_file, self.query_file))

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        searched = choose_queries(queries, "dense")
        if not searched or k < 1:
            return []
        index = self._open(searched[0].domain)
        words: dict[int, float] = defaultdict(float)
        for query in searched:
            vector = self.query_file.get_vector(query, is_only=len(searched) == 1)
            for token, weight in vector.items():
                number = index.rows.tokens.get(token)
                if number is not None:
                    words[number] += weight * query.weight
        among = self.filters.find_positions(queries)
        return index.make_hits(index.rows.postings.search(words, k, among))

    def _load(self, domain: str) -> DomainIndex:
        from convrag.sdk.search.postings import Postings

        corpus = PositionedCorpus(self.dataset, domain, self.store)
        counts = BuildCounts()
        code = hash_modules(
            __name__, "convrag.sdk.search.postings", "convrag.sdk.search.sparse_vectors"
        )
        key = digest(["sparse_files", self.passage_file.fingerprint, corpus.fingerprint, code])

        def build(folder: Path) -> None:
            self._build(corpus, folder)
            counts.new = len(corpus)

        folder = self.store.folder("indexes", key, build)
        tokens = json.loads((folder / _TOKENS).read_text(encoding="utf-8"))
        rows = _Rows(
            Postings(folder, len(corpus)), {token: number for number, token in enumerate(tokens)}
        )
        return DomainIndex(corpus, rows, counts.describe(corpus, "read"))

    def _build(self, corpus: PositionedCorpus, folder: Path) -> None:
        """Read the vectors of a corpus, and write their posting lists into an empty folder."""
        import numpy as np

        from convrag.sdk.search.postings import Postings

        tokens: dict[str, int] = {}
        found: list[tuple[int, int, float]] = []
        for start in range(0, len(corpus), _PART):
            passages = corpus.get_by_position(range(start, start + _PART))
            for position, vector in enumerate(self.passage_file.read_vectors(passages), start):
                found += [
                    (position, tokens.setdefault(each, len(tokens)), weight)
                    for each, weight in vector.items()
                ]
        positions, numbers, weights = np.array(found, dtype=np.float64).reshape(-1, 3).T
        Postings.invert(
            folder, positions.astype(np.int64), numbers.astype(np.int64), weights.astype(np.float32)
        )
        (folder / _TOKENS).write_text(json.dumps(list(tokens)), encoding="utf-8")
