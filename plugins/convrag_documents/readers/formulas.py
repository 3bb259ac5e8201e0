"""Formulas as a line of text: "1/12", "x₁² + 10⁶", of MathML and of Word's own format (OMML)."""

from collections.abc import Callable, Sequence
from xml.etree.ElementTree import Element

from convrag_documents.readers.raised_text import lower_text, raise_text

_DEEPEST = 50
"""Levels of nesting that are read; what is deeper is read as its letters."""

_LEFT_OUT = frozenset(["annotation", "annotation-xml", "mphantom", "instrText", "delText"])
_SPACES = {"mspace": " ", "br": " ", "tab": " "}


def format_formula(formula: Element) -> str:
    """Write a formula in one line.

    Args:
        formula: an element of MathML or OMML, without namespaces in its names.
    """
    return " ".join(_format(formula, 0).split())


def _format(element: Element, depth: int) -> str:
    if element.tag in _LEFT_OUT or element.tag.endswith("Pr"):
        return ""
    if depth > _DEEPEST:
        return "".join(element.itertext())
    if element.tag in _SPACES:
        return _SPACES[element.tag]
    parts = [_format(child, depth + 1) for child in element]
    if element.tag in _BY_PLACE and len(parts) in (2, 3):
        return _BY_PLACE[element.tag](parts)
    if element.tag in _BY_NAME:
        names = [child.tag for child in element]
        return _BY_NAME[element.tag](element, dict(zip(names, parts, strict=True)))
    if element.tag == "semantics":
        return parts[0] if parts else ""
    if element.tag in _BETWEEN:
        return _BETWEEN[element.tag].join(part for part in parts if part)
    if element.tag == "msqrt":
        return f"√{_group(''.join(parts))}"
    if element.tag in ("d", "mfenced"):
        return _fence(element, [part for part in parts if part])
    text = (element.text or "").strip(" \t\n") if not parts else ""
    return "".join([text, *parts])


_BETWEEN = {"mtable": "; ", "mtr": ", ", "m": "; ", "mr": ", ", "eqArr": "; "}
"""Tables of formulas, and the text between their parts."""


def _raise(base: str, exponent: str) -> str:
    return base + raise_text(exponent, base or " ")


def _lower(base: str, index: str) -> str:
    return base + lower_text(index, base or " ")


def _group(text: str) -> str:
    """Put parentheses around what is not one name or number."""
    word = text.strip()
    is_grouped = word.startswith("(") and word.find(")") == len(word) - 1
    return word if word.isalnum() or is_grouped else f"({word})"


def _divide(above: str, below: str) -> str:
    return f"{_group(above)}/{_group(below)}"


_BY_PLACE: dict[str, Callable[[Sequence[str]], str]] = {
    "mfrac": lambda parts: _divide(parts[0], parts[1]),
    "msup": lambda parts: _raise(parts[0], parts[1]),
    "msub": lambda parts: _lower(parts[0], parts[1]),
    "msubsup": lambda parts: _raise(_lower(parts[0], parts[1]), parts[-1]),
    "munder": lambda parts: _lower(parts[0], parts[1]),
    "munderover": lambda parts: _raise(_lower(parts[0], parts[1]), parts[-1]),
    "mroot": lambda parts: f"{raise_text(parts[1], ' ')}√{_group(parts[0])}",
}
"""Elements of MathML whose children mean something by their place."""


def _format_operator(element: Element, parts: dict[str, str]) -> str:
    """Write a sum or an integral of Word; without a sign, it is an integral."""
    sign = _read_property(element, "naryPr/chr", "∫")
    bounds = _raise(_lower(sign, parts.get("sub", "")), parts.get("sup", ""))
    return f"{bounds} {parts.get('e', '')}"


_BY_NAME: dict[str, Callable[[Element, dict[str, str]], str]] = {
    "f": lambda _, parts: _divide(parts.get("num", ""), parts.get("den", "")),
    "sSup": lambda _, parts: _raise(parts.get("e", ""), parts.get("sup", "")),
    "sSub": lambda _, parts: _lower(parts.get("e", ""), parts.get("sub", "")),
    "sSubSup": lambda _, parts: _raise(
        _lower(parts.get("e", ""), parts.get("sub", "")), parts.get("sup", "")
    ),
    "limLow": lambda _, parts: _lower(parts.get("e", ""), parts.get("lim", "")),
    "limUpp": lambda _, parts: _raise(parts.get("e", ""), parts.get("lim", "")),
    "rad": lambda _, parts: f"{raise_text(parts.get('deg', ''), ' ')}√{_group(parts.get('e', ''))}",
    "func": lambda _, parts: f"{parts.get('fName', '')} {parts.get('e', '')}",
    "nary": _format_operator,
}
"""Elements of OMML whose children mean something by their names."""


def _fence(element: Element, parts: Sequence[str]) -> str:
    """Put the signs around parts that a formula has there: parentheses, if none are named."""
    start = _read_property(element, "dPr/begChr", element.get("open", "("))
    end = _read_property(element, "dPr/endChr", element.get("close", ")"))
    separator = _read_property(element, "dPr/sepChr", "," if element.tag == "mfenced" else "|")
    return f"{start}{separator.join(parts)}{end}"


def _read_property(element: Element, path: str, default: str) -> str:
    found = element.find(path)
    return default if found is None else found.get("val", "")
