"""The names that a reStructuredText file gives to its sections and to pieces of text."""

import re
from collections.abc import Sequence

from convrag_documents.readers.rst_inline import Names, read_inline
from convrag_documents.readers.rst_sections import find_title

_LABEL = re.compile(r"\.\. _`?([^:`]+)`?:$")
_SUBSTITUTION = re.compile(r"\.\.\s+\|([^|\n]{1,80})\|\s+(\w+)::\s*(.*)")
_CODE_POINT = re.compile(r"(?:0x|\\?[xu]|U\+|&\#x)([0-9A-Fa-f]{2,6});?$")
_ALTERNATIVE = re.compile(r"\s+:alt:\s+(.*)")
_LARGEST_CODE_POINT = 0x10FFFF


def collect_names(lines: Sequence[str]) -> Names:
    """Collect the labels of sections, and the texts of substitutions."""
    names = Names(sum(map(len, lines)))
    waiting: list[str] = []
    for number, line in enumerate(lines):
        if not line:
            continue
        label = _LABEL.match(line)
        substitution = _SUBSTITUTION.match(line)
        if label:
            waiting.append(label[1].lower())
            continue
        if substitution:
            following = lines[number + 1] if number + 1 < len(lines) else ""
            names.substitutions[substitution[1]] = _read_substitution(substitution, following)
        title = find_title(lines, number) if waiting else None
        if title:
            text = read_inline(title.text, Names())
            names.labels.update(dict.fromkeys(waiting, text))
        waiting = []
    return names


def _read_substitution(found: re.Match[str], following: str) -> str:
    """Return the text that a substitution stands for."""
    _, kind, data = found.groups()
    if kind == "image":
        alternative = _ALTERNATIVE.match(following)
        return alternative[1] if alternative else ""
    if kind == "unicode":
        return "".join(_read_sign(word) for word in data.partition(" .. ")[0].split())
    if kind == "replace":
        return read_inline(data, Names())
    return str(found[1])


def _read_sign(word: str) -> str:
    """Return the letter of a code point such as "U+2014"; other words are texts."""
    found = _CODE_POINT.match(word)
    if found is None:
        return word
    point = int(found[1], 16)
    return chr(point) if point <= _LARGEST_CODE_POINT else word
