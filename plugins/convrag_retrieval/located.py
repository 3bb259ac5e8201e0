"""A corpus that also says where a passage lies."""

from __future__ import annotations

from collections.abc import Sequence

from convrag.sdk.corpus import Corpus
from convrag.store.store import BATCH


class LocatedCorpus(Corpus):
    """A corpus with the way back from a passage's id to its position, which is what an index knows it by."""

    def positions(self, ids: Sequence[str]) -> dict[str, int]:
        """Id -> position, in the order asked for; unknown ids are left out."""
        found: dict[str, int] = {}
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            marks = ",".join("?" * len(batch))
            rows = self._select(f"SELECT id, position FROM passages WHERE id IN ({marks})", batch)
            found.update((id_, int(position)) for id_, position in rows)
        return {id_: found[id_] for id_ in ids if id_ in found}
