"""Search without a server: retrievers over the data set's own corpus, and rankers.

* corpora: what the retrievers share: the passages of a domain by position, and an index for each
  domain
* bm25 (bm25_settings, bm25_index with the formulas and the search)
* dense (vectors with the search, vector_builder); hybrid
* sparse_files
* rankers
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the retrievers and the rankers."""
    register("retriever", "bm25", "convrag_retrieval.bm25:BM25Retriever")
    register("retriever", "bm25_plain", "convrag_retrieval.bm25:BM25Retriever", words="plain")
    register("retriever", "dense", "convrag_retrieval.dense:DenseRetriever")
    register("retriever", "hybrid", "convrag_retrieval.hybrid:HybridRetriever")
    register("retriever", "sparse_files", "convrag_retrieval.sparse_files:SparseFilesRetriever")
    register("ranker", "bm25", "convrag_retrieval.rankers:BM25Ranker")
    register("ranker", "embedding", "convrag_retrieval.rankers:EmbeddingRanker")
