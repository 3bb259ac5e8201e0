"""`embedder=lsa`: latent semantic analysis, learnt from the run's own corpus."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from convrag import ConfigError, Dataset, Embedder, Store
from convrag.sdk.identity import digest, find_version, hash_package
from convrag_offline.document_frequencies import has_passages, open_corpora

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from convrag_offline.lsa_model import LsaModel

_NO_CORPUS = "this embedder learns from the run's corpus, and the data set has none: choose another (embedder=...)"


class LsaEmbedder(Embedder):
    """Embed texts with latent semantic analysis (TF-IDF and a truncated SVD) of the run's corpus: no model to download.

    Words that occur together in passages are close to each other. A text without a word of the corpus is a zero row.

    Args:
        dataset: the data set whose corpora, all of them, are learnt from.
        store: keeps the model.
        dimensions: of the vectors; with fewer, more words of different meanings are close. A corpus with fewer passages
            or words gives fewer (some hundreds work best: Landauer and Dumais 1997; Bradford 2008).
        passages: the most passages to learn from, taken at even distances; more take longer and need more memory.

    Raises:
        ConfigError: dimensions or passages are below 1; when it is used, the data set has no corpus.
    """

    libraries = ("numpy", "scikit-learn", "scipy")

    def __init__(self, *, dataset: Dataset, store: Store, dimensions: int = 256, passages: int = 50_000) -> None:
        if dimensions < 1 or passages < 1:
            raise ConfigError(f"embedder.dimensions={dimensions} and embedder.passages={passages} must be at least 1")
        self.dataset = dataset
        self.store = store
        self.dimensions = dimensions
        self.passages = passages
        self._lock = threading.Lock()
        self._model: LsaModel | None = None

    def check(self) -> Iterable[str]:
        """Whether there is a corpus to learn from."""
        if not any(has_passages(self.dataset, domain) for domain in self.dataset.domains()):
            yield _NO_CORPUS

    def prepare(self) -> None:
        """Learn the model from the corpus, unless the store has it. It is loaded by the first call that computes."""
        self._find_model()

    def load_libraries(self) -> None:
        """Import scikit-learn, which takes longer than all else that a run imports."""
        import_module("convrag_offline.lsa_model")

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Unit or zero rows, (n, d) float32; d is `dimensions`, or what the corpus allows."""
        return self._load_model().transform(texts)

    def _load_model(self) -> LsaModel:
        with self._lock:
            if self._model is None:
                from convrag_offline.lsa_model import LsaModel

                self._model = LsaModel.load(self._find_model())
            return self._model

    def _find_model(self) -> Path:
        """The folder of the model in the store, where it is learnt if need be."""
        if not (corpora := open_corpora(self.dataset, self.store)):
            raise ConfigError(_NO_CORPUS)
        sources = [corpus.fingerprint for corpus in corpora]
        code = [hash_package(__name__), *map(find_version, self.libraries)]
        key = digest(["lsa", sources, self.dimensions, self.passages, code])

        def learn_into(folder: Path) -> None:
            from convrag_offline.lsa_model import learn

            learn(corpora, self.dimensions, self.passages).save(folder)

        return self.store.folder("embedders", key, learn_into)
