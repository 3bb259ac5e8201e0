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

_CUT = re.compile(r"(?:-\d+)+$")
_FILE = "frequencies.json"
_SAMPLE = 50_000  # passages of a corpus that are counted, at even distances


class DocumentFrequencies:
    """In how many of a corpus's passages each stem occurs; without passages, all words have the
    same weight.

    Args:
        counts: stem -> number of passages.
        passages: that were counted.
        size: what there is to search, in words: "168 files".
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
        self._count_character = lru_cache(1024)(
            lambda character: max(
                (count for stem, count in self.counts.items() if character in stem), default=0
            )
        )

    def idf(self, stem: str) -> float:
        """Return the inverse document frequency: higher for rare words, 0 for one that no passage
        has.
        """
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


def add_weights(stems: Set[str], weights: Mapping[str, float]) -> float:
    """Add the weights of a question's words that are among the stems of a text."""
    return sum(weights[stem] for stem in sorted(stems & weights.keys()))


def compute_share(text: str, weights: Mapping[str, float]) -> float:
    """Compute the share of the question's weight that a text covers."""
    total = sum(weights.values())
    return add_weights(find_stems(text), weights) / total if total else 0.0


def find_source(passage: Passage) -> str:
    """Return what tells the document of a passage from others: its file, title, or id without
    numbers at its end.
    """
    return str(passage.metadata.get("document") or passage.title or _CUT.sub("", passage.id))


_counted: WeakKeyDictionary[Dataset, DocumentFrequencies] = WeakKeyDictionary()
_lock = threading.Lock()


def count_document_frequencies(dataset: Dataset, store: Store) -> DocumentFrequencies:
    """Count the document frequencies of a data set's corpora together; the store keeps those of
    each. Raises DataError.

    Of a corpus with more than 50,000 passages, so many are counted, at even distances.
    """
    with _lock:
        if (known := _counted.get(dataset)) is None:
            known = _counted[dataset] = _count(open_corpora(dataset, store), store)
    return known


def open_corpora(dataset: Dataset, store: Store) -> list[Corpus]:
    """Open the corpora of a data set, in its order; domains without passages are left out. Raises
    DataError.
    """
    return [
        Corpus(dataset, domain, store)
        for domain in dataset.domains()
        if has_passages(dataset, domain)
    ]


def _count(corpora: Sequence[Corpus], store: Store) -> DocumentFrequencies:
    counts: Counter[str] = Counter()
    passages = files = sources = 0
    for corpus in corpora:
        key = digest(
            [
                corpus.fingerprint,
                hash_modules("convrag.sdk.search.frequencies", "convrag.sdk.text.analysis"),
            ]
        )
        folder = store.folder("frequencies", key, partial(_count_corpus, corpus))
        row = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        counts.update(row["counts"])
        passages, files, sources = (
            passages + row["passages"],
            files + row["files"],
            sources + row["sources"],
        )
    size = (
        f"{files:,} files"
        if files > 1
        else f"{passages:,} passages"
        if passages > 1
        else "1 passage"
    )
    return DocumentFrequencies(counts, passages, size, sources)


def _count_corpus(corpus: Corpus, folder: Path) -> None:
    counts: Counter[str] = Counter()
    files, sources = set[str](), set[str]()
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
