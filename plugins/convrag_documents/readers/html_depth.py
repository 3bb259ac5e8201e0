"""The depth of a page: its parser takes a time that grows with the square of it."""

import re

from convrag_documents.unreadable import Unreadable

_DEEPEST = 5_000
"""Elements within each other. Browsers stop at 512."""

_TAG = re.compile(rb"<(/?)([A-Za-z][\w-]{0,20})")
_FLAT = frozenset(
    b"""area base br col embed hr img input link meta param source track wbr
    body colgroup dd dt head html li optgroup option p rp rt tbody td tfoot th thead tr""".split()
)
"""Elements without an end, and those whose end may be left out."""


def check_depth(page: bytes) -> None:
    """Refuse a page whose elements are nested too deeply.

    Raises:
        Unreadable: there are many more beginnings of elements than ends.
    """
    if page.count(b"<") <= _DEEPEST:
        return
    depth = 0
    for tag in _TAG.finditer(page):
        if tag[2].lower() in _FLAT:
            continue
        depth = max(0, depth - 1) if tag[1] else depth + 1
        if depth > _DEEPEST:
            raise Unreadable(f"its elements are nested more than {_DEEPEST:,} deep")
