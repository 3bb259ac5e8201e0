"""Clusterers of short texts, most of them with algorithms of scikit-learn."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the clusterers."""
    register(
        "clusterer",
        "kmeans",
        "convrag_clusterers.embeddings:KMeansClusterer",
        "Cluster embeddings with k-means; more texts give more clusters.",
    )
    register(
        "clusterer",
        "agglomerative",
        "convrag_clusterers.embeddings:AgglomerativeClusterer",
        "Cluster embeddings bottom-up (average cosine linkage), to a number or up to a similarity.",
    )
    register(
        "clusterer",
        "lsa",
        "convrag_clusterers.topics:LsaClusterer",
        "Cluster texts by latent semantic analysis: TF-IDF, truncated SVD, strongest component.",
    )
