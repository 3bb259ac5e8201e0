"""The queries of a rewrite: those that a search takes, their vector, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from convrag.api.queries import Query
from convrag.api.stage import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LONGEST = 120
"""Characters of a query that are shown: a query may be an earlier answer, and long."""

_KINDS = {"lexical": "for words", "dense": "for vectors"}


def choose_queries(queries: Sequence[Query], search: Literal["lexical", "dense"]) -> list[Query]:
    """Choose the queries for a search by words ("lexical") or by vectors ("dense").

    Learned sparse search counts as dense.
    Queries of weight 0 are left out. If none of the others is for this kind of search, all of them
    are taken, so that a rewrite for one kind can still be searched for with the other.
    """
    weighted = [query for query in queries if query.weight]
    return [query for query in weighted if query.search in ("any", search)] or weighted


def combine_vectors(embedder: Embedder, queries: Sequence[Query]) -> NDArray[np.float64] | None:
    """Combine weighted queries into one unit vector, (d,); None where nothing is left of them."""
    import numpy as np

    if not queries:
        return None
    rows = embedder.embed([query.text for query in queries], query=True).astype(np.float64)
    weights = np.array([[query.weight] for query in queries])
    total: NDArray[np.float64] = (rows * weights).sum(axis=0)
    length = float(np.linalg.norm(total))
    rounding = 1e-6 * float(np.abs(weights).sum())  # the error of float32
    return None if length < rounding else total / length


def embed_uncached(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Embed the passages of an index, (n, d), past the store.

    The kernel wraps the method of the object with its cache, which would keep each passage's vector
    a second time, row by row; the vectors of a corpus are kept in its index alone. So the method of
    the class is called.
    """
    return type(embedder).embed(embedder, texts)


def list_queries(queries: Sequence[Query]) -> list[str]:
    """Describe queries, each text in a line: "tea kettle (weight 0.5, for words, from mmr)"."""
    notes: dict[str, list[str]] = {}
    for query in queries:
        own = notes.setdefault(_shorten(query.text), [])
        note = _describe_search(query)
        if note:
            own.append(note)
    return [f"{text} ({'; '.join(own)})" if own else text for text, own in notes.items()]


def _describe_search(query: Query) -> str:
    """Describe how a query is searched for; empty for the usual way."""
    parts = []
    if query.weight != 1:
        parts.append(f"weight {query.weight:g}")
    if query.search in _KINDS:
        parts.append(_KINDS[query.search])
    if query.source:
        parts.append(f"from {query.source}")
    if query.filter is not None:
        parts.append(f"where {query.filter}")
    return ", ".join(parts)


def summarise_queries(queries: Sequence[Query]) -> str:
    """Name the first query, and count the other texts: "tea kettle and 11 more"."""
    first = _shorten(queries[0].text)
    more = len(list_queries(queries)) - 1
    return f"{first} and {more} more" if more else first


def _shorten(text: str) -> str:
    """Cut a text to one line of at most `LONGEST` characters."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} ... ({len(line):,} characters)"
