r"""The language of filters: `product=kettle and year>=2023`.

    filter      conjunction, `or` between several
    conjunction part, `and` between several
    part        `not` part, `(` filter `)`, or a comparison
    comparison  field, one of `=` `!=` `<` `<=` `>` `>=`, value; or field, `in` or `not in`, values
    values      values between parentheses, with commas between them
    value       a word, or a text in quotation marks ("tea pot", 'tea pot'), where \ stands before a
                quotation mark or another \

`and`, `or`, `not` and `in` may be written in capitals. A word that is a number is one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from convrag.api.errors import ConfigError
from convrag.api.filters import (
    KEYWORDS,
    NUMBER,
    WORD,
    And,
    Comparison,
    Filter,
    FilterValue,
    Not,
    Operator,
    Or,
)

_LONGEST = 4_000
"""Characters of a filter."""

_DEEPEST = 50
"""Parentheses and `not` within each other."""

_TOKEN = re.compile(
    rf"""\s*(?:(?P<sign><=|>=|!=|[=<>(),])|(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    rf"""|(?P<word>{WORD.pattern}))""",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)

_OPERATORS: Final[dict[str, Operator]] = {
    "=": "=",
    "!=": "=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}


class _Token(NamedTuple):
    """A part of the text: a sign, a text in quotation marks, a word or a keyword; or its end.

    Args:
        kind: "sign", "quoted", "word", "keyword" or "end".
        text: the sign, the text without quotation marks, the word, or the keyword in small letters.
        place: its first character in the filter.
    """

    kind: str
    text: str
    place: int


class FilterSyntaxError(ConfigError):
    """A text that is not a filter; the message shows the place.

    Args:
        text: the text.
        place: the character at which it cannot be read, from 0.
        problem: what was expected there.
    """

    def __init__(self, text: str, place: int, problem: str) -> None:
        self.text = text
        self.place = place
        self.problem = problem
        line = re.sub(r"\s", " ", text)
        super().__init__(
            f"this filter cannot be read at character {place + 1}: {problem}\n"
            f"  {line}\n  {' ' * place}^"
        )

    def __reduce__(self) -> tuple[type[FilterSyntaxError], tuple[str, int, str]]:
        return type(self), (self.text, self.place, self.problem)


@lru_cache(256)
def parse_filter(text: str) -> Filter:
    """Parse a filter.

    Example:
        >>> parse_filter("product = kettle")
        Comparison(field='product', operator='=', values=('kettle',))

    Raises:
        FilterSyntaxError: the text is not a filter; the message shows the place.
    """
    if len(text) > _LONGEST:
        raise ConfigError(
            f"the filter has {len(text):,} characters, and at most {_LONGEST:,} are read"
        )
    return _Parser(text).parse()


class _Parser:
    """Parses one text from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _split(text)
        self._next = 0
        self._depth = 0

    def parse(self) -> Filter:
        found = self._parse_any()
        if self._token.kind != "end":
            raise self._fail("expected `and`, `or` or the end; a text with blanks needs quotes")
        return found

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _parse_any(self) -> Filter:
        parts = [self._parse_all()]
        while self._take("keyword", "or"):
            parts.append(self._parse_all())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _parse_all(self) -> Filter:
        parts = [self._parse_part()]
        while self._take("keyword", "and"):
            parts.append(self._parse_part())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _parse_part(self) -> Filter:
        if self._depth > _DEEPEST:
            raise self._fail(f"more than {_DEEPEST} parentheses within each other")
        self._depth += 1
        if self._take("keyword", "not"):
            found: Filter = Not(self._parse_part())
        elif self._take("sign", "("):
            found = self._parse_any()
            self._require("sign", ")", "expected `)`")
        else:
            found = self._parse_comparison()
        self._depth -= 1
        return found

    def _parse_comparison(self) -> Filter:
        if self._token.kind not in ("word", "quoted"):
            raise self._fail("expected the name of a field")
        name = self._advance().text
        if self._take("keyword", "in"):
            return Comparison(name, "in", self._parse_values())
        if self._take("keyword", "not"):
            self._require("keyword", "in", "expected `in`")
            return Not(Comparison(name, "in", self._parse_values()))
        sign = self._token
        if sign.kind != "sign" or sign.text not in _OPERATORS:
            raise self._fail("expected =, !=, <, <=, >, >= or `in` after the name of a field")
        self._advance()
        comparison = Comparison(name, _OPERATORS[sign.text], (self._parse_value(),))
        return Not(comparison) if sign.text == "!=" else comparison

    def _parse_values(self) -> tuple[FilterValue, ...]:
        self._require("sign", "(", "expected `(` and values")
        values = [self._parse_value()]
        while self._take("sign", ","):
            values.append(self._parse_value())
        self._require("sign", ")", "expected `,` or `)`")
        return tuple(values)

    def _parse_value(self) -> FilterValue:
        token = self._token
        if token.kind == "keyword":
            raise self._fail("expected a value; this word needs quotes")
        if token.kind not in ("word", "quoted"):
            raise self._fail("expected a value")
        self._advance()
        if token.kind == "word" and NUMBER.fullmatch(token.text):
            return float(token.text) if "." in token.text else int(token.text)
        return token.text

    def _take(self, kind: str, text: str) -> bool:
        """Go past the next token if it is this one, and say whether it was."""
        found = self._token.kind == kind and self._token.text == text
        if found:
            self._advance()
        return found

    def _require(self, kind: str, text: str, problem: str) -> None:
        if not self._take(kind, text):
            raise self._fail(problem)

    def _advance(self) -> _Token:
        token = self._token
        self._next += 1
        return token

    def _fail(self, problem: str) -> FilterSyntaxError:
        return FilterSyntaxError(self._text, self._token.place, problem)


def _split(text: str) -> list[_Token]:
    """Split a text into tokens; the last one is its end. Raises FilterSyntaxError."""
    tokens = []
    place = 0
    end = len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None:
            start = place + len(text[place:]) - len(text[place:].lstrip())
            quoted = text[start] in "\"'"
            problem = "this quotation mark is not closed" if quoted else "unexpected sign"
            raise FilterSyntaxError(text, start, problem)
        tokens.append(_make_token(match))
        place = match.end()
    return [*tokens, _Token("end", "", end)]


def _make_token(match: re.Match[str]) -> _Token:
    kind = str(match.lastgroup)
    found = match[kind]
    place = match.start(kind)
    if kind == "quoted":
        return _Token(kind, _ESCAPED.sub(r"\1", found[1:-1]), place)
    if kind == "word" and found.lower() in KEYWORDS:
        return _Token("keyword", found.lower(), place)
    return _Token(kind, found, place)
