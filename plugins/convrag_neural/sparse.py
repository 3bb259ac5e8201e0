"""`retriever=sparse`: learned sparse search on this machine, with posting lists of tokens."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from annotated_types import Ge

from convrag import (
    ConfigError,
    DataError,
    Dataset,
    Hit,
    Query,
    Question,
    Store,
    operational,
)
from convrag.sdk.files import open_atomically
from convrag.sdk.identity import digest, hash_modules
from convrag.sdk.output.progress import count_parts
from convrag.sdk.search.corpus import Corpus
from convrag.sdk.search.filtering import FilteringRetriever, RetrieverFilter
from convrag.sdk.search.filters import join_filters
from convrag.sdk.search.queries import choose_queries
from convrag_neural.model_problems import find_model_problem
from convrag_neural.sparse_encoding import (
    SparseModelStage,
    Tokens,
    TokenWeights,
    check_vocabularies,
    flatten_conversation,
    keep_heaviest,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from convrag.sdk.search.postings import Postings

_PART = 256
"""Passages that are encoded and kept at once; they are lost when a build is killed."""

_CODE = __name__, "convrag_neural.sparse_encoding", "convrag.sdk.search.postings"
"""The modules that decide what an index holds."""

_WORDS = "words.npy"
"""The file with the numbers of the tokens of an index."""


class _Index(NamedTuple):
    """The index of a domain.

    Args:
        corpus: its passages.
        postings: a list for each token.
        words: (lists,) the numbers of these tokens in the model's vocabulary, rising.
    """

    corpus: Corpus
    postings: Postings
    words: NDArray[np.int64]


@dataclass(kw_only=True, eq=False)
class SparseRetriever(SparseModelStage, FilteringRetriever):
    """Search with a learned sparse model (SPLADE and its like), which weights related tokens, too.

    The model is one of sentence-transformers' SparseEncoder, from a folder or from the Hugging Face
    hub. A query is encoded by its own rule (`encode_query`): with an inference-free model its
    tokens count by their IDF, and no network runs. A score is the product of both vectors; several
    queries add up, weighted. A passage counts with its title and text, as far as the model reads.
    Each passage is encoded once; an interrupted build goes on where it stopped.

    Queries may have an encoder of their own: a model that was trained to read conversations, or
    that is smaller (`query_model`), or a file of token weights (`query_weights`), which needs no
    network for a query. `retriever=disco` has DiSCo's encoder of conversations (Lupart et al.,
    SIGIR 2025), which reads the question and the history, newest first, separated by [SEP].

    Args:
        dataset: whose corpora are searched.
        store: keeps the indexes.
        model: a folder, which needs no network, or a name on the hub ("naver/splade-v3").
        query_model: another model that encodes queries, with the same vocabulary; a folder or a
            name ("slupart/splade-disco-human-mistral").
        query_weights: the weights of a query's tokens, for a model that encodes documents alone: a
            file idf.json ({"kettle": 9.1}) or query_token_weights.txt (token, tab, weight).
        query: the text that is encoded: "rewrite" (the queries of the rewriter) or "conversation",
            for encoders that read it whole: the question and the history, flattened.
        order: of the flattened conversation: "newest_first" (question, last answer, last question,
            ...) or "oldest_first", as the model was trained (its card tells).
        separator: between the texts of the flattened conversation, as the model was trained.
        max_terms: the most tokens of a query that are searched for, the heaviest; None takes all.
        max_passage_terms: the most tokens of a passage that are in the index, the heaviest; None
            takes all.
        filter: the condition on fields that passages must match: "product=kettle and year>=2023"
            (docs/search.md); null takes all passages.
        batch_size: the most texts that are encoded at once.
        device: where the model runs: cpu, cuda, cuda:1, mps, xpu; "auto" takes a GPU where there is
            one.
    """

    dataset: Dataset
    store: Store
    model: str = "naver/splade-v3"
    query_model: str | None = None
    query_weights: Path | None = None
    query: Literal["rewrite", "conversation"] = "rewrite"
    order: Literal["newest_first", "oldest_first"] = "newest_first"
    separator: str = " [SEP] "
    max_terms: Annotated[int, Ge(1)] | None = None
    max_passage_terms: Annotated[int, Ge(1)] | None = None
    filter: str | None = None
    batch_size: Annotated[int, operational, Ge(1)] = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.query_model and self.query_weights:
            raise ConfigError(
                "retriever.query_model and retriever.query_weights both say how queries are "
                "encoded: choose one of them"
            )
        self.filters = RetrieverFilter(
            self.filter, self.dataset, self.store, lambda domain: self._open(domain).corpus
        )
        self.reads_conversation = self.query == "conversation"
        self._query_stage: SparseModelStage | None = None
        if self.query_model:
            self._query_stage = SparseModelStage(model=self.query_model, device=self.device)
        self._token_weights = TokenWeights(self.query_weights) if self.query_weights else None
        self._indexes: dict[str, _Index] = {}
        self._index_lock = threading.Lock()

    def check(self) -> Iterator[str]:
        """Say why a model cannot be loaded, or a file cannot be read."""
        yield from super().check()
        problem = find_model_problem(self.query_model) if self.query_model else ""
        if problem:
            yield f"{problem} ({{place}}.query_model=<folder>)"
        if self._token_weights:
            try:
                self._token_weights.read()
            except DataError as error:
                yield str(error)

    def content_hash(self) -> str:
        """Hash the models of passages and queries."""
        own = super().content_hash()
        if self._query_stage is None:
            return own
        return digest([own, self._query_stage.content_hash()])

    def prepare(self) -> None:
        super().prepare()
        if self._query_stage:
            check_vocabularies(self, self._query_stage)
        self.index()
        self.filters.prepare()

    def index(self) -> list[str]:
        """Build the indexes of all domains, and say what there is."""
        return [
            f"{domain}: {len(self._open(domain).corpus):,} passages are in the index"
            for domain in self.dataset.domains()
        ]

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        import numpy as np

        searched = choose_queries(queries, "dense")
        if not searched or k < 1:
            return []
        index = self._open(searched[0].domain)
        tokens = self._encode_queries([query.text for query in searched])
        query_weights = np.array([query.weight for query in searched])
        weights = tokens.weights.astype(np.float64) * query_weights[tokens.rows]
        words = _add_up(index.words, tokens.numbers, weights)
        best = index.postings.search(words, k, self.filters.find_positions(queries))
        passages = index.corpus.get_by_position([position for position, _ in best])
        return [Hit(passage, score) for passage, (_, score) in zip(passages, best, strict=True)]

    def retrieve_for(self, question: Question, queries: Sequence[Query], k: int) -> list[Hit]:
        if not self.reads_conversation:
            return self.retrieve(queries, k)
        flat = flatten_conversation(
            question.history,
            question.text,
            newest_first=self.order == "newest_first",
            separator=self.separator,
        )
        condition = join_filters(query.filter for query in queries)
        query = Query(flat, 1.0, question.turn_id, question.domain, filter=condition)
        return self.retrieve([query], k)

    def _encode_queries(self, texts: list[str]) -> Tokens:
        """Encode queries by the token weights, by the queries' own model, or by the model."""
        if self._token_weights:
            tokens = self._token_weights.encode(self, texts)
        elif self._query_stage:
            tokens = self._query_stage.encode_tokens(texts, self.batch_size, is_query=True)
        else:
            tokens = self.encode_tokens(texts, self.batch_size, is_query=True)
        return keep_heaviest(tokens, self.max_terms)

    def _encode_passages(self, texts: list[str]) -> Tokens:
        tokens = self.encode_tokens(texts, self.batch_size, is_query=False)
        return keep_heaviest(tokens, self.max_passage_terms)

    def _open(self, domain: str) -> _Index:
        """Return the index of a domain, which is built or loaded at its first use."""
        import numpy as np

        from convrag.sdk.search.postings import Postings

        with self._index_lock:
            if domain not in self._indexes:
                corpus = Corpus(self.dataset, domain, self.store)
                code = hash_modules(*_CODE)
                model = super().content_hash()  # that of queries changes nothing in an index
                key = digest(["sparse", model, self.max_passage_terms, corpus.fingerprint, code])
                parts = self.store.path / "encoded" / key
                folder = self.store.folder(
                    "indexes", key, lambda empty: self._build(corpus, parts, empty)
                )
                shutil.rmtree(parts, ignore_errors=True)
                postings = Postings(folder, len(corpus))
                self._indexes[domain] = _Index(corpus, postings, np.load(folder / _WORDS))
            return self._indexes[domain]

    def _build(self, corpus: Corpus, parts: Path, folder: Path) -> None:
        """Encode the passages, part by part, and write the posting lists of all.

        Args:
            corpus: has the passages.
            parts: the folder of parts that are encoded already.
            folder: an empty one, for the posting lists.
        """
        import numpy as np

        from convrag.sdk.search.postings import Postings

        parts.mkdir(parents=True, exist_ok=True)
        encoded: list[Tokens] = []
        with count_parts(f"Encoding {corpus.domain}", total=len(corpus)) as advance:
            for start in range(0, len(corpus), _PART):
                passages = corpus.get_by_position(range(start, start + _PART))
                texts = [passage.content for passage in passages]
                tokens = self._encode_part(texts, parts / f"{start}.npz")
                encoded.append(Tokens(tokens.rows + start, tokens.numbers, tokens.weights))
                advance(len(passages))
        positions = np.concatenate([tokens.rows for tokens in encoded])
        numbers = np.concatenate([tokens.numbers for tokens in encoded])
        weights = np.concatenate([tokens.weights for tokens in encoded])
        np.save(folder / _WORDS, Postings.invert(folder, positions, numbers, weights))

    def _encode_part(self, texts: list[str], file: Path) -> Tokens:
        """Encode the texts of a part, or read what an earlier build encoded."""
        import numpy as np

        if not file.exists():  # it is written as a whole, or not at all
            tokens = self._encode_passages(texts)
            with open_atomically(file, "wb") as opened:
                np.savez(opened, *tokens)
        with np.load(file) as arrays:
            return Tokens(*arrays.values())


def _add_up(
    words: NDArray[np.int64], numbers: NDArray[np.int64], weights: NDArray[np.float64]
) -> dict[int, float]:
    """Add up the weights of a search's tokens: place in the index -> weight.

    Args:
        words: (lists,) the numbers of the tokens that the index has, rising.
        numbers: (p,) the numbers of the search's tokens; those that the index lacks are left out.
        weights: (p,) their weights.
    """
    import numpy as np

    places = np.minimum(np.searchsorted(words, numbers), len(words) - 1)
    is_known = words[places] == numbers
    total: dict[int, float] = {}
    for place, weight in zip(places[is_known].tolist(), weights[is_known].tolist(), strict=True):
        total[place] = total.get(place, 0.0) + weight
    return total
