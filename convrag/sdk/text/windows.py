"""Quotations that answer a question without a language model: windows of the best passages.

A window is a row of consecutive sentences around the sentence that has most of the query's words
(`convrag.sdk.text.overlap`). It is extended forward first, so that it holds the list, the table
rows or the code block that its sentence introduces. Nothing here depends on the language of the
text.

The second number of `Rate` was compared with the first alone on the four sets of a benchmark, with
`python benchmarks/quality/answers_without_a_model.py ~/sets generator=direct`.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, NamedTuple

from convrag.sdk.text.analysis import tell_language
from convrag.sdk.text.characters import remove_invisible
from convrag.sdk.text.overlap import find_shared_stems, sum_share
from convrag.sdk.text.sentences import BULLET, find_sentence_spans, remove_citations
from convrag.sdk.text.tokens import COUNTED_WORD, count_words

MOST_WORDS = 45
"""The most words of a window, so that an answer of two has 90, about half a minute of reading."""

WINDOWS = 2
"""The most windows of an answer; each is of another passage."""

NEAR_BEST = 0.33
"""The least share of the best rate in a passage with which a sentence is a nugget.

F1 is highest if everything is kept that is likelier than half of that F1 (Lipton et al. 2014); with
an F1 of about .4, and a best sentence that is more likely a nugget than not, that is a third.
"""

Kind = Literal["sentence", "heading", "code"]

Rate = tuple[float, float]
"""The shares of a query's weight that a sentence covers with its headings, and without them.

