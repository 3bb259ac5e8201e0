"""The bounds of a page: its parser takes a time that grows with the square of the depth of its
elements, and of the number of attributes of one.
"""

import re

from convrag.sdk.text.unreadable import Unreadable

_DEEPEST = 5_000
"""Elements within each other. Browsers stop at 512."""

_MOST_ATTRIBUTES = 20_000
_LONG_TAG = re.compile(rb"<[A-Za-z][^<>]{%d,}" % (2 * _MOST_ATTRIBUTES))
_ATTRIBUTE = re.compile(rb"\s[^\s=>]+")
"""An attribute, or a word in the value of one."""

_TAG = re.compile(rb"<(/?)([A-Za-z][\w-]{0,20})")
_FLAT = frozenset(
    b"""area base br col embed hr img input link meta param source track wbr
    body colgroup dd dt head html li optgroup option p rp rt tbody td tfoot th thead tr""".split()
)
"""Elements without an end, and those whose end may be left out."""


def check_bounds(page: bytes) -> None:
    """Refuse a page that its parser would take very long for.

    Raises:
        Unreadable: there are many more beginnings of elements than ends, or an element has
            thousands of attributes.
    """
    for tag in _LONG_TAG.finditer(page):
        attributes = sum(1 for _ in _ATTRIBUTE.finditer(tag[0]))
        if attributes > _MOST_ATTRIBUTES:
            raise Unreadable(f"an element has more than {_MOST_ATTRIBUTES:,} attributes")
    if page.count(b"<") <= _DEEPEST:
        return
    depth = 0
    for tag in _TAG.finditer(page):
        if tag[2].lower() in _FLAT:
            continue
        depth = max(0, depth - 1) if tag[1] else depth + 1
        if depth > _DEEPEST:
            raise Unreadable(f"its elements are nested more than {_DEEPEST:,} deep")
