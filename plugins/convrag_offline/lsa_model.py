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
_FILES = ("arrays.npz", "vocabulary.json", "texts.npy")
_LEAST_LENGTH = 1e-6  # a shorter projected vector is a rounding error


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
        self._vectorizer = _vectorizer(
            analysis, {word: column for column, word in enumerate(vocabulary)}
        )
        self._vectorizer.idf_ = idf

    def transform(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, (n, d) float32; zero rows for texts without a known word."""
        if not len(texts):
            return np.zeros((0, self.projection.shape[1]), dtype=np.float32)
        rows = np.asarray(self._vectorizer.transform(texts) @ self.projection, dtype=np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        units: NDArray[np.float32] = np.divide(
            rows, lengths, out=np.zeros_like(rows), where=lengths > _LEAST_LENGTH
        )
        return units

    def save(self, folder: Path, texts: Sequence[bytes] = ()) -> None:
        """Write the model into a folder, as plain arrays and JSON, with hashes of what it was
        learnt from.
        """
        np.save(folder / _FILES[2], np.unique(np.array(texts, dtype="S16")))
        np.savez(folder / "arrays.npz", idf=self.idf, projection=self.projection)
        saved = {
            "form": self.analysis.form,
            "languages": self.analysis.languages,
            "words": self.vocabulary,
        }
        (folder / "vocabulary.json").write_text(
            json.dumps(saved, ensure_ascii=False), encoding="utf-8"
        )

    @classmethod
    def load(cls, folder: Path) -> LsaModel:
        """A model from the folder that it was saved in."""
        saved = json.loads((folder / "vocabulary.json").read_text(encoding="utf-8"))
        analysis = replace(Analysis.choose(saved["form"]), languages=tuple(saved["languages"]))
        with np.load(folder / "arrays.npz", allow_pickle=False) as arrays:
            return cls(saved["words"], arrays["idf"], arrays["projection"], analysis)


def take_over(earlier: Path, folder: Path, texts: Sequence[bytes]) -> bool:
    """Copy an earlier model, into which new passages are folded; False where it is out of date.

    That is where a tenth of the passages that it was learnt from are gone, or as many have come.

    Args:
        earlier: the folder of the model.
        folder: where to copy it.
        texts: hashes of the passages there are now.
    """
    learnt, now = np.load(earlier / _FILES[2]), np.array(texts, dtype="S16")
    changed = max(len(np.setdiff1d(learnt, now)), len(np.setdiff1d(now, learnt)))
    if changed * 10 >= len(learnt):
        return False
    for name in _FILES:
        copyfile(earlier / name, folder / name)
    return True


def learn(
    corpora: Sequence[Corpus], dimensions: int, most: int, analysis: Analysis = PLAIN
) -> LsaModel:
    """Learn a model from at most `most` passages of all corpora. Raises ConfigError where they hold
    no words.
    """
    total = sum(len(corpus) for corpus in corpora)
    texts = track(
        _sample_texts(corpora, math.ceil(total / most)), "Learning embeddings from the corpus"
    )
    analysis = analysis.find(passage.content for corpus in corpora for passage in corpus.sample())
    vectorizer = _vectorizer(analysis)
    try:
        matrix = vectorizer.fit_transform(texts)
    except ValueError as error:
        raise ConfigError(f"embedder=lsa cannot learn from this corpus: {error}") from error
    words = vectorizer.get_feature_names_out().tolist()
    passages, number = (f"{count:,}" for count in matrix.shape)
    with show_step(f"Fitting embeddings to {passages} passages and {number} words"):
        return LsaModel(
            words, vectorizer.idf_.astype(np.float32), _projection(matrix, dimensions), analysis
        )


def _projection(matrix: csr_matrix, dimensions: int) -> NDArray[np.float32]:
    if matrix.shape[1] == 1:  # an SVD needs two words at least
        return np.ones((1, 1), dtype=np.float32)
    with np.errstate(
        invalid="ignore"
    ):  # it divides by the variance, which is 0 where all passages are equal
        svd = TruncatedSVD(n_components=min(dimensions, *matrix.shape), random_state=_SEED).fit(
            matrix
        )
    return np.ascontiguousarray(svd.components_.T, dtype=np.float32)


def _sample_texts(corpora: Sequence[Corpus], stride: int) -> Iterator[str]:
    for corpus in corpora:
        positions = range(0, len(corpus), stride)
        for start in range(0, len(positions), _BATCH):
            yield from (
                passage.content
                for passage in corpus.get_by_position(positions[start : start + _BATCH])
            )


def _vectorizer(analysis: Analysis, vocabulary: dict[str, int] | None = None) -> TfidfVectorizer:
    """TF-IDF with sublinear counts: a passage with a word ten times is not ten times as much about
    it.
    """
    if analysis.form == "plain":
        return TfidfVectorizer(
            stop_words="english", sublinear_tf=True, dtype=np.float32, vocabulary=vocabulary
        )
    return TfidfVectorizer(
        analyzer=analysis.split, sublinear_tf=True, dtype=np.float32, vocabulary=vocabulary
    )
