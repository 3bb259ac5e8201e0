"""`retriever=run`: recorded rankings, by turn."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from convrag import DataError, Dataset, Hit, Passage, Query, Retriever, Store, UnknownName
from convrag.sdk.lazy import Lazy
from convrag.sdk.search.corpus import Corpus
from convrag_replay.recorded_files import RANKING_SUFFIXES, RecordedRankings, hash_files


class RunRetriever(Retriever):
    """Recorded rankings from a TREC run or JSONL file: generate from, or score, what another system retrieved.

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
                yield (
                    f"none of the passages in {self.path} is in the corpora of the data set "
                    f"({', '.join(self.dataset.domains())}). Choose the data set and domain that the run is about."
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
        ranking = self._rankings().find_ranking(queries[0].turn_id)[:k]
        passages = self._find_passages([passage_id for passage_id, _ in ranking], queries[0].domain)
        return [
            Hit(passages.get(passage_id, Passage(passage_id, "")), score)
            for passage_id, score in ranking
        ]

    def _read_rankings(self) -> RecordedRankings:
        return RecordedRankings(
            self.path, {name for grades in self.dataset.qrels().values() for name in grades}
        )

    def _find_passages(self, ids: Sequence[str], domain: str) -> Mapping[str, Passage]:
        recorded = self._rankings().passages
        missing = [passage_id for passage_id in ids if passage_id not in recorded]
        corpus = self._open_corpus(domain) if missing else None
        found = corpus.get_by_id(missing) if corpus is not None else []
        return {passage.id: passage for passage in found} | {
            id_: recorded[id_] for id_ in ids if id_ in recorded
        }

    def _is_any_in_corpora(self, ids: frozenset[str]) -> bool:
        """Whether one of the passages is in the data set, or may be in a corpus that was not
        published with it.

        True where no ids are given.
        """
        domains = self.dataset.domains()
        passages = (passage for domain in domains for passage in self.dataset.corpus(domain))
        if not ids or any(passage.id in ids for passage in passages):
            return True
        empty = (
            domain for domain in domains if next(iter(self.dataset.corpus(domain)), None) is None
        )
        return any(map(self.dataset.explain_missing_corpus, empty))

    def _open_corpus(self, domain: str) -> Corpus | None:
        """The domain's passages; None where the data set has none, since a run can be scored
        without their texts.
        """
        if domain not in self.dataset.domains():
            raise UnknownName("domain", domain, self.dataset.domains())
        with self._lock:
            if domain not in self._corpora:
                empty = next(iter(self.dataset.corpus(domain)), None) is None
                self._corpora[domain] = None if empty else Corpus(self.dataset, domain, self.store)
            return self._corpora[domain]
