"""`retriever=run`: recorded rankings, by turn."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from convrag import DataError, Dataset, Hit, Passage, Query, Retriever, Store, UnknownName
from convrag.sdk.lazy import Lazy
from convrag.sdk.search.corpus import Corpus, has_passages
from convrag_replay.recorded_files import RANKING_SUFFIXES, RecordedRankings, hash_files


class RunRetriever(Retriever):
    """Replay recorded rankings from a TREC run or a JSONL file, as another system retrieved them.

    A TREC line is `turn Q0 passage rank score tag`. A JSONL line is {"turn_id": ..., "contexts":
    [{"id": ..., "score": ..., "title": ..., "text": ..., "url": ...}]}, where title, text and url
    may be absent; `intermediate/` of a run holds such lines. The order follows the scores, ties the
    rank, then the id; queries do not matter. A turn without a ranking finds nothing. Texts that
    were not recorded come from the corpus; where it lacks one, the hit has no text, but keeps its
    place in the ranking and so in the scores.

    Args:
        path: the file (*.jsonl, any other name is TREC), or a folder whose *.jsonl and *.trec files
            are read together.
        dataset: whose corpora hold the passages.
        store: keeps the passages at hand.
    """

    def __init__(self, *, path: Path, dataset: Dataset, store: Store) -> None:
        self.path = path
        self.dataset = dataset
        self.store = store
        self._rankings = Lazy(self._read_rankings)
        self._lock = threading.Lock()
        self._corpora: dict[str, Corpus | None] = {}

    def check(self) -> Iterator[str]:
        try:
            rankings = self._rankings()
            if not rankings.passages and not self._is_any_in_corpora(rankings.ids_without_text()):
                domains = ", ".join(self.dataset.domains())
                yield (
                    f"none of the passages in {self.path} is in the corpora of the data set "
                    f"({domains}). Choose the data set and domain that the run is about."
                )
        except DataError as error:
            yield str(error)

    def prepare(self) -> None:
        if self._rankings().ids_without_text():
            for domain in self.dataset.domains():
                self._open_corpus(domain)

    def content_hash(self) -> str:
        return hash_files(self.path, *RANKING_SUFFIXES)

    def note(self) -> str:
        return f"The rankings are replayed from {self.path}; this run did not search."

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        if not queries or k < 1:
            return []
        first = queries[0]
        ranking = self._rankings().find_ranking(first.turn_id)[:k]
        passages = self._find_passages([passage_id for passage_id, _ in ranking], first.domain)
        return [
            Hit(passages.get(passage_id, Passage(passage_id, "")), score)
            for passage_id, score in ranking
        ]

    def _read_rankings(self) -> RecordedRankings:
        graded = {name for grades in self.dataset.qrels().values() for name in grades}
        return RecordedRankings(self.path, graded)

    def _find_passages(self, ids: Sequence[str], domain: str) -> Mapping[str, Passage]:
        """Find the passages that were recorded, and the others in the corpus."""
        recorded = self._rankings().passages
        passages = {id_: recorded[id_] for id_ in ids if id_ in recorded}
        missing = [id_ for id_ in ids if id_ not in recorded]
        corpus = self._open_corpus(domain) if missing else None
        if corpus is not None:
            passages |= {passage.id: passage for passage in corpus.get_by_id(missing)}
        return passages

    def _is_any_in_corpora(self, ids: frozenset[str]) -> bool:
        """Whether one of the passages is, or may be, in the data set; True where no ids are given.

        It may be in a corpus that was not published with the data set.
        """
        if not ids:
            return True
        may_be_elsewhere = False
        for domain in self.dataset.domains():
            is_empty = True
            for passage in self.dataset.corpus(domain):
                is_empty = False
                if passage.id in ids:
                    return True
            if is_empty and self.dataset.explain_missing_corpus(domain):
                may_be_elsewhere = True
        return may_be_elsewhere

    def _open_corpus(self, domain: str) -> Corpus | None:
        """Open the domain's passages; None where there are none.

        A run can be scored without the texts.
        """
        if domain not in self.dataset.domains():
            raise UnknownName("domain", domain, self.dataset.domains())
        with self._lock:
            if domain not in self._corpora:
                is_empty = not has_passages(self.dataset, domain)
                self._corpora[domain] = (
                    None if is_empty else Corpus(self.dataset, domain, self.store)
                )
            return self._corpora[domain]
