"""`embedder=words`: a text's content words, each in a column by its hash."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from convrag import ConfigError, Embedder
from convrag.sdk.words import find_content_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class WordsEmbedder(Embedder):
    """Embed texts by their content words: texts are as near to each other as they share words. It learns nothing.

    There is no model, and no corpus is needed, unlike for `embedder=lsa`; words of the same meaning are not near. Each
    word's stem counts in one column, which its hash chooses (Weinberger et al. 2009). A text without content words is a
    zero row.

    Args:
        dimensions: of the vectors; with fewer, more words share a column.

    Raises:
        ConfigError: dimensions is below 1.
    """

    libraries = ("numpy", "scikit-learn", "scipy")

    def __init__(self, *, dimensions: int = 1024) -> None:
        if dimensions < 1:
            raise ConfigError(f"embedder.dimensions={dimensions} must be at least 1")
        self.dimensions = dimensions

    def load_libraries(self) -> None:
        """Import scikit-learn, in one thread."""
        import_module("sklearn")

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Unit or zero rows, (n, dimensions) float32."""
        import numpy as np
        from sklearn.feature_extraction.text import HashingVectorizer

        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        vectorizer = HashingVectorizer(
            n_features=self.dimensions, analyzer=_list_stems, alternate_sign=False, dtype=np.float32
        )
        rows: NDArray[np.float32] = vectorizer.transform(texts).toarray()
        return rows


def _list_stems(text: str) -> list[str]:
    return [word.stem for word in find_content_words(text)]
