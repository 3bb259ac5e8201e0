"""Builds the BM25 index of one domain; words of passages that an earlier index has are not found again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from convrag import ConfigError, Store
from convrag.sdk.corpus import Corpus
from convrag.sdk.progress import show_step, track
from convrag.sdk.storage import BATCH
from convrag_retrieval.bm25_index import WORDS, Postings, load_words
from convrag_retrieval.bm25_settings import BM25Settings, tokenize
from convrag_retrieval.bm25_weights import weigh_words
from convrag_retrieval.known_texts import TEXTS, BuildCounts, TextPositions, find_earlier, load_texts
from convrag_retrieval.shards import Shards
from convrag_retrieval.token_lists import TokenLists, Vocabulary

SHARDS = "words"
"""The folder of the store with the words of passages of builds that were interrupted."""

SHARD = 50_000
"""Passages whose words are kept at once."""

if TYPE_CHECKING:
    from numpy.typing import NDArray


class BM25Builder:
    """Builds the index of one corpus.

    Args:
        corpus: the passages.
        settings: of the retriever.
        store: has the earlier indexes.
        family: the first part of the names of all indexes whose words were found in the same way.
        series: of the index (see `Store.folder`), or empty.
        shards: the name of the folder that keeps the words of an interrupted build.
    """

    def __init__(
        self, corpus: Corpus, settings: BM25Settings, store: Store, family: str, series: str, shards: str
    ) -> None:
        self._corpus = corpus
        self._settings = settings
        self._store = store
        self._family = family
        self._newest = store.folders.find_newest("indexes", series) if series else None
        self._shards = Shards(store.path / SHARDS / f"{family}-{shards}")
        self.counts: BuildCounts | None = None
        """What `build` did; None before."""

    def build(self, folder: Path) -> None:
        """Index the passages by position, and save the index into an empty folder. Raises ConfigError without words.

        What was done is kept, shard by shard, if it is interrupted.
        """
        texts = TextPositions(self._corpus.hash_texts())
        self.counts = BuildCounts()
        with self._store.folders.lock([self._shards.name]):  # against a build of the same data set with other passages
            lists, words = self._find_words(texts)
        if not words:
            raise ConfigError(f"the passages of {self._corpus.domain!r} hold no word that could be searched for")
        with show_step(f"Weighing words of {self._corpus.domain}"):
            Postings.save(folder, *weigh_words(lists, len(words), self._settings))
        (folder / WORDS).write_text(json.dumps(list(words)), encoding="utf-8")
        lists.save(folder)
        np.save(folder / TEXTS, texts.hashes)

    def clean_up(self) -> None:
        """Remove the shards, once the folder is complete."""
        with self._store.folders.lock([self._shards.name]):
            self._shards.remove()

    def _find_words(self, texts: TextPositions) -> tuple[TokenLists, dict[str, int]]:
        assert self.counts is not None
        vocabulary = Vocabulary()
        found: list[NDArray[np.int32] | None] = [None] * len(texts.hashes)
        self._take_over(texts, vocabulary, found)
        missing = [position for position, words in enumerate(found) if words is None]
        self.counts.kept, self.counts.new = len(found) - len(missing), len(missing)
        contents = tokenize(self._read(missing), self._settings)
        for start in range(0, len(missing), SHARD):
            shard = missing[start : start + SHARD]
            lists = [vocabulary.number(words) for words in islice(contents, len(shard))]
            if start + SHARD < len(missing):
                self._keep(texts.hashes[shard], vocabulary.list_words(), lists)
            for position, words in zip(shard, lists, strict=True):
                found[position] = words
        return vocabulary.renumber([words for words in found if words is not None])

    def _take_over(self, texts: TextPositions, vocabulary: Vocabulary, found: list[NDArray[np.int32] | None]) -> None:
        """Take the words of texts that an earlier index has; count the texts of the index before that are gone."""
        assert self.counts is not None
        left = len(found)

        def take(hashes: NDArray[np.bytes_], read: Callable[[], tuple[Sequence[str], TokenLists]]) -> None:
            nonlocal left
            places, positions = texts.match(hashes)
            if not left or not len(places):
                return
            words, lists = read()
            numbers = vocabulary.number(words)
            for place, position in zip(places.tolist(), positions.tolist(), strict=True):
                if found[position] is None:
                    found[position] = numbers[lists.get(place)]
                    left -= 1

        with closing(find_earlier(self._store, self._family, self._newest)) as folders:
            for folder in folders:
                hashes = load_texts(folder)
                if folder == self._newest:
                    self.counts.removed = texts.count_absent(hashes)
                take(hashes, lambda folder=folder: (load_words(folder), TokenLists.load(folder)))  # type: ignore[misc]
        for shard in self._shards.read():
            lists = TokenLists(shard["tokens"], shard["lengths"])
            take(shard["hashes"], lambda shard=shard, lists=lists: (json.loads(shard["words"].tobytes()), lists))  # type: ignore[misc]

    def _keep(self, hashes: NDArray[np.bytes_], words: Sequence[str], texts: Sequence[NDArray[np.int32]]) -> None:
        """Keep the words of texts, with the numbers of the words in the shard alone."""
        used, tokens = np.unique(np.concatenate(texts), return_inverse=True)
        written = np.frombuffer(json.dumps([words[number] for number in used]).encode(), dtype=np.uint8)
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        self._shards.add(hashes[0].hex(), hashes=hashes, words=written, tokens=tokens.astype(np.int32), lengths=lengths)

    def _read(self, positions: list[int]) -> Iterator[str]:
        """Read the passages at positions, in batches, with a progress bar."""
        counted = track(positions, f"Indexing {self._corpus.domain}", total=len(positions)) if positions else iter(())
        batch: list[int] = []
        for position in counted:
            batch.append(position)
            if len(batch) == BATCH:
                yield from (passage.content for passage in self._corpus.get_by_position(batch))
                batch = []
        yield from (passage.content for passage in self._corpus.get_by_position(batch))
