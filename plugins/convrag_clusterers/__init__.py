"""Clusterers of short texts, most of them with algorithms of scikit-learn."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_clusterers.agglomerative import AgglomerativeClusterer
from convrag_clusterers.dbscan import DbscanClusterer
from convrag_clusterers.hdbscan import HdbscanClusterer
from convrag_clusterers.kmeans import KMeansClusterer
from convrag_clusterers.lda import LdaClusterer
from convrag_clusterers.lsa import LsaClusterer
from convrag_clusterers.similarity import SimilarityClusterer

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
    """Register the clusterers."""
    register("clusterer", "kmeans", KMeansClusterer)
    register("clusterer", "agglomerative", AgglomerativeClusterer)
    register("clusterer", "dbscan", DbscanClusterer)
    register("clusterer", "hdbscan", HdbscanClusterer)
    register("clusterer", "similarity", SimilarityClusterer)
    register("clusterer", "lsa", LsaClusterer)
    register("clusterer", "lda", LdaClusterer)
