"""Document frequencies of the run's corpora, and the idf weights of words."""

from __future__ import annotations

import json
import math
import re
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache, partial
from pathlib import Path
from weakref import WeakKeyDictionary

from convrag.api.passages import Passage
from convrag.api.stages import Dataset
from convrag.sdk.search.corpus import Corpus, has_passages
from convrag.sdk.text.analysis import UNSPACED, find_content_words, find_stems
from convrag.store.code_hash import hash_modules
from convrag.store.fingerprint import digest
from convrag.store.store import BATCH, Store

_NUMBERS_AT_END = re.compile(r"(?:-\d+)+$")
_FILE = "frequencies.json"

_SAMPLE = 50_000
"""The most passages of a corpus that are counted, at even distances."""


class DocumentFrequencies:
    """Numbers of a corpus's passages that have each stem; without any, all weights are the same.

    Args:
        counts: stem -> number of passages.
        passages: the number of passages that were counted.
        size: the size of the corpus in words: "168 files".
        sources: the number of documents that the passages are from.
    """

    def __init__(
        self,
        counts: Mapping[str, int] | None = None,
        passages: int = 0,
        size: str = "",
        sources: int = 0,
    ) -> None:
        self.counts = counts or {}
        self.passages = passages
        self.size = size
        self.sources = sources
        self._count_character = lru_cache(1024)(self._count_passages_with_character)

    def idf(self, stem: str) -> float:
        """Return the inverse document frequency: high for rare words, 0 for unknown ones."""
        if not self.passages:
            return 1.0
        count = self.counts.get(stem, 0)
        if not count and len(stem) == 1 and stem >= UNSPACED:
            count = self._count_character(stem)  # texts are counted by pieces of two
        return math.log((self.passages + 1) / count) if count else 0.0

    def weigh_question(self, stems: Iterable[str]) -> dict[str, float]:
        """Return stem -> weight of a question's words.

        A word that no passage has weighs as much as the rarest one: passages without it lack a part
        of the question.
        """
        highest = math.log(self.passages + 1) or 1.0
        return {stem: self.idf(stem) or highest for stem in sorted(stems)}

    def _count_passages_with_character(self, character: str) -> int:
        """Estimate the passages with a character by its most frequent piece."""
        return max((count for stem, count in self.counts.items() if character in stem), default=0)


def add_weights(stems: Set[str], weights: Mapping[str, float]) -> float:
    """Add the weights of a question's words that are among the stems of a text."""
    return sum(weights[stem] for stem in sorted(stems & weights.keys()))


def compute_share(text: str, weights: Mapping[str, float]) -> float:
    """Compute the share of the question's weight that a text covers."""
    total = sum(weights.values())
    return add_weights(find_stems(text), weights) / total if total else 0.0


def find_source(passage: Passage) -> str:
    """Return the name of a passage's document: its file, title, or id without final numbers."""
    document = passage.metadata.get("document")
    return str(document or passage.title or _NUMBERS_AT_END.sub("", passage.id))


_counted: WeakKeyDictionary[Dataset, DocumentFrequencies] = WeakKeyDictionary()
_lock = threading.Lock()


def count_document_frequencies(dataset: Dataset, store: Store) -> DocumentFrequencies:
    """Count the document frequencies of a data set's corpora together. Raises DataError.

    Each corpus is counted once, and its counts are cached in the store. At most 50,000 passages of
    a corpus are counted, at even distances.
    """
    with _lock:
        if dataset not in _counted:
            _counted[dataset] = _count(open_corpora(dataset, store), store)
        return _counted[dataset]


def open_corpora(dataset: Dataset, store: Store) -> list[Corpus]:
    """Open the corpora of a data set, in its order, but for empty domains. Raises DataError."""
    return [
        Corpus(dataset, domain, store)
        for domain in dataset.domains()
        if has_passages(dataset, domain)
    ]


def _count(corpora: Sequence[Corpus], store: Store) -> DocumentFrequencies:
    counts: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    code = hash_modules("convrag.sdk.search.frequencies", "convrag.sdk.text.analysis")
    for corpus in corpora:
        key = digest([corpus.fingerprint, code])
        folder = store.folder("frequencies", key, partial(_count_corpus, corpus))
        row = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        counts.update(row.pop("counts"))
        totals.update(row)
    size = _describe_size(totals["files"], totals["passages"])
    return DocumentFrequencies(counts, totals["passages"], size, totals["sources"])


def _describe_size(files: int, passages: int) -> str:
    if files > 1:
        return f"{files:,} files"
    return f"{passages:,} passages" if passages > 1 else "1 passage"


def _count_corpus(corpus: Corpus, folder: Path) -> None:
    """Count a corpus, and write the counts into a folder."""
    counts: Counter[str] = Counter()
    files: set[str] = set()
    sources: set[str] = set()
    positions = range(0, len(corpus), math.ceil(len(corpus) / _SAMPLE) or 1)
    for start in range(0, len(positions), BATCH):
        for passage in corpus.get_by_position(positions[start : start + BATCH]):
            counts.update({word.stem for word in find_content_words(passage.content)})
            files.add(str(passage.metadata.get("document", "")))
            sources.add(find_source(passage))
    row = {
        "counts": counts,
        "passages": len(positions),
        "files": len(files - {""}),
        "sources": len(sources),
    }
    (folder / _FILE).write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
