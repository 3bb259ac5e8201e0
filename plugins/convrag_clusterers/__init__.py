"""Ways to group short texts by what they are about, from scikit-learn."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_clusterers.density import DbscanClusterer, HdbscanClusterer
from convrag_clusterers.partitions import AgglomerativeClusterer, KMeansClusterer
from convrag_clusterers.similarity import SimilarityClusterer
from convrag_clusterers.topics import LdaClusterer, LsaClusterer

__all__ = [
    "AgglomerativeClusterer",
    "DbscanClusterer",
    "HdbscanClusterer",
    "KMeansClusterer",
    "LdaClusterer",
    "LsaClusterer",
    "SimilarityClusterer",
]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("clusterer", "kmeans", KMeansClusterer)
    register("clusterer", "agglomerative", AgglomerativeClusterer)
    register("clusterer", "dbscan", DbscanClusterer)
    register("clusterer", "hdbscan", HdbscanClusterer)
    register("clusterer", "similarity", SimilarityClusterer)
    register("clusterer", "lsa", LsaClusterer)
    register("clusterer", "lda", LdaClusterer)
