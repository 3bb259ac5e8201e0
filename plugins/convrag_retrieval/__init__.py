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
    register(
        "retriever",
        "bm25",
        "convrag_retrieval.bm25:BM25Retriever",
        "Search with BM25: fast, exact, without a model; the baseline of every retrieval paper.",
    )
    register(
        "retriever",
        "bm25_plain",
        "convrag_retrieval.bm25:BM25Retriever",
        "Search with BM25: fast, exact, without a model; the baseline of every retrieval paper.",
        words="plain",
    )
    register(
        "retriever",
        "dense",
        "convrag_retrieval.dense:DenseRetriever",
        "Search by meaning: the passages whose vectors are closest to the query's, with "
        "any embedder.",
    )
    register(
        "retriever",
        "hybrid",
        "convrag_retrieval.hybrid:HybridRetriever",
        "Search by words and by meaning at once, and fuse the two rankings.",
    )
    register(
        "retriever",
        "sparse_files",
        "convrag_retrieval.sparse_files:SparseFilesRetriever",
        "Search with weighted tokens from files that a learned sparse model (SPLADE) has made.",
    )
    register(
        "ranker",
        "bm25",
        "convrag_retrieval.rankers:BM25Ranker",
        "Score each text by the words that it shares with the query (rank-bm25), without a model.",
    )
    register(
        "ranker",
        "embedding",
        "convrag_retrieval.rankers:EmbeddingRanker",
        "Score each text by its similarity to the query, with any embedder; the score is "
        "the cosine.",
    )
