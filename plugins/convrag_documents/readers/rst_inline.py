"""The inline markup of reStructuredText: roles, references and emphasis become their texts."""

import re

_MARKUP = re.compile(
    r"""
    \\(?P<escaped>[\s\S]?)
    | ``(?P<literal>(?:[^`]|`(?!`))+)``
    | (?<![\w`]):(?P<role>[A-Za-z][\w+.:-]{0,60}):`(?P<role_text>[^`]+)`
    | `(?P<text>[^`]+)`(?::(?P<role_after>[A-Za-z][\w+.:-]{0,60}):|_{0,2}(?!\w))
    | (?<![\w*])\*\*(?=[^\s*])(?P<strong>[^*]+)\*\*(?!\w)
    | (?<![\w*])\*(?=[^\s*])(?P<emphasis>[^*]+)\*(?!\w)
    | \|(?=\S)(?P<name>[^|\n]{1,80})\|_{0,2}
    | (?<=[\w\]])(?<!_)_{1,2}(?=$|[\s.,;:!?)\]}'"/>-])
    """,
    re.VERBOSE,
)
_TARGET = re.compile(r"^(?P<title>[\s\S]*?)\s*<(?P<target>[^<>]+)>$")
_EXPRESSION_ROLES = frozenset(["abbr", "kbd", "math", "menuselection", "guilabel", "samp", "file"])
"""Roles whose texts are not names of something elsewhere, so that "<" is a sign in them."""

_CALLABLE_ROLES = frozenset(["func", "meth"])
_RAISED = str.maketrans("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎")
_MOST_GROWTH = 5
_FREE_CHARACTERS = 100_000
"""Characters of substituted texts: for each character of a document, and for any document."""

_LONGEST_NAME = 60
_ORDINAL_ENDS = frozenset(["st", "nd", "rd", "th", "er", "e", "o", "a"])


class Names:
    """What the references of a document stand for.

    A short reference may stand for a long text, again and again. So the texts together may have
    some times as many characters as the document.

    Args:
        size: characters of the document.

    Attributes:
        labels: label in small letters -> title of the section below it.
        substitutions: name -> text.
    """

    def __init__(self, size: int = 0) -> None:
        self.labels: dict[str, str] = {}
        self.substitutions: dict[str, str] = {}
        self._left = _FREE_CHARACTERS + _MOST_GROWTH * size

    def find_label(self, label: str) -> str:
        """Return the title of the section with a label; the label if there is none."""
        return self._limit(self.labels.get(label.lower(), label), label)

    def find_substitution(self, name: str) -> str:
        """Return the text that a name stands for; "|name|" if there is none."""
        reference = f"|{name}|"
        return self._limit(self.substitutions.get(name, reference), reference)

    def _limit(self, text: str, reference: str) -> str:
        if len(text) > self._left:
            return reference
        self._left -= len(text)
        return text


def read_inline(text: str, names: Names) -> str:
    """Return a text without its markup: ":ref:`the rules <rules>`" is "the rules"."""

    def replace(found: re.Match[str]) -> str:
        return _read_markup(found, names)

    return _MARKUP.sub(replace, text)


def _read_markup(found: re.Match[str], names: Names) -> str:
    """Return the text that a piece of markup shows."""
    kind = found.lastgroup
    if kind is None:  # the sign of a reference, after a word
        return found[0] if _follows_private_name(found) else ""
    if kind == "role_text":
        return _read_role(found["role"], found["role_text"], names)
    if kind == "role_after":
        return _read_role(found["role_after"], found["text"], names)
    if kind == "text":
        return _read_title(found["text"])
    if kind == "name":
        return names.find_substitution(found["name"])
    if kind == "escaped":
        return found["escaped"].strip()
    return str(found[kind])


def _follows_private_name(found: re.Match[str]) -> bool:
    """Whether underscores end a name of a program that begins with some: "__init__"."""
    start = max(0, found.start() - _LONGEST_NAME)
    name = re.split(r"\W", found.string[start : found.start()])[-1]
    return name.startswith("_")


def _read_role(role: str, text: str, names: Names) -> str:
    """Return the text that a role shows; an unknown role shows its text."""
    name = role.rpartition(":")[2].lower()
    if name in ("sup", "superscript"):
        return _raise(text)
    if name in ("sub", "subscript"):
        return _lower(text)
    if name in _EXPRESSION_ROLES:
        return text
    if name in ("pep", "rfc"):
        return _read_title(text) if "<" in text else f"{name.upper()} {text}"
    target = _TARGET.match(text)
    if target and target["title"]:
        return target["title"]
    if name in ("ref", "numref"):
        return names.find_label(text)
    return _shorten_name(text, is_callable=name in _CALLABLE_ROLES)


def _read_title(text: str) -> str:
    """Return the text of a link; its address where it has no other text."""
    target = _TARGET.match(text)
    if target is None:
        return text
    return target["title"] or target["target"]


def _shorten_name(text: str, *, is_callable: bool) -> str:
    """Return the name of an object as Sphinx shows it: "~os.path.join" is "join"."""
    if text.startswith("!"):
        return text[1:]
    name = text[1:].rpartition(".")[2] if text.startswith("~") else text
    return f"{name}()" if is_callable and not name.endswith(")") else name


def _raise(text: str) -> str:
    if text.lower() in _ORDINAL_ENDS:
        return text
    raised = text.translate(_RAISED)
    return raised if not _has_plain_sign(text, raised) else f"^{text}"


def _lower(text: str) -> str:
    lowered = text.translate(_LOWERED)
    return lowered if not _has_plain_sign(text, lowered) else f"_{text}"


def _has_plain_sign(text: str, translated: str) -> bool:
    """Whether a sign has no small form."""
    return any(before == after for before, after in zip(text, translated, strict=True))
