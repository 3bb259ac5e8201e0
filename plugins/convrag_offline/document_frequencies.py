"""In how many passages of the corpus a word occurs: rare words say more."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from convrag import Store
from convrag.sdk.corpus import Corpus
from convrag.store.fingerprint import digest, source_hash
from convrag_offline.tokens import content_words

_FILE = "frequencies.json"


class Frequencies:
    """Document frequencies of stems over `passages` passages; without passages, all words weigh the same."""

    def __init__(self, counts: Mapping[str, int] | None = None, passages: int = 0) -> None:
        self.counts = counts or {}
        self.passages = passages

    def idf(self, stem: str) -> float:
        """How much a word says, from 0 (every passage has it, or none has: then it finds nothing)."""
        if not self.passages:
            return 1.0
        count = self.counts.get(stem, 0)
        return math.log((self.passages + 1) / count) if count else 0.0


def frequencies(corpora: Sequence[Corpus], store: Store) -> Frequencies:
    """Those of several corpora together; each corpus is counted once, and its counts are kept in the store."""
    counts: Counter[str] = Counter()
    for corpus in corpora:
        key = digest([corpus.fingerprint, source_hash(__name__)])
        folder = store.folder("frequencies", key, partial(_count, corpus))
        counts.update(json.loads((folder / _FILE).read_text(encoding="utf-8")))
    return Frequencies(counts, sum(len(corpus) for corpus in corpora))


def _count(corpus: Corpus, folder: Path) -> None:
    counts: Counter[str] = Counter()
    for passage in corpus:
        counts.update({word.stem for word in content_words(passage.content)})
    (folder / _FILE).write_text(json.dumps(counts, ensure_ascii=False), encoding="utf-8")
