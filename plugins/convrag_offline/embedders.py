"""Embedders without a model to download: LSA of the corpus, and hashed words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge

from convrag import ConfigError, Dataset, Embedder, Store
from convrag.sdk.identity import digest, find_version, hash_package
from convrag.sdk.lazy import Lazy
from convrag.sdk.search.corpus import Corpus, has_passages
from convrag.sdk.search.frequencies import open_corpora
from convrag.sdk.text.analysis import Analysis, stem_content_words

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from convrag_offline.lsa_model import LsaModel


_NO_CORPUS = (
    "this embedder learns from the run's corpus, and the data set has none: "
    "choose another (embedder=...)"
)


@dataclass(kw_only=True, eq=False)
class LsaEmbedder(Embedder):
    """Embed texts by latent semantic analysis of the run's corpus: no model to download.

    A truncated SVD of TF-IDF weights, by which words that occur together in passages are close to
    each other. A text without a word of the corpus is a zero row. Where documents change, new
    passages are folded into the earlier model; once a tenth of the passages that it learnt from has
    changed, it learns anew (Berry et al. 1995).

    Args:
        dataset: the data set; the model learns from all of its corpora.
        store: keeps the model.
        dimensions: of the vectors; with fewer, more words of different meanings are close. A corpus
            with fewer passages or words gives fewer (some hundreds work best: Landauer and Dumais
            1997; Bradford 2008).
        passages: the most passages to learn from, taken at even distances; more take longer and
            need more memory.
        words: "auto": as retriever=bm25 splits and stems them, in the language of the passages;
            "plain": runs of two letters or digits, without English stop words, as scikit-learn has
            them.

    Raises:
        ConfigError: when it is used, the data set has no corpus.
    """

    libraries = ("numpy", "scikit-learn", "scipy")

    dataset: Dataset
    store: Store
    dimensions: Annotated[int, Ge(1)] = 256
    passages: Annotated[int, Ge(1)] = 50_000
    words: Literal["auto", "plain"] = "auto"

    def __post_init__(self) -> None:
        self._model = Lazy(self._load_model)

    def check(self) -> Iterable[str]:
        """Report a data set without a corpus to learn from."""
        if not any(has_passages(self.dataset, domain) for domain in self.dataset.domains()):
            yield _NO_CORPUS

    def prepare(self) -> None:
        """Learn the model from the corpus, unless the store has it."""
        self._find_model()

    def load_libraries(self) -> None:
        """Import scikit-learn, which takes longer than all else that a run imports."""
        import_module("convrag_offline.lsa_model")

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return unit or zero rows, (n, d) float32; a small corpus gives fewer `dimensions`."""
        return self._model().transform(texts)

    def _load_model(self) -> LsaModel:
        from convrag_offline.lsa_model import LsaModel

        return LsaModel.load(self._find_model())

    def _find_model(self) -> Path:
        """Find the folder of the model in the store, where it is learnt if need be."""
        corpora = open_corpora(self.dataset, self.store)
        if not corpora:
            raise ConfigError(_NO_CORPUS)
        sources = [corpus.fingerprint for corpus in corpora]
        code = [hash_package(__name__), *map(find_version, self.libraries)]
        settings = [self.dimensions, self.passages, self.words, code]
        key = digest(["lsa", sources, *settings])
        series = self.dataset.series and digest(["lsa", self.dataset.series, *settings])
        earlier = self.store.folders.find_newest("embedders", series) if series else None
        learn_into = partial(self._learn_into, corpora=corpora, earlier=earlier)
        return self.store.folder("embedders", key, learn_into, series=series)

    def _learn_into(self, folder: Path, corpora: Sequence[Corpus], earlier: Path | None) -> None:
        """Copy the earlier model into a folder if little has changed since; else learn anew."""
        from convrag_offline.lsa_model import learn, take_over

        texts = [hashed for corpus in corpora for hashed in corpus.hash_texts()]
        if earlier:
            with self.store.folders.reading(earlier) as is_whole:
                if is_whole and take_over(earlier, folder, texts):
                    return
        model = learn(corpora, self.dimensions, self.passages, Analysis.choose(self.words))
        model.save(folder, texts)


class WordsEmbedder(Embedder):
    """Embed texts by their content words: the more words two texts share, the nearer they are.

    Nothing is learnt, so that no corpus is needed, unlike for `embedder=lsa`; words of the same
    meaning are not near. Each word's stem counts in one column, which its hash chooses (Weinberger
    et al. 2009). A text without content words is a zero row.

    Args:
        dimensions: of the vectors; with fewer, more words share a column.
    """

    libraries = ("numpy", "scikit-learn", "scipy")

    def __init__(self, *, dimensions: Annotated[int, Ge(1)] = 1024) -> None:
        self.dimensions = dimensions

    def load_libraries(self) -> None:
        """Import scikit-learn, in one thread."""
        import_module("sklearn")

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return unit or zero rows, (n, dimensions) float32."""
        import numpy as np
        from sklearn.feature_extraction.text import HashingVectorizer

        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        vectorizer = HashingVectorizer(
            n_features=self.dimensions,
            analyzer=stem_content_words,
            alternate_sign=False,
            dtype=np.float32,
        )
        rows: NDArray[np.float32] = vectorizer.transform(texts).toarray()
        return rows
