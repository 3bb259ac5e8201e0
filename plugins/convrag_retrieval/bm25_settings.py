"""Settings of `retriever=bm25`: how words are found and weighed."""

from dataclasses import dataclass

from convrag.sdk.text.analysis import Analysis


@dataclass(frozen=True)
class BM25Settings:
    """The parameters that decide what an index holds; see BM25Retriever. With the corpus they are its key."""

    k1: float
    b: float
    analysis: Analysis
