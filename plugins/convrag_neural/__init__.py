"""Models that run on this machine; they need the extra `neural`, late interaction `colbert`.

* `embedder`: sentence embeddings.
* `cross_encoder`: a ranker that reads query and text together.
* `monot5`: a ranker by the probability that T5 calls a text relevant.
* `duot5`: a ranker by comparisons of pairs.
* `t5_ranker`: the base of both.
* `sparse`: a retriever with learned sparse vectors.
* `sparse_encoding`: texts as weighted tokens, for passages and for queries.
* `colbert_ranker`: a ranker by late interaction.
* `colbert_retriever`: a retriever by late interaction.
* `late_interaction`: the base of both: a vector for each token.
* `token_index`: these vectors on disk, and the search.
* `token_index_builder`: builds of this index.
* `local_model`: the base of all: a model that is loaded once.
* `model_problems`: finds models, and says why one cannot be loaded.
* `batches`: texts in batches of one length.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register(
        "embedder",
        "sentence_transformers",
        "convrag_neural.embedder:SentenceTransformersEmbedder",
        "Embed texts with a sentence-transformers model, from a folder or from the "
        "Hugging Face hub.",
    )
    register(
        "ranker",
        "colbert",
        "convrag_neural.colbert_ranker:ColbertRanker",
        "Score each text by late interaction (ColBERT): each query token counts with its best "
        "match.",
    )
    register(
        "ranker",
        "cross_encoder",
        "convrag_neural.cross_encoder:CrossEncoderRanker",
        "Score each text with a cross-encoder, which reads it together with the query: "
        "precise, fast.",
    )
    register(
        "ranker",
        "duot5",
        "convrag_neural.duot5:DuoT5Ranker",
        "Compare all pairs of texts with duoT5, a T5 that says which is more relevant: "
        "precise, slow.",
    )
    register(
        "ranker",
        "monot5",
        "convrag_neural.monot5:MonoT5Ranker",
        "Score each text with monoT5, a T5 that says whether it is relevant: strong, slow"
        " on a CPU.",
    )
    register(
        "retriever",
        "colbert",
        "convrag_neural.colbert_retriever:ColbertRetriever",
        "Search by late interaction (ColBERT): every token of a passage has a vector.",
    )
    register(
        "retriever",
        "sparse",
        "convrag_neural.sparse:SparseRetriever",
        "Search with a learned sparse model (SPLADE and its like), which weights related "
        "tokens, too.",
    )
    register(
        "retriever",
        "disco",
        "convrag_neural.sparse:SparseRetriever",
        "Search with a learned sparse model (SPLADE and its like), which weights related "
        "tokens, too.",
        model="naver/splade-cocondenser-ensembledistil",
        query_model="slupart/splade-disco-human-mistral",
        query="conversation",
    )
