"""What the sentences of a passage do: state something, ask, or neither."""

import re
from collections.abc import Iterator
from typing import Literal

from convrag.sdk.text.sentences import (
    BULLET,
    FIELD,
    FINITE_VERB,
    find_sentence_spans,
    remove_citations,
)

Kind = Literal["statement", "question", "other"]
"""What a sentence does: it states something, it asks, or neither: a heading, the head of a table, a
menu, code.
"""

_ASKS = re.compile(r"[?？؟؛][\s\"'”’»)*_\]]*\Z")
_MARKED = re.compile(r"[.!…。！।॥։።:;][\s\"'”’»)*_\]`\[\d,]*\Z")
_LISTED = re.compile(rf"\s*{BULLET}\s")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]")
FENCED = re.compile(r"^[ \t]*(?:`{3}|~{3}).*?(?:^[ \t]*(?:`{3}|~{3})|\Z)", re.DOTALL | re.MULTILINE)
"""A block of code, up to its fence or the end."""
_CODE_BELOW = re.compile(
    r"[ \t]*\n\s*?(?:(?:`{3}|~{3})[^\n]*\n\s*|\n(?=(?:[ ]{2,}|\t)(?!\s*(?:[-*+•]|\d+[.)])\s)))"
    r"(?:(?!\s*(?:`{3}|~{3}))[^\n]*\S(?:\n|\Z)){1,2}"
)
_LIST_BELOW = re.compile(rf"(?:\s*\n[ \t]*{BULLET}[ \t][^\n]*(?:\n[ \t]+[^\s*+•◦▪‣–-][^\n]*)*)+")
SHORT_LIST = 200
"""Characters of a list that is a part of the line above it."""
_LINK = re.compile(r"!?\[[^\]\n]*\]\([^)\n]*\)|<?https?://\S+|</?[a-zA-Z]\w*>")
_RULE = re.compile(r"(?:[\s|:=+*_`~-]*\n)+")
_UNDERLINE = re.compile(r"\s*\n[ \t|+]*[:=~^-]{2}[-:=~^|+ \t]*(?:\n|\Z)")
_NO_STATEMENT = re.compile(
    r"""\s*(?:
        \#{1,6}\s | >>> | >\s(?:import|from|[\w.]+\s?[=(]) | \$\s | /[/*] | </?\w+[\s>/] | \.\.\s | @\w+$
        | (?:import|from|def|class|return|var|let|const|function|export|elif|sudo|npm|pip|git)\s (?!.*[.!]\s*$)
        | (?:[-*•]\s)?(?:step|chapter|section|part|figure|table|schritt|kapitel)\s\d+\s*[:.–—-]\s(?!.*[.!]\s*$)
        | (?:next|previous|prev|back|home|up|see\ also|contents|table\ of\ contents|menu|tags?|related)\s*[:»>|←→]
        | [\w.\[\]"']+\s*[-+*/:]?=[^=] | [\w.]+\(.*\)\s*[;{]?$
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_DEFINES = re.compile(r"(?:[^\s#|]+\s){1,4}[–—-]\s(?:[^\s–—-]\S*(?:\s|\Z)){3,}\Z")
"""A term and what it means, as a manual's first line has it: "tar — an archiving utility"."""
_CODE = re.compile(r"[{}()\[\]<>;=$\\|]|->")
_INLINE_CODE = re.compile(r"`[^`\n]*`")


def classify_sentences(text: str) -> Iterator[tuple[int, int, Kind]]:
    """Yield the sentences of a passage with what they do: (start, end, kind).

    A text of fewer than four words, or three with an end mark, states nothing; nor does a line that
    has neither an end mark nor a verb, a digit or the bullet of a list. A line that ends with a
    colon, a heading, or a sentence without an end mark states what the code just below it does: two
    lines of that are part of it. So is a short list below a colon; above a long one it states
    nothing.
    """
    fences = [found.span() for found in FENCED.finditer(text)]
    told = 0
    for start, end in find_sentence_spans(text):
        if start < told:
            continue
        start = next(
            (last for first, last in fences if first <= start < last < end), start
        )  # a bracket ends the code
        if rule := _RULE.match(text, start, end):
            start = rule.end()
        fenced = any(first <= start < last for first, last in fences)
        kind: Kind = "other" if fenced else _classify(text[start:end], text[end : end + 200])
        leads = (
            not fenced
            and kind != "question"
            and (text[end - 1] == ":" or text.startswith("#", start))
        )
        leads = leads and not text.startswith(".. ", start)  # a directive of reStructuredText
        goes_on = leads or (
            kind == "statement" and not _MARKED.search(text[start:end])
        )  # "You hold a package by"
        if goes_on and (code := _CODE_BELOW.match(text, end)):
            kind, end = "statement", code.end()
        elif leads and kind == "statement" and (items := _LIST_BELOW.match(text, end)):
            kind, end = (
                ("statement", items.end()) if items.end() - end <= SHORT_LIST else ("other", end)
            )
        told = end
        yield start, end, kind


def ends_in_question(text: str) -> bool:
    """Whether a text ends with a question mark."""
    return bool(_ASKS.search(text))


def _classify(sentence: str, following: str) -> Kind:
    if ends_in_question(sentence):
        return "question"
    prose = _INLINE_CODE.sub("x", _LINK.sub("", remove_citations(sentence)))
    marked, field = _MARKED.search(sentence), FIELD.match(sentence)
    words = max(len(prose.split()), len(_CJK.findall(prose)) // 2)
    coded = _NO_STATEMENT.match(sentence) or len(_CODE.findall(prose)) > len(prose) / 15
    if coded or words < (3 if marked or field else 4) or _UNDERLINE.match(following):
        return "other"
    told = (
        marked
        or field
        or _LISTED.match(sentence)
        or _DEFINES.match(sentence)
        or FINITE_VERB.search(prose)
    )
    return "statement" if told or re.search(r"\d", prose) else "other"
