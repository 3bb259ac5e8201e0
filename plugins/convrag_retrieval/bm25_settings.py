"""Settings of `retriever=bm25`: how words are found and weighed."""

from dataclasses import dataclass

from convrag.sdk.text.analysis import Analysis


@dataclass(frozen=True)
class BM25Settings:
    """The parameters of BM25Retriever that, with the corpus, are the key of an index."""

    k1: float
    b: float
    analysis: Analysis
