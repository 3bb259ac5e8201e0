"""Which queries of a rewrite a search takes, and how a query is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from convrag.api.types import Query

__all__ = ["choose_queries", "describe_query"]

_KINDS = {"lexical": "for words", "dense": "for vectors"}


def choose_queries(queries: Sequence[Query], search: Literal["lexical", "dense"]) -> list[Query]:
    """Choose the queries for a search by words ("lexical") or by vectors ("dense", learned sparse ones included).

    Queries of weight 0 are left out. If none of the others is for this kind of search, all of them are taken, so that
    a rewrite for one kind can still be searched for with the other.
    """
    weighted = [query for query in queries if query.weight]
    return [query for query in weighted if query.search in ("any", search)] or weighted


def describe_query(query: Query) -> str:
    """Describe a query beside its text, as in "weight 0.5, for words, from mmr"; empty for a plain one."""
    parts = [
        f"weight {query.weight:g}" if query.weight != 1 else "",
        _KINDS.get(query.search, ""),
        f"from {query.source}" if query.source else "",
    ]
    return ", ".join(part for part in parts if part)
