"""Which of the sentences that match a question are quoted, and how they look there."""

import re
from collections.abc import Mapping, Sequence, Set
from itertools import islice

from convrag.sdk.output.printable import format_line
from convrag.sdk.search.frequencies import add_weights
from convrag.sdk.text.analysis import find_stems
from convrag.sdk.text.matching import Asked, MatchedSentence
from convrag.sdk.text.sentences import BULLET, remove_citations
from convrag.sdk.text.statements import FENCED, ends_in_question

GAIN = 0.1
"""The least share of the question's weight that a further sentence adds to those before it."""

_SUPERSEDED = re.compile(
    r"\b(?:superseded|replaced by|obsolete|outdated|withdrawn|no longer (?:valid|in force)|ersetzt durch|veraltet)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_REFERS = re.compile(r"(?:This|These|Such|It|They|He|She|Its|Their|His|Her|Dies\w*|Es|Sie|Er)\s")
_GENERAL = re.compile(
    r"(?i)(?:about|abstract|background|commands|description|details|general|introduction|notes?|options|overview|summary|synopsis|usage"
    r"|beschreibung|einleitung|überblick|allgemeines)\W*"
)
_SECTION = re.compile(r"\A(?:[A-Z]|\d+)(?:\.\d+)*\.?\s+")
_HEADING = re.compile(r"^(?:#{1,6} +)?(\w[^\n]{0,80}[^\s.,:;!?。])\n(?:[=~-]+\n)?\n", re.MULTILINE)
_MARK = re.compile(rf"^(?:{BULLET}|#{{1,6}})\s+")
_FENCE = re.compile(r"^[ \t]*(?:`{3}|~{3}).*$", re.MULTILINE)
_FURTHER_ITEM = re.compile(rf"[.;,]?\s*\n[ \t]*{BULLET}[ \t]+")
_FIRST_ITEM = re.compile(rf":{_FURTHER_ITEM.pattern}")


def rank_sentences(
    matches: Mapping[str, Sequence[MatchedSentence]],
    texts: Mapping[str, str],
    doubtful: Set[str] = frozenset(),
) -> list[tuple[str, MatchedSentence]]:
    """Rank the sentences that say something of what is asked.

    Of those that match in the same words in passages of different years, the newest are left. What
    is superseded or doubtful counts half.

    Args:
        matches: key of a passage -> its sentences.
        texts: key of a passage -> all that names its year: title and text.
        doubtful: keys of passages that may speak of something else.

    Returns:
        Keys and sentences, the best first.
    """
    years = {key: max(map(int, _YEAR.findall(text)), default=0) for key, text in texts.items()}
    old = {key for key, text in texts.items() if _SUPERSEDED.search(text)}

    def rate(each: tuple[str, MatchedSentence]) -> tuple[float, int]:
        key, match = each
        return -match.rate * (0.5 if key in old else 1.0), -years[key]

    found = (
        (key, each.halve() if key in doubtful else each)
        for key, several in matches.items()
        for each in several
    )
    ranked = sorted((each for each in found if each[1].share > 0), key=rate)
    newest: dict[frozenset[str], int] = {}
    return [
        (key, match)
        for key, match in ranked
        if not 0 < years[key] < newest.setdefault(match.stems, years[key])
    ]


def choose_sentences(
    ranked: Sequence[tuple[str, MatchedSentence]], asked: Asked
) -> list[tuple[str, MatchedSentence]]:
    """Choose of ranked sentences the best, and the next that adds to it, if any does."""
    weights = asked.own_weights or asked.weights
    adding = (each for each in ranked[1:] if adds_words(ranked[0][1].stems, each[1].stems, weights))
    return [*ranked[:1], *islice(adding, 1)]


def adds_words(known: Set[str], stems: Set[str], weights: Mapping[str, float]) -> bool:
    """Whether stems add enough of what a question asks about to those that are known."""
    return add_weights(stems - known, weights) >= GAIN * sum(weights.values())


def clean_quote(text: str) -> str:
    """Return a sentence as it is quoted: on one line, without citations, the marks of a list, a
    heading and code.
    """
    listed = _FURTHER_ITEM.sub("; ", _FIRST_ITEM.sub(": ", _FENCE.sub(" ", text)))
    return _MARK.sub("", " ".join(remove_citations(listed).split()))


def name_subject(quote: str, title: str, before: str = "") -> str:
    """Return a quote behind the heading that it speaks of, if it begins with a pronoun: "npm prune:
    This removes ...".

    Args:
        quote: a sentence.
        title: of its passage; may be a path of headings.
        before: what stands before it in the passage. The last heading that says more than
            "Overview" counts.
    """
    if not _REFERS.match(quote):
        return quote
    headings = *title.split(" > "), *_HEADING.findall(FENCED.sub("", before))
    telling = (
        each
        for each in reversed(headings)
        if not (_GENERAL.fullmatch(each) or ends_in_question(each))
    )
    heading = _SECTION.sub("", next(telling, ""))
    return quote if find_stems(heading) <= find_stems(quote) else f"{format_line(heading)}: {quote}"
