"""The model of embedder=lsa: learnt with scikit-learn, saved as arrays and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import copyfile

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from convrag import ConfigError
from convrag.sdk.output.progress import show_step, track
from convrag.sdk.search.corpus import Corpus
from convrag.sdk.text.analysis import PLAIN, Analysis

_BATCH = 500
_SEED = 0

_ARRAYS = "arrays.npz"
_VOCABULARY = "vocabulary.json"
_TEXTS = "texts.npy"

_MIN_LENGTH = 1e-6
"""Least length of a projected vector; a shorter one is a rounding error."""


class LsaModel:
    """TF-IDF weights of a vocabulary and their projection.

    Args:
        vocabulary: the words, each at its column.
        idf: (words,) weights.
        projection: (words, d) float32.
        analysis: how texts become words.
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        idf: NDArray[np.float32],
        projection: NDArray[np.float32],
        analysis: Analysis = PLAIN,
    ) -> None:
        self.vocabulary = list(vocabulary)
        self.analysis = analysis
        self.idf = idf
        self.projection = projection
        columns = {word: column for column, word in enumerate(vocabulary)}
        self._vectorizer = _vectorizer(analysis, columns)
        self._vectorizer.idf_ = idf

    def transform(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit rows, (n, d) float32; zero rows for texts without a known word."""
        if not len(texts):
            return np.zeros((0, self.projection.shape[1]), dtype=np.float32)
        rows = np.asarray(self._vectorizer.transform(texts) @ self.projection, dtype=np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        units: NDArray[np.float32] = np.divide(
            rows, lengths, out=np.zeros_like(rows), where=lengths > _MIN_LENGTH
        )
        return units

    def save(self, folder: Path, texts: Sequence[bytes] = ()) -> None:
        """Write the model into a folder, as plain arrays and JSON.

        Args:
            folder: where the files are written.
            texts: hashes of the passages that it was learnt from.
        """
        np.save(folder / _TEXTS, np.unique(np.array(texts, dtype="S16")))
        np.savez(folder / _ARRAYS, idf=self.idf, projection=self.projection)
        saved = {
            "form": self.analysis.form,
            "languages": self.analysis.languages,
            "words": self.vocabulary,
        }
        text = json.dumps(saved, ensure_ascii=False)
        (folder / _VOCABULARY).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> LsaModel:
        """Load a model from the folder in which it was saved."""
        saved = json.loads((folder / _VOCABULARY).read_text(encoding="utf-8"))
        analysis = replace(Analysis.choose(saved["form"]), languages=tuple(saved["languages"]))
        with np.load(folder / _ARRAYS, allow_pickle=False) as arrays:
            return cls(saved["words"], arrays["idf"], arrays["projection"], analysis)


def take_over(earlier: Path, folder: Path, texts: Sequence[bytes]) -> bool:
    """Copy an earlier model, into which new passages are folded; False where it is out of date.

    That is where a tenth of the passages that it was learnt from are gone, or as many have come.

    Args:
        earlier: the folder of the model.
        folder: where to copy it.
        texts: hashes of the passages there are now.
    """
    learnt = np.load(earlier / _TEXTS)
    now = np.array(texts, dtype="S16")
    removed = np.setdiff1d(learnt, now)
    added = np.setdiff1d(now, learnt)
    if max(len(removed), len(added)) * 10 >= len(learnt):
        return False
    for name in (_ARRAYS, _VOCABULARY, _TEXTS):
        copyfile(earlier / name, folder / name)
    return True


def learn(
    corpora: Sequence[Corpus], dimensions: int, most: int, analysis: Analysis = PLAIN
) -> LsaModel:
    """Learn a model from at most `most` passages. Raises ConfigError where they have no words."""
    total = sum(len(corpus) for corpus in corpora)
    sample = _sample_texts(corpora, math.ceil(total / most))
    texts = track(sample, "Learning embeddings from the corpus")
    analysis = analysis.find(passage.content for corpus in corpora for passage in corpus.sample())
    vectorizer = _vectorizer(analysis)
    try:
        matrix = vectorizer.fit_transform(texts)
    except ValueError as error:
        raise ConfigError(f"embedder=lsa cannot learn from this corpus: {error}") from error
    words = vectorizer.get_feature_names_out().tolist()
    step = f"Fitting embeddings to {matrix.shape[0]:,} passages and {matrix.shape[1]:,} words"
    with show_step(step):
        projection = _fit_projection(matrix, dimensions)
    return LsaModel(words, vectorizer.idf_.astype(np.float32), projection, analysis)


def _fit_projection(matrix: csr_matrix, dimensions: int) -> NDArray[np.float32]:
    """Fit the projection of words, (words, d) float32."""
    if matrix.shape[1] == 1:  # an SVD needs two words at least
        return np.ones((1, 1), dtype=np.float32)
    svd = TruncatedSVD(n_components=min(dimensions, *matrix.shape), random_state=_SEED)
    # It divides by the variance, which is 0 where all passages are equal.
    with np.errstate(invalid="ignore"):
        svd.fit(matrix)
    return np.ascontiguousarray(svd.components_.T, dtype=np.float32)


def _sample_texts(corpora: Sequence[Corpus], stride: int) -> Iterator[str]:
    """Yield the texts of passages at even distances."""
    for corpus in corpora:
        positions = range(0, len(corpus), stride)
        for start in range(0, len(positions), _BATCH):
            for passage in corpus.get_by_position(positions[start : start + _BATCH]):
                yield passage.content


def _vectorizer(analysis: Analysis, vocabulary: dict[str, int] | None = None) -> TfidfVectorizer:
    """Make a TF-IDF vectorizer, whose sublinear counts damp the repetitions of a word."""
    words = {"stop_words": "english"} if analysis.form == "plain" else {"analyzer": analysis.split}
    return TfidfVectorizer(sublinear_tf=True, dtype=np.float32, vocabulary=vocabulary, **words)
