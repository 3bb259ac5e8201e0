"""Clusterers of short texts, most of them with algorithms of scikit-learn."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the clusterers."""
    register("clusterer", "kmeans", "convrag_clusterers.embeddings:KMeansClusterer")
    register("clusterer", "agglomerative", "convrag_clusterers.embeddings:AgglomerativeClusterer")
    register("clusterer", "lsa", "convrag_clusterers.topics:LsaClusterer")
