"""Which queries of a rewrite a search takes, their vector, and how a query is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from convrag.api.queries import Query
from convrag.api.stage import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LONGEST = 120
"""Characters of a query that are shown: an earlier answer that is a query, too, is never shown
whole.
"""

_KINDS = {"lexical": "for words", "dense": "for vectors"}


def choose_queries(queries: Sequence[Query], search: Literal["lexical", "dense"]) -> list[Query]:
    """Choose the queries for a search by words ("lexical") or by vectors ("dense", learned sparse
    ones included).

    Queries of weight 0 are left out. If none of the others is for this kind of search, all of them
    are taken, so that a rewrite for one kind can still be searched for with the other.
    """
    weighted = [query for query in queries if query.weight]
    return [query for query in weighted if query.search in ("any", search)] or weighted


def combine_vectors(embedder: Embedder, queries: Sequence[Query]) -> NDArray[np.float64] | None:
    """Combine weighted queries into one unit vector, (d,); None where there is nothing to search
    for.
    """
    import numpy as np

    if not queries:
        return None
    rows = embedder.embed([query.text for query in queries], query=True).astype(np.float64)
    weights = np.array([[query.weight] for query in queries])
    total: NDArray[np.float64] = (rows * weights).sum(axis=0)
    length = float(np.linalg.norm(total))
    cancelled = length < 1e-6 * float(np.abs(weights).sum())  # the rest is rounding of float32
    return None if cancelled else total / length


def embed_uncached(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Embed the passages of an index, (n, d), by the method of the class.

    The kernel wraps the method of the object with its cache, which would keep each passage's vector
    in the store a second time, row by row; the vectors of a corpus are kept in its index alone.
    """
    return type(embedder).embed(embedder, texts)


def list_queries(queries: Sequence[Query]) -> list[str]:
    """Describe what is searched for, each text in a line, cut: "tea kettle (weight 0.5, for words,
    from mmr)".
    """
    found: dict[str, list[str]] = {}
    for query in queries:
        parts = [
            f"weight {query.weight:g}" if query.weight != 1 else "",
            _KINDS.get(query.search, ""),
            f"from {query.source}" if query.source else "",
        ]
        found.setdefault(_cut(query.text), []).append(", ".join(filter(None, parts)))
    notes = {text: "; ".join(filter(None, described)) for text, described in found.items()}
    return [f"{text} ({note})" if note else text for text, note in notes.items()]


def summarise_queries(queries: Sequence[Query]) -> str:
    """Name the first query, and how many other texts are searched for: "tea kettle and 11 more"."""
    more = len(list_queries(queries)) - 1
    return _cut(queries[0].text) + (f" and {more} more" if more else "")


def _cut(text: str) -> str:
    """The text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} ... ({len(line):,} characters)"
