"""The options that a text lists: lines with bullets or numbers, "1) ... 2) ...", and "A, B and C"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from convrag_resolve.noun_phrases import NounPhrase
from convrag_resolve.tags import Token

_LINE = re.compile(
    r"^[ \t]*(?:[-*+•–]|\(?\d{1,2}[.)]|\(?[a-hA-H][.)]|option [a-h\d]{1,2}:)[ \t]+(\S.*)$", re.MULTILINE | re.IGNORECASE
)
_INLINE = re.compile(r"(?:^|(?<=[\s:;,]))\(?(\d{1,2}|[a-h])[.)]\s+(?=\S)")
_BOLD = re.compile(r"\*\*(.+?)\*\*|__(.+?)__")
_NAME_END = re.compile(r":\s|\s[-–—]\s|[.;?!](?:\s|$)|,\s(?:which|who|where|and)\s|\s\(")
_LABEL = re.compile(
    r"^(?:\*\*)?(?:step|option|number|part) \w{1,3}(?:\*\*)?\s?[:.)–-]\s?(?:\*\*)?(?=\S)", re.IGNORECASE
)
_WORDS = 10
_MOST = 20


def find_line_options(text: str) -> tuple[str, ...]:
    """Find the items of a list whose items have marks of their own, shortened to what they name; empty if none."""
    lines = _LINE.findall(text)
    if len(lines) < 2:
        lines = _split_inline(text)
    options = [option for line in lines[:_MOST] if (option := _shorten(line))]
    return tuple(options) if len(options) > 1 else ()


def find_options(text: str, tokens: Sequence[Token], phrases: Sequence[NounPhrase]) -> tuple[str, ...]:
    """Find the options that a text lists, in order: of several lists, one with marks, else the longest enumeration."""
    return find_line_options(text) or max([*find_enumerations(text, tokens, phrases), ()], key=len)


def find_enumerations(text: str, tokens: Sequence[Token], phrases: Sequence[NounPhrase]) -> list[tuple[str, ...]]:
    """Find each "A and B", "A, B or C" of noun phrases."""
    runs: list[list[NounPhrase]] = []
    joined = False
    for phrase, following in zip(phrases, [*phrases[1:], None], strict=False):
        if not joined:
            runs.append([])
        runs[-1].append(phrase)
        between = [token.lower for token in tokens[phrase.last : following.first]] if following else None
        joined = (
            bool(between)
            and set(between or ()) <= {",", "and", "or", "&", "versus", "vs", "vs."}
            and len(between or ()) <= 2
        )
    found = []
    for run in runs:
        last_gap = {token.lower for token in tokens[run[-2].last : run[-1].first]} if len(run) > 1 else set()
        if last_gap & {"and", "or", "&", "versus", "vs"}:
            found.append(tuple(_write(text, tokens, phrase) for phrase in run[:_MOST]))
    return found


def _write(text: str, tokens: Sequence[Token], phrase: NounPhrase) -> str:
    first = phrase.first + (
        tokens[phrase.first].lower in ("both", "either", "neither") and phrase.last - phrase.first > 1
    )
    return " ".join(text[tokens[first].start : tokens[phrase.last - 1].end].split())


def _split_inline(text: str) -> list[str]:
    """The items of "1. Foo 2. Bar" or "a) foo; b) bar", whose marks count up from the first."""
    marks = list(_INLINE.finditer(text))
    counted = [
        mark for number, mark in enumerate(marks) if mark[1] in (str(number + 1), "abcdefgh"[number : number + 1])
    ]
    if len(counted) < 2 or len(counted) != len(marks):
        return []
    ends = [mark.start() for mark in counted[1:]] + [len(text)]
    return [text[mark.end() : end] for mark, end in zip(counted, ends, strict=True)]


def _shorten(item: str) -> str:
    """What an item names: its bold words, or those before a colon, a dash or the end of its first sentence."""
    item = _LABEL.sub("", item.strip())
    if (bold := _BOLD.match(item)) is not None:
        item = bold[1] or bold[2]
    cut = _NAME_END.search(item)
    words = (item[: cut.start()] if cut and cut.start() else item).strip(' :;,.*_`"').split()
    return " ".join(words) if len(words) <= _WORDS else " ".join(words[:_WORDS])
