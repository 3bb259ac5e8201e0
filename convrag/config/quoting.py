"""Values that Hydra's grammar cannot read as they are typed, in quotation marks: `dataset.path=~/Übungen`."""

from __future__ import annotations

import re

_BASELINE, _METRIC = "sweep.baseline", "sweep.metric"

_STRUCTURED = re.compile(r"['\"\\{}()$\u2018\u2019\u201c\u201d\u00ab\u00bb]")
"""What values have that are quoted already, are no texts, or have the wrong quotation marks, of which Hydra is told."""

_ITEM = re.compile(r"[^\s,\[\]](?:[^,\[\]]*[^\s,\[\]])?")
"""An item of a list or a grid, or a value that is neither, without the spaces around it."""


def quote_value(override: str) -> str:
    """Put what of an override's value Hydra could not read into quotation marks; a second time changes nothing.

        dataset.path=~/Übungen             -> dataset.path='~/Übungen'
        dataset.path=[~/wiki, notes.txt]   -> dataset.path=['~/wiki', notes.txt]
        sweep.baseline=rewriter=none       -> sweep.baseline='rewriter=none'
        sweep.metric=nDCG@5,ROUGE-L        -> sweep.metric='nDCG@5,ROUGE-L'

    The last one would be a factor of the grid otherwise.
    """
    key, equals, value = override.partition("=")
    sign = {_BASELINE: "=", _METRIC: ","}.get(key)
    if sign and sign in value and value[0] not in "'\"[":
        return f"{key}='{value}'"
    return override if _STRUCTURED.search(value) else f"{key}{equals}{_ITEM.sub(_quote_item, value)}"


def _quote_item(found: re.Match[str]) -> str:
    """Quote an item of a value if it has a sign that Hydra cannot read without: a letter that is not of ASCII, or ~."""
    return f"'{found[0]}'" if "~" in found[0] or not found[0].isascii() else found[0]
