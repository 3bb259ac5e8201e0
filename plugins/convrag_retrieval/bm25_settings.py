"""What decides how `retriever=bm25` finds and weighs words."""

from dataclasses import dataclass

from convrag.sdk.text.analysis import Analysis


@dataclass(frozen=True)
class BM25Settings:
    """The parameters that decide what an index holds; see BM25Retriever. With the corpus they are its key."""

    k1: float
    b: float
    analysis: Analysis
