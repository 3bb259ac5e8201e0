"""The text of manual pages: escapes of troff, and the macros of mdoc within a line."""

import re
from collections.abc import Sequence

_ESCAPE = re.compile(
    r"""\\(?:
    (?P<skipped>["#].*)
    | [fFmMgknY*](?:\[(?P<string>[^\]\n]{0,60})\]|\((?P<two>..)|(?P<one>.))
    | s[-+]?(?:\(\d\d|\[[^\]\n]{0,60}\]|'[^'\n]{0,60}'|\d)?
    | [hvwlLDbBoNSHRXZA]'[^'\n]{0,60}'
    | \[(?P<long>[^\]\n]{0,60})\]
    | \((?P<short>..)
    | C'(?P<named>[^'\n]{0,60})'
    | (?P<sign>.)
    | $)""",
    re.VERBOSE,
)
_SIGNS = {
    "-": "-",
    "e": "\\",
    "\\": "\\",
    "&": "",
    "|": "",
    "^": "",
    "/": "",
    ",": "",
    "%": "",
    ":": "",
    "c": "",
    "d": "",
    "u": "",
    "p": "",
    "z": "",
    ")": "",
    "{": "",
    "}": "",
    "~": " ",
    "0": " ",
    "t": "\t",
    "'": "´",
    "`": "`",
}
_NAMED = {
    "aq": "'",
    "dq": '"',
    "lq": "“",
    "rq": "”",
    "oq": "‘",
    "cq": "’",
    "em": "—",
    "en": "–",
    "hy": "-",
    "bu": "•",
    "co": "©",
    "rg": "®",
    "tm": "™",
    "de": "°",
    "mu": "×",
    "+-": "±",
    "->": "→",
    "<-": "←",
    "<=": "≤",
    ">=": "≥",
    "!=": "≠",
    "ti": "~",
    "ha": "^",
    "ga": "`",
    "aa": "´",
    "rs": "\\",
    "sl": "/",
    "ul": "_",
    "at": "@",
    "sh": "#",
    "Do": "$",
    "ba": "|",
    "bv": "|",
    "lB": "[",
    "rB": "]",
    "lC": "{",
    "rC": "}",
    "la": "⟨",
    "ra": "⟩",
    "Fo": "«",
    "Fc": "»",
    "ss": "ß",
    "ae": "æ",
    "AE": "Æ",
    "/o": "ø",
    "/O": "Ø",
    "Eu": "€",
    "Po": "£",
    "sc": "§",
    "12": "½",
    "14": "¼",
    "34": "¾",
    "mc": "µ",
    "*m": "μ",
    "if": "∞",
    "fm": "′",
    "sd": "″",
    "dg": "†",
    "dd": "‡",
}
_ACCENTS = {
    ":": "\u0308",
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    "~": "\u0303",
    ",": "\u0327",
}
_CODE_POINT = re.compile(r"u([0-9A-Fa-f]{4,6})(?:_.*)?$|(?:char)(\d{1,7})$")
_LARGEST_CODE_POINT = 0x10FFFF
_STRINGS = {"R": "®", "Tm": "™", "lq": "“", "rq": "”", "Aq": "'", '(L"': "“", '(R"': "”"}

_BRACKETS = {
    "Op": ("[", "]"),
    "Oo": ("[", ""),
    "Oc": ("", "]"),
    "Bq": ("[", "]"),
    "Brq": ("{", "}"),
    "Pq": ("(", ")"),
    "Po": ("(", ""),
    "Pc": ("", ")"),
    "Dq": ("“", "”"),
    "Do": ("“", ""),
    "Dc": ("", "”"),
    "Sq": ("‘", "’"),
    "Ql": ("‘", "’"),
    "Qq": ('"', '"'),
    "Aq": ("<", ">"),
    "Ao": ("<", ""),
    "Ac": ("", ">"),
}
_PLAIN_MACROS = """Ar Cm Ev Fa Fn Ft Ic In Li Pa Sx Sy Em Tn Vt Va Dv Er Ad An Cd Mt Lk St At Bx Ox
    Nx Fx No Xo Xc Ta Fo Fc Qo Qc So Sc Eo Ec Ms Rv Ex Lb Tg Pf"""
