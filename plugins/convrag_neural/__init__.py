"""Models that run on this machine; they need the extra `neural`."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register(
        "embedder", "sentence_transformers", "convrag_neural.embedder:SentenceTransformersEmbedder"
    )
    register("ranker", "cross_encoder", "convrag_neural.cross_encoder:CrossEncoderRanker")
    register("ranker", "duot5", "convrag_neural.duot5:DuoT5Ranker")
    register("ranker", "monot5", "convrag_neural.monot5:MonoT5Ranker")
    register("retriever", "sparse", "convrag_neural.sparse:SparseRetriever")
