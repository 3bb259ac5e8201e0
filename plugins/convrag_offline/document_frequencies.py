"""Document frequencies of the run's corpora, and the weights of words that follow from them (idf)."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from pathlib import Path

from convrag import Dataset, Store
from convrag.sdk.corpus import Corpus
from convrag.sdk.identity import digest, hash_modules, hash_package
from convrag.sdk.words import find_stems

_FILE = "frequencies.json"


class DocumentFrequencies:
    """In how many of a corpus's passages each stem occurs; without passages, all words have the same weight.

    Args:
        counts: stem -> number of passages.
        passages: of the corpus.
    """

    def __init__(self, counts: Mapping[str, int] | None = None, passages: int = 0) -> None:
        self.counts = counts or {}
        self.passages = passages

    def idf(self, stem: str) -> float:
        """The inverse document frequency: higher for rare words, 0 for one that no passage has."""
        if not self.passages:
            return 1.0
        count = self.counts.get(stem, 0)
        return math.log((self.passages + 1) / count) if count else 0.0

    def weigh_question(self, stems: Iterable[str]) -> dict[str, float]:
        """Stem -> weight of a question's words.

        A word that no passage has weighs as much as the rarest one: passages without it lack a part of the question.
        """
        highest = math.log(self.passages + 1) or 1.0
        return {stem: self.idf(stem) or highest for stem in sorted(stems)}


def add_weights(stems: Set[str], weights: Mapping[str, float]) -> float:
    """The weight of a question's words that are among the stems of a text."""
    return sum(weights[stem] for stem in sorted(stems & weights.keys()))


def compute_share(text: str, weights: Mapping[str, float]) -> float:
    """The share of the question's weight that a text covers."""
    total = sum(weights.values())
    return add_weights(find_stems(text), weights) / total if total else 0.0


def count_document_frequencies(corpora: Sequence[Corpus], store: Store) -> DocumentFrequencies:
    """The document frequencies of several corpora together. Each corpus is counted once: the store keeps its counts."""
    counts: Counter[str] = Counter()
    for corpus in corpora:
        key = digest([corpus.fingerprint, hash_package(__name__), hash_modules("convrag.sdk.words")])
        folder = store.folder("frequencies", key, partial(_count_corpus, corpus))
        counts.update(json.loads((folder / _FILE).read_text(encoding="utf-8")))
    return DocumentFrequencies(counts, sum(len(corpus) for corpus in corpora))


def _count_corpus(corpus: Corpus, folder: Path) -> None:
    counts: Counter[str] = Counter()
    for passage in corpus:
        counts.update(find_stems(passage.content))
    (folder / _FILE).write_text(json.dumps(counts, ensure_ascii=False), encoding="utf-8")


def open_corpora(dataset: Dataset, store: Store) -> list[Corpus]:
    """The corpora of a data set, in its order; domains without passages are left out. Raises DataError."""
    return [Corpus(dataset, domain, store) for domain in dataset.domains() if has_passages(dataset, domain)]


def has_passages(dataset: Dataset, domain: str) -> bool:
    """Whether a domain has any passages. Raises DataError where its file is broken."""
    return next(iter(dataset.corpus(domain)), None) is not None