_PLAIN = frozenset(_PLAIN_MACROS.split())
"""Macros that only choose a font."""

_CLOSING = frozenset([".", ",", ":", ";", ")", "]", "?", "!"])
_OPENING = frozenset(["(", "["])


def read_escapes(text: str) -> str:
    r"""Return a text without the escapes of troff: "\fB\-v\fP" is "-v"."""
    return _ESCAPE.sub(_read_escape, text) if "\\" in text else text


def _read_escape(found: re.Match[str]) -> str:
    kind = found.lastgroup
    if kind in ("long", "short", "named"):
        return _read_name(found[kind])
    if kind in ("string", "two", "one"):
        is_string = found[0].startswith("\\*")
        return _STRINGS.get(found[kind], "") if is_string else ""
    if kind == "sign":
        return _SIGNS.get(found["sign"], found["sign"])
    return ""


def _read_name(name: str) -> str:
    """Return the sign with a name, such as "em" or "u2014"."""
    if name in _NAMED:
        return _NAMED[name]
    point = _CODE_POINT.match(name)
    if point:
        value = int(point[1], 16) if point[1] else int(point[2])
        return chr(value) if value <= _LARGEST_CODE_POINT else ""
    if len(name) == 2 and name[0] in _ACCENTS and name[1].isalpha():
        return name[1] + _ACCENTS[name[0]]
    return ""


def read_words(words: Sequence[str], name: str) -> str:
    """Return the text of a line of mdoc: "Op Fl v Ar file" is "[-v file]".

    Args:
        words: macros, and their arguments.
        name: of the program, which "Nm" without an argument stands for.
    """
    line = _Line(name)
    for number, word in enumerate(words):
        following = words[number + 1] if number + 1 < len(words) else ""
        line.read(word, following)
    return line.finish()


def _is_macro(word: str) -> bool:
    return word in _PLAIN or word in _BRACKETS or word in ("Fl", "Nm", "Ns", "Xr", "")


class _Line:
    """A line of mdoc, written word by word.

    Args:
        name: of the program.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._text = ""
        self._closing: list[str] = []
        """The brackets that the end of the line closes."""
        self._joins = True
        """Whether the next word follows without a space."""
        self._trailing = ""
        """Punctuation, which stands after the brackets at the end of the line."""
        self._are_flags = False
        self._is_reference = False
        """Whether the words name another page and its section: "Xr ksh 1"."""

    def read(self, word: str, following: str) -> None:
        """Write what a word shows, before the word that follows it."""
        if word == "Ns":
            self._joins = True
        elif word in _BRACKETS:
            self._read_bracket(*_BRACKETS[word])
        elif word == "Fl":
            self._are_flags = True
            if _is_macro(following):
                self._write("-")
                self._joins = following == "Fl"
        elif word == "Nm":
            self._are_flags = False
            if _is_macro(following) or following in _CLOSING:
                self._write(self._name)
        elif word == "Xr":
            self._are_flags = False
            self._is_reference = True
        elif self._is_reference and word[:1].isdigit():
            self._text += f"({word})"
            self._is_reference = False
        elif word in _PLAIN:
            self._are_flags = False
            self._joins = self._joins or word == "Pf"
        elif word in _CLOSING:
            self._trailing += word
        else:
            sign = "-" if self._are_flags and word != "|" else ""
            self._write(f"{sign}{read_escapes(word)}")
            self._joins = word in _OPENING

    def finish(self) -> str:
        """Close the brackets, and return the line."""
        return self._text + "".join(reversed(self._closing)) + self._trailing

    def _read_bracket(self, opening: str, closing: str) -> None:
        if not opening:
            self._text += closing
            return
        self._write(opening)
        self._joins = True
        if closing:
            self._closing.append(closing)

    def _write(self, text: str) -> None:
        self._text += self._trailing
        self._trailing = ""
        space = "" if self._joins or not self._text else " "
        self._text += f"{space}{text}"
        self._joins = False
