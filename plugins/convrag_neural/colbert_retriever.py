"""`retriever=colbert`: search by late interaction, with the vectors of all tokens on disk."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from annotated_types import Ge

from convrag import Dataset, Hit, Query, Retriever, Store, operational
from convrag.sdk.identity import digest, hash_modules
from convrag.sdk.search.corpus import Corpus
from convrag.sdk.search.queries import choose_queries
from convrag_neural.late_interaction import LateInteractionStage

if TYPE_CHECKING:
    from convrag_neural.token_index import TokenIndex

_CODE = "late_interaction", "token_index", "token_index_builder"
"""The modules of this package that decide what an index holds."""


class _Index(NamedTuple):
    """The index of a domain.

    Args:
        corpus: its passages.
        tokens: the vectors of their tokens.
        about: a sentence about the build.
    """

    corpus: Corpus
    tokens: TokenIndex
    about: str


@dataclass(kw_only=True, eq=False)
class ColbertRetriever(LateInteractionStage, Retriever):
    """Search by late interaction (ColBERT): every token of a passage has a vector.

    A passage counts with its title and text, as far as the model reads. The score (MaxSim) is the
    sum, over the tokens of the query, of the largest product with a token of the passage; several
    queries add up, weighted. The search is exact and reads all of these vectors, memory-mapped,
    so it is for some ten thousand passages; for more, search with another retriever and
    `reranker=colbert`. Each text is encoded once; where passages have changed, only their new texts
    are, and an interrupted build goes on where it stopped.

    Args:
        dataset: whose corpora are searched.
        store: keeps the indexes.
        model: a folder of PyLate, sentence-transformers' MultiVectorEncoder or Stanford's ColBERT,
            which needs no network, or a name on the Hugging Face hub, which is downloaded once.
        quantize: keep vectors as "float16" (256 bytes a token at 128 dimensions; scores differ in
            the fourth digit), or "none" for float32, twice the size.
        query_length: tokens of a query that are read; None takes the model's own number, often 32.
        document_length: tokens of a passage that are read; None takes the model's own number.
        batch_size: the most texts that are encoded at once: on a GPU more is faster, and needs more
            memory; on a CPU batches of long texts have fewer, some 1,000 tokens.
        device: where the model runs: cpu, cuda, cuda:1, mps, xpu; "auto" takes a GPU where there is
            one.
        dtype: the numbers that it computes with; "auto" is what the weights are kept in.

    Raises:
        ConvragError: when it is used, the model cannot be loaded.
    """

    dataset: Dataset
    store: Store
    quantize: Literal["none", "float16"] = "float16"
    batch_size: Annotated[int, operational, Ge(1)] = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        self._indexes: dict[str, _Index] = {}
        self._index_lock = threading.Lock()

    def prepare(self) -> None:
        super().prepare()
        self.index()

    def index(self) -> list[str]:
        """Build the indexes of all domains, and say of each what was done."""
        return [self._open(domain).about for domain in self.dataset.domains()]

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        searched = choose_queries(queries, "dense")
        if not searched or k < 1:
            return []
        index = self._open(searched[0].domain)
        weights = [query.weight for query in searched]
        tokens = self.encode_queries([query.text for query in searched], weights)
        best = index.tokens.search(tokens, k)
        passages = index.corpus.get_by_position([position for position, _ in best])
        return [Hit(passage, score) for passage, (_, score) in zip(passages, best, strict=True)]

    def _open(self, domain: str) -> _Index:
        """Return the index of a domain, which is built or loaded at its first use."""
        with self._index_lock:
            if domain not in self._indexes:
                self._indexes[domain] = self._load_index(domain)
            return self._indexes[domain]

    def _load_index(self, domain: str) -> _Index:
        from convrag_neural.token_index import TokenIndex
        from convrag_neural.token_index_builder import TokenIndexBuilder

        corpus = Corpus(self.dataset, domain, self.store)
        code = hash_modules(*(f"convrag_neural.{name}" for name in _CODE))
        # Indexes of one family have equal vectors for equal texts.
        made_by = ["colbert", self.content_hash(), self.document_length, self.dtype]
        family = digest([*made_by, self.quantize, code])
        key = f"{family}-{digest(corpus.fingerprint)}"
        series = ""
        if self.dataset.series:
            series = digest([*made_by, self.quantize, self.dataset.series, domain])
        newest = self.store.folders.find_newest("indexes", series) if series else None
        is_alike = newest is not None and newest.name.startswith(f"{family}-")
        builder = TokenIndexBuilder(
            corpus,
            self.encode_texts,
            "float16" if self.quantize == "float16" else "float32",
            self.store,
            # The parts go by the series: a killed build is resumed although passages have changed.
            self.store.path / "encoded" / f"{family}-{series or digest(corpus.fingerprint)}",
            newest if is_alike else None,
        )
        folder = self.store.folder("indexes", key, builder.build, series=series)
        builder.clean_up()
        remark = f", {builder.encoded:,} of them encoded now" if builder.encoded else ""
        about = f"{domain}: {len(corpus):,} passages are in the index{remark}"
        return _Index(corpus, TokenIndex(folder), about)
