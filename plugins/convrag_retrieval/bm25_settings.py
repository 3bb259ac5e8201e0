"""What can be set about BM25."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Method = Literal["lucene", "robertson", "atire", "bm25l", "bm25+"]


@dataclass(frozen=True)
class BM25Settings:
    """All that decides what an index holds, beside the passages."""

    method: Method
    k1: float
    b: float
    delta: float
    stopwords: Literal["english", "none"]
    stemmer: Literal["english", "none"]
