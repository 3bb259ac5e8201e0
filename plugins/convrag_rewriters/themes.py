"""`rewriter=themes`: adds words of the conversation's themes to the queries of any rewriter."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Interval

from convrag import Clusterer, Embedder, Query, Question, Rewrite, Rewriter, use
from convrag.sdk.errors import RunStopped
from convrag.sdk.search.queries import choose_queries
from convrag.sdk.search.vectors import cluster_texts, embed_new, separate_outliers
from convrag.sdk.text.analysis import find_content_words, split_words, stem_content_words

Kind = Literal["lexical", "dense"]


@dataclass(kw_only=True, eq=False)
class ThemesRewriter(Rewriter):
    """Add words of the conversation's themes to the queries of any rewriter, with small weight.

    The exchanges of the history are clustered, and each cluster is a theme. Half of its weight is
    its share of the exchanges, of which older ones count less, and half its share of the
    resemblance to the question. The theme that is most like the question comes first, and each
    gives words in proportion to its weight: those that the clusterer describes it with (BERTopic),
    else those that its exchanges have more often than the others (class-based TF-IDF). Words of the
    question are left out.

    As in Rocchio's formula, the words together are `weight` times as long a vector as the queries
    of the rewriter together, whatever their number. Without a history, the queries are the
    rewriter's, unchanged. Where no themes can be found, they are too, and the record says why.
    Source: the wish of the seed perplexity_style_multi_turn.md ("query expansion using conversation
    themes").

    Args:
        base: whose queries are expanded; any rewriter, `rewriter.base=ensemble` too.
        clusterer: finds the themes; an outlier is a theme of its own.
        embedder: embeds the question, and each exchange once.
        weight: of the theme words in a search by words, as a share of the base's queries; 0 leaves
            them out.
        dense: the same in a search by vectors.
        words: the most theme words.
        themes: the most themes.
        decay: the weight of an exchange as a share of the next exchange's. Default: as in
            rewriter=blend.
    """

    libraries = ("numpy",)

    base: Rewriter = use("auto")
    clusterer: Clusterer
    embedder: Embedder
    weight: Annotated[float, Ge(0)] = 0.25
    dense: Annotated[float, Ge(0)] = 0.0
    words: Annotated[int, Ge(1)] = 10
    themes: Annotated[int, Ge(1)] = 3
    decay: Annotated[float, Interval(gt=0, le=1)] = 0.5

    def __post_init__(self) -> None:
        self.weights: dict[Kind, float] = {"lexical": self.weight, "dense": self.dense}

    def rewrite(self, question: Question) -> Rewrite:
        """Return the base's queries, then words of themes; new exchanges are embedded."""
        rewrite = self.base.rewrite(question)
        if not question.history:
            return rewrite

        try:
            themes = self._find_themes(question)
        except (RunStopped, ImportError):
            raise  # a library that cannot be imported is a defect: no fallback
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
        """Find the themes of the history, at most `themes`; the one of the question comes first."""
        import numpy as np

        texts = [f"{turn.question}\n{turn.answer}".strip() for turn in question.history]
        labels = separate_outliers(cluster_texts(self.clusterer, texts, self.embedder))
        described = self.clusterer.describe(texts, labels)
        telling = find_telling_words(texts, labels, self.words + len(split_words(question.text)))
        rows = embed_new(self.embedder, texts, question.state(self))
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


def expand_queries(
    queries: Sequence[Query], text: str, weights: dict[Kind, float]
) -> tuple[Query, ...]:
    """Add a text of words to the queries, with a weight for each kind of search.

    A weight is a share of the weight of the queries for that kind of search.

    Queries that no search was named for would be left out of a search that has a query of its own
    now: where none is for it, they become queries for both. Queries without a source are one group
    with the words, so that retriever=fused searches for them at once.
    """
    wanted = [kind for kind, weight in weights.items() if weight]
    searched = {query.search for query in queries if query.weight}
    if any(not searched & {"any", kind} for kind in wanted):
        queries = [replace(query, search="any") for query in queries]
    own = [query if query.source else replace(query, source="themes") for query in queries]
    number = len(set(split_words(text)))
    added = [
        Query(
            text,
            weights[kind] * _measure(choose_queries(queries, kind)) / sqrt(number),
            search=kind,
            source="themes",
        )
        for kind in wanted
    ]
    return (*own, *(query for query in added if query.weight))


def _measure(queries: Sequence[Query]) -> float:
    """Compute the length of the vector that the words of all queries add up to."""
    weights: defaultdict[str, float] = defaultdict(float)
    for query in queries:
        for word in dict.fromkeys(split_words(query.text)):
            weights[word] += query.weight
    return sqrt(sum(weight**2 for weight in weights.values()))


def _describe(theme: Theme, words: Sequence[str], question: Question) -> dict[str, Any]:
    """Describe a theme for the trace."""
    return {
        "words": list(words),
        "turns": [question.history[place].id for place in theme.exchanges],
        "weight": round(theme.weight, 4),
        "resemblance": round(theme.resemblance, 4),
    }


class Theme(NamedTuple):
    """A group of exchanges: their places in the history, its words, best first, and its weights.

    `mass` is the number of its exchanges, older ones counting less; `resemblance` its cosine with
    the question, 0 or more; `weight` its share of both, of all themes.
    """

    exchanges: tuple[int, ...]
    words: tuple[str, ...]
    mass: float
    resemblance: float
    weight: float = 0.0


def weigh_themes(themes: Sequence[Theme]) -> list[Theme]:
    """Weigh themes so that the weights add up to 1: the one most like the question comes first."""
    mass = sum(theme.mass for theme in themes)
    resemblance = sum(theme.resemblance for theme in themes)
    weighed = []
    for theme in themes:
        weight = theme.mass / mass
        if resemblance:
            weight = (weight + theme.resemblance / resemblance) / 2
        weighed.append(theme._replace(weight=weight))
    first = max(weighed, key=lambda each: (each.resemblance, each.weight))
    others = sorted((each for each in weighed if each is not first), key=lambda each: -each.weight)
    return [first, *others]


def choose_words(themes: Sequence[Theme], known: str, most: int) -> list[tuple[Theme, list[str]]]:
    """Choose words of each theme in proportion to its weight, without those of a known text."""
    seen = set(stem_content_words(known))
    shares = [each.weight * most for each in themes]
    counts = [int(share) for share in shares]
    by_rest = sorted(range(len(shares)), key=lambda place: counts[place] - shares[place])
    for place in by_rest[: round(sum(shares)) - sum(counts)]:
        counts[place] += 1
    chosen = []
    for theme, count in zip(themes, counts, strict=True):
        words: list[str] = []
        for word in theme.words:
            stems = set(stem_content_words(word))
            if len(words) < count and stems and not stems & seen:
                words.append(word)
                seen |= stems
        chosen.append((theme, words))
    return chosen


def find_telling_words(
    texts: Sequence[str], labels: Sequence[int], most: int
) -> Mapping[int, tuple[str, ...]]:
    """Find the words that the texts of a label have more often than the others.

    This is class-based TF-IDF (Grootendorst 2022).

    Args:
        texts: n texts.
        labels: of the n texts.
        most: words of a label.
    """
    forms: dict[str, Counter[str]] = {}
    counts: dict[int, Counter[str]] = {label: Counter() for label in dict.fromkeys(labels)}
    for text, label in zip(texts, labels, strict=True):
        words = find_content_words(text)
        counts[label].update(word.stem for word in words)
        for word in words:
            forms.setdefault(word.stem, Counter())[word.text] += 1
    total = sum((count for count in counts.values()), Counter[str]())
    mean = total.total() / max(1, len(counts))
    best = {}
    for label, found in counts.items():
        scores = {stem: number * math.log(1 + mean / total[stem]) for stem, number in found.items()}
        ranked = sorted(scores, key=lambda stem: (-scores[stem], stem))[:most]
        best[label] = tuple(forms[stem].most_common(1)[0][0] for stem in ranked)
    return best
