"""Search without a server: retrievers over the data set's own corpus, and rankers.

* `bm25`: `retriever=bm25`.
* `bm25_index`: the index: BM25's formula, posting lists, search and build.
* `bm25_settings`: how words are found and weighed.
* `spelling`: the word that a misspelt or shortened one stands for.
* `dense`: `retriever=dense`.
* `vectors`, `vector_builder`: vectors of passages: the search, and the build.
* `vector_graph`: approximate search of vectors.
* `filtered_vectors`: the search for vectors among the passages that a filter leaves.
* `hybrid`: `retriever=hybrid`: lexical and dense search, fused.
* `carry`: `retriever=carry`: passages that earlier answers cite join those of another retriever.
* `sparse_files`: `retriever=sparse_files`: learned sparse vectors that were made elsewhere.
* `rankers`: `ranker=bm25` and `ranker=embedding`.
* `cascade`: `ranker=cascade`: several rankers in a row.
* `corpora`: the passages that a retriever searches, and an index for each domain.
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
        "carry",
        "convrag_retrieval.carry:CarryRetriever",
        "Carry passages that earlier answers cite along: the reranker decides whether they stay.",
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
    register(
        "ranker",
        "cascade",
        "convrag_retrieval.cascade:CascadeRanker",
        "Rank in two or three steps: a cheap ranker for many texts, a dear one for the best of "
        "them.",
    )
