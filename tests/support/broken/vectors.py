"""Embedders and clusterers that break a promise of theirs."""

from typing import Any

from broken.noting import breaks
from sound import SoundClusterer, SoundEmbedder


@breaks("test_its_results_are_right")
class Raw(SoundEmbedder):
    """Does not bring rows to unit length."""

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        return self.count(texts)


@breaks("test_its_results_are_right")
class NeverEmptyEmbedder(SoundEmbedder):
    """Expects a first text."""

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        assert texts
        return super().embed(texts)


@breaks("test_its_results_are_right")
class Dividing(SoundEmbedder):
    """Divides by the number of words."""

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        rows = super().embed(texts)
        rows[[n for n, text in enumerate(texts) if not text.split()]] = float("nan")
        return rows


@breaks("test_a_row_does_not_depend_on_its_neighbours")
class Centred(SoundEmbedder):
    """Takes the mean of what it is given away."""

    def count(self, texts: Any) -> Any:
        rows = super().count(texts)
        return rows - rows.mean(axis=0) if len(texts) else rows


@breaks("test_its_results_are_right")
class NeverEmptyClusterer(SoundClusterer):
    """Expects a first text."""

    def cluster(self, texts: Any, embedder: Any) -> Any:
        assert len(texts)
        return super().cluster(texts, embedder)


@breaks("test_its_results_are_right")
class FromOne(SoundClusterer):
    """Counts from 1."""

    def cluster(self, texts: Any, embedder: Any) -> Any:
        return super().cluster(texts, embedder) + 1


@breaks("test_its_results_are_right")
class WantsTwo(SoundClusterer):
    """Wants different texts where there are several."""

    def cluster(self, texts: Any, embedder: Any) -> Any:
        assert len(texts) < 2 or len(set(texts)) > 1
        return super().cluster(texts, embedder)


@breaks("test_its_results_are_right")
class ByFirstWord(SoundClusterer):
    """Expects a first word."""

    def cluster(self, texts: Any, embedder: Any) -> Any:
        return super().cluster([text.split()[0] for text in texts], embedder)
