"""`embedder=spacy`: the mean of a text's word vectors."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from convrag import ConvragError, Embedder
from convrag_spacy.pipelines import meta_of, pipeline_hash, problem_with

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from spacy.language import Language


class SpacyEmbedder(Embedder):
    """Average the word vectors of a spaCy pipeline: with `clusterer=similarity`, GINGER's spaCy variant.

    Similarities are those of spaCy: the cosine of the means. Words without a vector count as nothing; a text without
    any that has one is a zero row. Of the pipeline, only tokenizer and vectors are loaded.

    Args:
        pipeline: an installed pipeline that has vectors (their names end in _md or _lg), or the folder of one. Install
            it with `python -m spacy download en_core_web_md`.

    Raises:
        ConvragError: when it is used, the pipeline cannot be loaded, or has no vectors.
    """

    requires: ClassVar[Mapping[str, str]] = {"spacy": "convrag[spacy]"}

    def __init__(self, *, pipeline: str = "en_core_web_md") -> None:
        self.pipeline = pipeline
        self._lock = threading.Lock()  # a pipeline keeps what it meets
        self._loaded: Language | None = None

    def check(self) -> Iterator[str]:
        """Whether the pipeline is there, and has vectors; it is not loaded."""
        if problem := problem_with(self.pipeline):
            yield problem

    def content_hash(self) -> str:
        """The version of an installed pipeline, the files of one in a folder."""
        return pipeline_hash(self.pipeline)

    def prepare(self) -> None:
        """Load the pipeline."""
        with self._lock:
            self._read()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Unit rows, (n, d) float32; texts without known words are zero rows."""
        import numpy as np

        with self._lock:
            nlp = self._read()
            rows = np.zeros((len(texts), nlp.vocab.vectors_length), dtype=np.float32)
            for row, text in zip(rows, texts, strict=True):
                row[:] = nlp.make_doc(" ".join(text.split())).vector
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: NDArray[np.float32] = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        return unit

    def _read(self) -> Language:
        if self._loaded is None:
            if problem := problem_with(self.pipeline):
                raise ConvragError(problem)
            self._loaded = _load(self.pipeline)
        return self._loaded


def _load(pipeline: str) -> Any:
    import warnings

    import spacy

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it was made for another release of spaCy: of its words, not vectors
            return spacy.load(pipeline, exclude=list(meta_of(pipeline).get("components", ())))
    except Exception as error:  # the library raises whatever it likes
        raise ConvragError(f"the pipeline {pipeline!r} cannot be loaded: {error}") from error
