"""Marks of prompts in passages: labels such as [3], and tags such as </passage> and <IN>.

A passage whose text has a line "[3] The fee is ..." would give a model words of another source, and
one with `</passage>` could end before its end. In messages, the brackets of such marks are replaced
by other characters, one for one, so that offsets stay.
"""

import re
from collections.abc import Mapping
from typing import Any

_LINE_START = r"(?:^|(?<=[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]))"
_BEFORE = r"[ \t\xa0\u3000>*_#\-\u200b-\u200f\u2060\ufeff]*"
"""Marks of a list, a quotation or an emphasis, and what shows nothing."""

_LABEL = re.compile(
    rf"(?P<before>{_LINE_START}{_BEFORE})\[(?P<label>\s*\d+\s*|\s*Doc_[^\[\]\n]*)\]", re.MULTILINE
)
_TAG = re.compile(r"<(?=\s*/?\s*(?:passage|reference|answer|IN)\b)", re.IGNORECASE)

_PASSAGES = frozenset({"evidence", "passages", "passage", "title", "titles", "nuggets"})
"""The inputs of prompts that hold texts of passages."""

_ANSWERS = frozenset({"answer", "reference"})
"""The inputs that hold answers, whose labels are their citations."""


def protect_inputs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of a prompt as its messages show them."""
    shown = dict(inputs)
    for name, value in inputs.items():
        if name in _PASSAGES:
            shown[name] = _protect(value)
        elif name in _ANSWERS and isinstance(value, str):
            shown[name] = _protect_tags(value)
    return shown


def protect_passage(text: str) -> str:
    r"""Return a passage's text without marks of prompts, of the same length.

    Example:
        >>> protect_passage("Tea is hot.\n\n[3] Milk is <IN>cold</IN>.")
        'Tea is hot.\\n\\n(3) Milk is ‹IN>cold‹/IN>.'
    """
    return _protect_tags(_LABEL.sub(r"\g<before>(\g<label>)", text))


def _protect_tags(text: str) -> str:
    return _TAG.sub("‹", text)


def _protect(value: Any) -> Any:
    """Protect the texts of a value; a hint, and the label of a passage, are convrag's own."""
    if isinstance(value, str):
        return protect_passage(value)
    if isinstance(value, Mapping):
        if value.get("hint"):
            return value
        return {key: each if key == "label" else _protect(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_protect(each) for each in value]
    return value
