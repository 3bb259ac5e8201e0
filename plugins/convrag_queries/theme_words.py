"""The themes of a conversation: groups of exchanges, their weights, and the words that tell them from each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from convrag.sdk.words import find_content_words, stem_content_words


class Theme(NamedTuple):
    """A group of exchanges: their places in the history, its words, the most telling first, and its weights.

    `mass` is the number of its exchanges, older ones counting less; `resemblance` its cosine with the question, 0 or
    more; `weight` its share of both, of all themes.
    """

    exchanges: tuple[int, ...]
    words: tuple[str, ...]
    mass: float
    resemblance: float
    weight: float = 0.0


def weigh_themes(themes: Sequence[Theme]) -> list[Theme]:
    """The themes with their weights, which add up to 1: the one most like the question first, the others by weight."""
    mass, resemblance = (sum(values) for values in zip(*((t.mass, t.resemblance) for t in themes), strict=True))
    weighed = [
        each._replace(
            weight=(each.mass / mass + each.resemblance / resemblance) / 2 if resemblance else each.mass / mass
        )
        for each in themes
    ]
    first = max(weighed, key=lambda each: (each.resemblance, each.weight))
    others = sorted((each for each in weighed if each is not first), key=lambda each: -each.weight)
    return [first, *others]


def choose_words(themes: Sequence[Theme], known: str, most: int) -> list[tuple[Theme, list[str]]]:
    """The words of each theme, as many as its weight allows of so many in all, without those of a known text."""
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


def find_telling_words(texts: Sequence[str], labels: Sequence[int], most: int) -> Mapping[int, tuple[str, ...]]:
    """Label -> the words of its texts that the others do not have as often (class-based TF-IDF, Grootendorst 2022).

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
