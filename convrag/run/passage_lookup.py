"""Finds passages of a data set by their ids."""

from collections.abc import Sequence

from convrag.api.passages import Passage
from convrag.api.stages import Dataset
from convrag.sdk.search.corpus import Corpus, PassageSource
from convrag.store.store import Store


class PassageLookup:
    """Finds passages by their ids, in the copies of corpora that the store has already.

    Args:
        dataset: the data set with the corpora.
        store: may have copies of them.
    """

    def __init__(self, dataset: Dataset, store: Store) -> None:
        self._dataset = dataset
        self._store = store
        self._corpora: dict[str, PassageSource | None] = {}

    def find(self, domain: str, ids: Sequence[str]) -> list[Passage]:
        """Find passages of a domain. Unknown ones are left out; all are if there is no copy."""
        if domain not in self._dataset.domains():
            return []
        if domain not in self._corpora:
            self._corpora[domain] = Corpus.open_copy(self._dataset, domain, self._store)
        corpus = self._corpora[domain]
        return corpus.get_by_id(ids) if corpus else []
