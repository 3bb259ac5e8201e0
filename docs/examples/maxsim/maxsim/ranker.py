"""Late interaction: each token of the query counts with the token of the text that is most like it."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

from convrag import Embedder, Ranker
from convrag.sdk.model_files import identify_model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class LateInteractionRanker(Ranker):
    """Score texts by MaxSim (Khattab and Zaharia, "ColBERT", SIGIR 2020); subclasses make the vectors of tokens."""

    libraries = ("numpy",)

    @abstractmethod
    def embed_tokens(self, text: str, *, query: bool) -> NDArray[np.float32]:
        """Return the vectors of a text's tokens: (tokens, d), rows of length 1; a text may have no
        tokens.
        """

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the mean over the query's tokens of the best cosine in each text: (n,), from -1 to
        1.
        """
        import numpy as np

        scores = np.zeros(len(texts))
        asked = self.embed_tokens(query, query=True)
        for number, text in enumerate(texts):
            tokens = self.embed_tokens(text, query=False)
            if len(asked) and len(tokens):
                scores[number] = (asked @ tokens.T).max(axis=1).mean()
        return scores


class WordRanker(LateInteractionRanker):
    """Compare texts word by word, with the vector that any embedder has for a word alone (MaxSim).

    Args:
        embedder: makes the vectors of words.
    """

    def __init__(self, *, embedder: Embedder) -> None:
        self.embedder = embedder

    def embed_tokens(self, text: str, *, query: bool) -> NDArray[np.float32]:
        return self.embedder.embed(re.findall(r"\w+", text), query=query)


class MaxSimRanker(LateInteractionRanker):
    """Compare texts token by token, with the vectors that a transformer gives tokens in their context (MaxSim).

    Args:
        model: of sentence-transformers: a folder, or a name on the Hugging Face hub.
    """

    requires: ClassVar = {"sentence_transformers": "convrag-maxsim[neural]"}

    def __init__(self, *, model: str = "sentence-transformers/all-MiniLM-L6-v2") -> None:
        self.model = model
        self._encoder: Any = None
        self._lock = Lock()

    def content_hash(self) -> str:
        return identify_model(self.model)  # another model in the same folder gives other scores

    def embed_tokens(self, text: str, *, query: bool) -> NDArray[np.float32]:
        from sentence_transformers import SentenceTransformer
        from torch.nn.functional import normalize

        with self._lock:  # a tokenizer cannot be used by two threads at once
            self._encoder = self._encoder or SentenceTransformer(self.model)
            tokens = self._encoder.encode(
                text, output_value="token_embeddings", show_progress_bar=False
            )
        rows: NDArray[np.float32] = normalize(tokens, dim=1).cpu().numpy()
        return rows
