"""`retriever=sparse`: learned sparse search on this machine, with posting lists of tokens."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from annotated_types import Ge

from convrag import Dataset, Hit, Query, Question, Retriever, Store, operational
from convrag.sdk.files import open_atomically
from convrag.sdk.identity import digest, hash_modules
from convrag.sdk.output.progress import count_parts
from convrag.sdk.search.corpus import Corpus
from convrag.sdk.search.queries import choose_queries
from convrag_neural.local_model import LocalModelStage, find_device

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentence_transformers import SparseEncoder

    from convrag.sdk.search.postings import Postings

_PART = 256
"""Passages that are encoded and kept at once; they are lost when a build is killed."""

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


class _Tokens(NamedTuple):
    """The weighted tokens of texts.

    Args:
        rows: (p,) the place of the text.
        numbers: (p,) the number of the token in the model's vocabulary.
        weights: (p,) its weight in the text, above 0.
    """

    rows: NDArray[np.int64]
    numbers: NDArray[np.int64]
    weights: NDArray[np.float32]


@dataclass(kw_only=True, eq=False)
class SparseRetriever(LocalModelStage["SparseEncoder"], Retriever):
    """Search with a learned sparse model (SPLADE and its like), which weights related tokens, too.

    The model is one of sentence-transformers' SparseEncoder, from a folder or from the Hugging Face
    hub. A query is encoded by its own rule (`encode_query`): with an inference-free model its
    tokens count by their IDF, and no network runs. A score is the product of both vectors; several
    queries add up, weighted. A passage counts with its title and text, as far as the model reads.
    Each passage is encoded once; an interrupted build goes on where it stopped.

    Args:
        dataset: whose corpora are searched.
        store: keeps the indexes.
        model: a folder, which needs no network, or a name on the hub ("naver/splade-v3").
        query: the text that is encoded: "rewrite" (the queries of the rewriter) or "conversation",
            for encoders that read it whole: the question and the history, flattened.
        order: of the flattened conversation: "newest_first" (question, last answer, last question,
            ...) or "oldest_first", as the model was trained (its card tells).
        separator: between the texts of the flattened conversation, as the model was trained.
        batch_size: the most texts that are encoded at once.
        device: where the model runs: cpu, cuda, cuda:1, mps, xpu; "auto" takes a GPU where there is
            one.
    """

    dataset: Dataset
    store: Store
    model: str = "naver/splade-v3"
    query: Literal["rewrite", "conversation"] = "rewrite"
    order: Literal["newest_first", "oldest_first"] = "newest_first"
    separator: str = " [SEP] "
    batch_size: Annotated[int, operational, Ge(1)] = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        self.reads_conversation = self.query == "conversation"
        self._indexes: dict[str, _Index] = {}
        self._index_lock = threading.Lock()

    def prepare(self) -> None:
        super().prepare()
        self.index()

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
        tokens = self._encode([query.text for query in searched], is_query=True)
        query_weights = np.array([query.weight for query in searched])
        weights = tokens.weights.astype(np.float64) * query_weights[tokens.rows]
        best = index.postings.search(_add_up(index.words, tokens.numbers, weights), k)
        passages = index.corpus.get_by_position([position for position, _ in best])
        return [Hit(passage, score) for passage, (_, score) in zip(passages, best, strict=True)]

    def retrieve_for(self, question: Question, queries: Sequence[Query], k: int) -> list[Hit]:
        if not self.reads_conversation:
            return self.retrieve(queries, k)
        texts = [text for turn in question.history for text in (turn.question, turn.answer)]
        texts.append(question.text)
        if self.order == "newest_first":
            texts.reverse()
        flat = self.separator.join(text for text in texts if text)
        return self.retrieve([Query(flat, 1.0, question.turn_id, question.domain)], k)

    def _load_model(self, source: str) -> SparseEncoder:
        from sentence_transformers import SparseEncoder

        return SparseEncoder(source, revision=self.revision, device=find_device(self.device))

    def _encode(self, texts: list[str], *, is_query: bool) -> _Tokens:
        with self._locked_model() as model:
            encode = model.encode_query if is_query else model.encode_document
            encoded = encode(
                texts, batch_size=self.batch_size, show_progress_bar=False, save_to_cpu=True
            )
            matrix = encoded.coalesce()
        rows, numbers = matrix.indices().numpy()
        weights = matrix.values().float().numpy()
        counts = weights > 0
        return _Tokens(rows[counts], numbers[counts], weights[counts])

    def _open(self, domain: str) -> _Index:
        """Return the index of a domain, which is built or loaded at its first use."""
        import numpy as np

        from convrag.sdk.search.postings import Postings

        with self._index_lock:
            if domain not in self._indexes:
                corpus = Corpus(self.dataset, domain, self.store)
                code = hash_modules(__name__, "convrag.sdk.search.postings")
                key = digest(["sparse", self.content_hash(), corpus.fingerprint, code])
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
        encoded: list[_Tokens] = []
        with count_parts(f"Encoding {corpus.domain}", total=len(corpus)) as advance:
            for start in range(0, len(corpus), _PART):
                passages = corpus.get_by_position(range(start, start + _PART))
                texts = [passage.content for passage in passages]
                tokens = self._encode_part(texts, parts / f"{start}.npz")
                encoded.append(_Tokens(tokens.rows + start, tokens.numbers, tokens.weights))
                advance(len(passages))
        positions = np.concatenate([tokens.rows for tokens in encoded])
        numbers = np.concatenate([tokens.numbers for tokens in encoded])
        weights = np.concatenate([tokens.weights for tokens in encoded])
        np.save(folder / _WORDS, Postings.invert(folder, positions, numbers, weights))

    def _encode_part(self, texts: list[str], file: Path) -> _Tokens:
        """Encode the texts of a part, or read what an earlier build encoded."""
        import numpy as np

        if not file.exists():  # it is written as a whole, or not at all
            tokens = self._encode(texts, is_query=False)
            with open_atomically(file, "wb") as opened:
                np.savez(opened, *tokens)
        with np.load(file) as arrays:
            return _Tokens(*arrays.values())


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
