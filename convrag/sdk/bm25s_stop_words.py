"""The longer of bm25s' two lists of English stop words: words of grammar alone, none of chats."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

from convrag.api.errors import ConvragError

__all__ = ["LIBRARIES", "bm25s_stop_words"]

LIBRARIES = ("bm25s",)
"""Their versions are part of the fingerprints of stages that use this module."""


@cache
def bm25s_stop_words() -> frozenset[str]:
    """The words, in lower case. Their file is read without the package, which would import numba for a list of words.

    Raises:
        ConvragError: bm25s is not installed.
    """
    package = find_spec("bm25s")
    if package is None or package.origin is None:
        raise ConvragError("English stop words are those of bm25s, which is not installed: pip install bm25s")
    return frozenset(run_path(str(Path(package.origin).with_name("stopwords.py")))["STOPWORDS_EN_PLUS"])
