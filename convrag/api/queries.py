"""Queries, rewrites of questions, and the steps of a search. All are immutable plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from convrag.api.filters import Filter
from convrag.api.passages import Hit
from convrag.api.printable import format_rewrite_html


@dataclass(frozen=True, slots=True)
class Query:
    """A standalone search query; the pipeline fills in the turn and the domain.

    Args:
        text: the text to search for.
        weight: its weight among the queries of its rewrite; above 0.
        turn_id: the id of the turn.
        domain: the name of the corpus to search.
        search: the kind of search that it is for: by words ("lexical"), by vectors ("dense"), or
            both ("any"). A retriever takes the queries for its kind, see
            `convrag.sdk.search.queries`.
        source: the rewriter that made it, if a rewrite has the queries of several.
        filter: the condition on fields that passages must match; None for all passages. The
            queries of one search are joined, and so are their filters: all of them must match.

    Example:
        >>> Query("kettle whistle steam", weight=0.5, search="lexical").domain
        'default'
    """

    text: str
    weight: float = 1.0
    turn_id: str = ""
    domain: str = "default"
    search: Literal["any", "lexical", "dense"] = "any"
    source: str = ""
    filter: Filter | None = field(default=None, metadata={"identity": "if_set"})


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One or more standalone queries for a question.

    Args:
        queries: at least one; the first is the rewritten question that later stages see.
        trace: how they were made, as plain data, for the record.
        fallback: why the rewriter had to return the original question; empty if it did not have to.

    Example:
        >>> rewrite = Rewrite.of("How hot should green tea be?", turns=2)
        >>> rewrite.text, rewrite.trace
        ('How hot should green tea be?', {'turns': 2})
        >>> len(Rewrite((Query("green tea"), Query("temperature", weight=0.5))).queries)
        2
    """

    queries: tuple[Query, ...]
    trace: Mapping[str, Any] = field(default_factory=dict)
    fallback: str = ""

    @classmethod
    def of(cls, text: str, *, fallback: str = "", **trace: Any) -> Rewrite:
        """Make a rewrite of a single query."""
        return cls((Query(text),), trace, fallback)

    @property
    def text(self) -> str:
        """The text of the first query."""
        return self.queries[0].text

    def _repr_html_(self) -> str:
        """Show the queries in a notebook."""
        return format_rewrite_html(self)


@dataclass(frozen=True, slots=True)
class SearchStep:
    """One of the searches of a turn: its queries and, when it is done, its hits.

    Args:
        queries: the queries to search with; none if the turn has no further search.
        trace: why these, or why no more, as plain data, for the record.
        fallback: why the search could not be planned as chosen; empty if it could.
        hits: the hits, best first; the pipeline fills them in.

    Example:
        >>> SearchStep((Query("green tea temperature"),), {"missing": "the temperature"}).hits
        ()
    """

    queries: tuple[Query, ...] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)
    fallback: str = ""
    hits: tuple[Hit, ...] = ()