By the first, sentences below a heading that names the subject are preferred; by the second, of
these the one that says most itself.
"""

_CODE_BLOCK = re.compile(
    r"^[ \t]*(?P<fence>`{3}|~{3})[^\n]*\n(?P<code>.*?)(?:^[ \t]*(?P=fence)|\Z)",
    re.DOTALL | re.MULTILINE,
)
_CODE_OR_IMAGE = re.compile(
    r"(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"  # inline code stays, as does
    r"|\\."  # what is escaped
    r"|!(?=\[)"
)
_HEADING = re.compile(r"#{1,6}\s")
_MARK = re.compile(rf"\A(?:{BULLET}|[>|]|#{{1,6}})\s+")
_ITEM = re.compile(rf"(?:{BULLET}|[|])\s")
_CLOSED = ".:;,!?…。：；，！？|"
"""Marks after which an item needs no semicolon before it."""
_RULE = re.compile(r"[\s|:=+_~-]*\n")
"""A line without words, as between the head of a table and its rows."""


class Source(NamedTuple):
    """A passage that may be quoted.

    Args:
        text: of the passage.
        title: of the passage; may be a path of headings.
    """

    text: str
    title: str = ""


@dataclass(frozen=True)
class Sentence:
    """A part of a passage that is not divided: a sentence, an item, a row, or a block of code.

    Args:
        start: in the passage's text, in characters.
        end: the character after its last one.
        kind: a heading is not quoted; its words count for the sentences below it.
        rate: how much of the query it covers.
    """

    start: int
    end: int
    kind: Kind = "sentence"
    rate: Rate = (0.0, 0.0)


class Window(NamedTuple):
    """A quotation: consecutive sentences of a passage, on one line.

    Args:
        source: the position of its passage.
        text: what is quoted.
        rate: of its best sentence.
    """

    source: int
    text: str
    rate: Rate


def choose_windows(sources: Sequence[Source], weights: Mapping[str, float]) -> list[Window]:
    """Choose the best windows, the best first: at most two, of different passages and texts.

    Of equal ones, the window of the earlier passage is better. Where no sentence has a word of the
    query, the beginning of the first passage is the only window.

    Args:
        sources: passages, the best first.
        weights: stem -> weight of the query's words.
    """
    found = []
    for position, source in enumerate(sources):
        window = find_window(source, weights, position)
        if window is not None:
            found.append(window)
    chosen: list[Window] = []
    for window in sorted(found, key=lambda each: each.rate, reverse=True):
        is_repeated = any(window.text in other.text for other in chosen)
        if window.rate > (0.0, 0.0) and not is_repeated:
            chosen.append(window)
    return chosen[:WINDOWS] or found[:1]


def find_window(source: Source, weights: Mapping[str, float], position: int = 0) -> Window | None:
    """Find the window around the sentence with the best rate, the first of several.

    Args:
        source: the passage.
        weights: stem -> weight of the query's words.
        position: of the passage among others.

    Returns:
        None for a passage that has nothing but headings.
    """
    sentences = rate_sentences(source, weights)
    quotable = [n for n, each in enumerate(sentences) if each.kind != "heading"]
    if not quotable:
        return None
    best = max(quotable, key=lambda n: (sentences[n].rate, -n))
    first, last = _extend(source.text, sentences, best)
    text = _quote(source.text, sentences[first : last + 1])
    return Window(position, text, sentences[best].rate)


def rate_sentences(source: Source, weights: Mapping[str, float]) -> list[Sentence]:
    """Rate the sentences of a passage, in order, by the share of a query that each covers.

    The words of the title and of the last heading above count for each sentence.
    """
    language = tell_language(f"{source.title}\n{source.text}")
    titled = find_shared_stems(source.title, weights, language)
    above = titled
    rated = []
    for sentence in split_passage(source):
        stems = find_shared_stems(source.text[sentence.start : sentence.end], weights, language)
        if sentence.kind == "heading":
            above = titled | stems
        rate = (sum_share(stems | above, weights), sum_share(stems, weights))
        rated.append(replace(sentence, rate=rate))
    return rated


def select_sentences(
    source: Source,
    weights: Mapping[str, float],
    *,
    best: float = NEAR_BEST,
    lead: bool = True,
    least_words: int = 3,
) -> list[Sentence]:
    """Select the sentences of a passage that match a query, in order.

    Args:
        source: the passage.
        weights: stem -> weight of the query's words.
        best: the least share of the best rate in the passage.
        lead: whether the rate of the n-th sentence is divided by log2(n + 1), as nDCG discounts a
            rank (Jarvelin and Kekalainen 2002), since texts say first what matters most (Edmundson
            1969).
        least_words: the fewest words of a sentence.
    """
    scores: dict[Sentence, float] = {}
    for sentence in rate_sentences(source, weights):
        is_long_enough = _count_words(source.text, sentence) >= least_words
        if sentence.kind != "heading" and is_long_enough:
            discount = math.log2(len(scores) + 2) if lead else 1.0
            scores[sentence] = sentence.rate[0] / discount
    least = best * max(scores.values(), default=0.0)
    return [sentence for sentence, score in scores.items() if score >= least and score > 0]


def split_passage(source: Source) -> Iterator[Sentence]:
    """Split a passage into sentences, items, rows, headings and blocks of code, in order."""
    headings = {source.title, *source.title.split(" > ")}
    start = 0
    for block in _CODE_BLOCK.finditer(source.text):
        yield from _split_prose(source.text, start, block.start(), headings)
        yield Sentence(block.start(), block.end(), "code")
        start = block.end()
    yield from _split_prose(source.text, start, len(source.text), headings)


def _split_prose(text: str, start: int, end: int, headings: set[str]) -> Iterator[Sentence]:
    for first, last in find_sentence_spans(text, start, end):
        rule = _RULE.match(text, first, last)
        if rule:
            first = rule.end()
        sentence = text[first:last]
        is_heading = _HEADING.match(sentence) or sentence in headings
        yield Sentence(first, last, "heading" if is_heading else "sentence")


def _extend(text: str, sentences: Sequence[Sentence], best: int) -> tuple[int, int]:
    """Extend a window of one sentence by whole sentences that fit: forward first, then backward.

    A block of code, an item or a row that does not fit is the last one, and is cut. A window does
    not go across a heading.
    """
    first = last = best
    room = MOST_WORDS - _count_words(text, sentences[best])
    for following in range(best + 1, len(sentences)):
        size = _count_words(text, sentences[following])
        is_too_long = size > room and not _is_divisible(text, sentences[following])
        if sentences[following].kind == "heading" or room <= 0 or is_too_long:
            break
        last = following
        room -= size
    for preceding in range(best - 1, -1, -1):
        size = _count_words(text, sentences[preceding])
        if sentences[preceding].kind == "heading" or size > room:
            break
        first = preceding
        room -= size
    return first, last


def _is_divisible(text: str, sentence: Sentence) -> bool:
    """Whether a part makes sense without its end: code, an item of a list, a row of a table."""
    return sentence.kind == "code" or bool(_ITEM.match(text, sentence.start))


def _count_words(text: str, sentence: Sentence) -> int:
    return count_words(text[sentence.start : sentence.end])


def _quote(text: str, sentences: Sequence[Sentence]) -> str:
    """Join sentences on one line, with a semicolon before an item or a row where there is no mark.

    What is longer than a window is cut between words.
    """
    quoted = ""
    for sentence in sentences:
        part = text[sentence.start : sentence.end]
        if quoted and quoted[-1] not in _CLOSED and _ITEM.match(part):
            quoted += ";"
        quoted += f" {clean_quote(part)}"
    quoted = " ".join(quoted.split())
    words = [*islice(COUNTED_WORD.finditer(quoted), MOST_WORDS)]
    if not words or words[-1].end() == len(quoted):
        return quoted
    cut = quoted[: words[-1].end()]
    is_within_code = cut.count("`") % 2 == 1
    return f"{cut}` …" if is_within_code else f"{cut} …"


def clean_quote(text: str) -> str:
    """Return a sentence or a block of code as it is quoted.

    It is on one line, without citations, soft hyphens and the mark of a list, a table or a heading.
    A line of code is `inline code`. An image is a link: nobody's address is opened before a click.
    """
    block = _CODE_BLOCK.match(text)
    if block:
        lines = [" ".join(line.split()) for line in block["code"].splitlines()]
        return " ".join(f"`{line}`" for line in lines if line)
    prose = remove_invisible(remove_citations(text))
    line = _MARK.sub("", " ".join(prose.split()), count=1)
    return _CODE_OR_IMAGE.sub(_disarm, line)


def _disarm(found: re.Match[str]) -> str:
    return r"\!" if found[0] == "!" else found[0]
