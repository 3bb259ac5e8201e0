"""`rewriter=themes`: the queries of any rewriter, and words of the conversation's themes with a small weight."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, Any, Literal

from convrag import Clusterer, ConfigError, Embedder, Query, Question, Rewrite, Rewriter, use
from convrag.sdk.errors import RunStopped
from convrag.sdk.queries import choose_queries

if TYPE_CHECKING:
    from convrag_queries.theme_words import Theme

Kind = Literal["lexical", "dense"]

_WORD = re.compile(r"\w+")


class ThemesRewriter(Rewriter):
    """Add words of the conversation's themes to the queries of any rewriter, as one query of small weight.

    The exchanges of the history are clustered, and each cluster is a theme. Half of its weight is its share of the
    exchanges, of which older ones count less, and half its share of the resemblance to the question. The theme that is
    most like the question comes first, and each gives words in proportion to its weight: those that the clusterer
    describes it with (BERTopic), else those that its exchanges have more often than the others (class-based TF-IDF).
    Words of the question are left out.

    As in Rocchio's formula, the words together are `weight` times as long a vector as the queries of the rewriter
    together, whatever their number. Without a history, the queries are those of the rewriter, unchanged. Where no
    themes can be found, they are too, and the record says why. Source: the wish of the seed
    perplexity_style_multi_turn.md ("query expansion using conversation themes").

    Args:
        base: whose queries are expanded; any rewriter, `rewriter.base=ensemble` too.
        clusterer: finds the themes; an outlier is a theme of its own.
        embedder: embeds the question, and each exchange once.
        weight: of the theme words in a search by words, as a share of the base's queries; 0 leaves them out.
        dense: the same in a search by vectors.
        words: the most theme words.
        themes: the most themes.
        decay: the weight of an exchange as a share of that of the exchange after it. Default: as in rewriter=blend.

    Raises:
        ConfigError: a number is out of range.
    """

    libraries = ("numpy",)

    def __init__(
        self,
        *,
        base: Rewriter = use("auto"),
        clusterer: Clusterer,
        embedder: Embedder,
        weight: float = 0.25,
        dense: float = 0.0,
        words: int = 10,
        themes: int = 3,
        decay: float = 0.5,
    ) -> None:
        for name, value in (("weight", weight), ("dense", dense)):
            if not 0 <= value < float("inf"):
                raise ConfigError(f"rewriter.{name}={value}: it must be 0 or more")
        if words < 1 or themes < 1:
            raise ConfigError(f"rewriter.words={words} and rewriter.themes={themes}: at least 1")
        if not 0 < decay <= 1:
            raise ConfigError(f"rewriter.decay={decay}: it must be above 0 and at most 1 (equal weights)")
        self.base = base
        self.clusterer = clusterer
        self.embedder = embedder
        self.weights: dict[Kind, float] = {"lexical": weight, "dense": dense}
        self.words = words
        self.themes = themes
        self.decay = decay

    def rewrite(self, question: Question) -> Rewrite:
        """The base's queries, then the words of themes. New exchanges and the question are embedded."""
        rewrite = self.base.rewrite(question)
        if not question.history:
            return rewrite
        from convrag_queries.theme_words import choose_words

        try:
            themes = self._find_themes(question)
        except RunStopped:
            raise
        except Exception as error:
            reason = f"no themes: {type(error).__name__}: {error}"
            return replace(rewrite, fallback="; ".join(filter(None, (rewrite.fallback, reason))))
        chosen = choose_words(themes, question.text, self.words)
        rows = [_describe(theme, words, question) for theme, words in chosen]
        trace: dict[str, Any] = {**rewrite.trace, "themes": rows}
        text = " ".join(word for _, words in chosen for word in words)
        queries = expand_queries(rewrite.queries, text, self.weights) if text else rewrite.queries
        return replace(rewrite, queries=queries, trace=trace)

    def _find_themes(self, question: Question) -> list[Theme]:
        """The themes of the history with their words; the one of the question first, at most `themes`."""
        import numpy as np

        from convrag_queries.theme_words import Theme, find_telling_words, weigh_themes

        texts = [f"{turn.question}\n{turn.answer}".strip() for turn in question.history]
        labels = _separate_outliers([int(label) for label in self.clusterer.cluster(texts, self.embedder)])
        if len(labels) != len(texts):
            raise ValueError(f"{type(self.clusterer).__name__} gave {len(labels)} labels for {len(texts)} texts")
        described = self.clusterer.describe(texts, labels)
        telling = find_telling_words(texts, labels, self.words + len(question.text.split()))
        known = question.state(self)
        if new := [text for text in dict.fromkeys(texts) if text not in known]:
            known.update(zip(new, self.embedder.embed(new), strict=True))
        rows = np.stack([known[text] for text in texts])
        asked = self.embedder.embed([question.text], query=True)[0]
        found = []
        for label in dict.fromkeys(labels):
            members = tuple(place for place, each in enumerate(labels) if each == label)
            centre = rows[list(members)].mean(axis=0)
            length = float(np.linalg.norm(centre))
            resemblance = max(0.0, float(centre @ asked) / length) if length else 0.0
            mass = sum(self.decay ** (len(texts) - 1 - place) for place in members)
            words = tuple(described.get(label) or telling[label])
            found.append(Theme(members, words, mass, round(resemblance, 6)))
        return weigh_themes(found)[: self.themes]


def expand_queries(queries: Sequence[Query], text: str, weights: dict[Kind, float]) -> tuple[Query, ...]:
    """The queries, and a text of words with a weight for each kind of search, as a share of the queries for it.

    Queries that no search was named for would be left out of a search that has a query of its own now: where none is
    for it, they become queries for both. Queries without a source are one group with the words, so that
    retriever=fused searches for them at once.
    """
    wanted = [kind for kind, weight in weights.items() if weight]
    if any(not any(query.search in ("any", kind) for query in queries if query.weight) for kind in wanted):
        queries = [replace(query, search="any") for query in queries]
    own = [query if query.source else replace(query, source="themes") for query in queries]
    number = len(set(_WORD.findall(text.lower())))
    added = [
        Query(
            text, weights[kind] * _measure(choose_queries(queries, kind)) / sqrt(number), search=kind, source="themes"
        )
        for kind in wanted
    ]
    return (*own, *(query for query in added if query.weight))


def _measure(queries: Sequence[Query]) -> float:
    """The length of the vector of words that the queries together are, each word of weight 1 in its query."""
    weights: defaultdict[str, float] = defaultdict(float)
    for query in queries:
        for word in set(_WORD.findall(query.text.lower())):
            weights[word] += query.weight
    return sqrt(sum(weight**2 for weight in weights.values()))


def _separate_outliers(labels: Sequence[int]) -> list[int]:
    """The labels, with one of its own for each outlier."""
    free = max(labels, default=-1) + 1
    return [label if label >= 0 else free + place for place, label in enumerate(labels)]


def _describe(theme: Theme, words: Sequence[str], question: Question) -> dict[str, Any]:
    """A theme, for the trace."""
    return {
        "words": list(words),
        "turns": [question.history[place].id for place in theme.exchanges],
        "weight": round(theme.weight, 4),
        "resemblance": round(theme.resemblance, 4),
    }
