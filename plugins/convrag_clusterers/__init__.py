"""Clusterers of short texts, most of them with algorithms of scikit-learn.

* `embeddings`: `clusterer=kmeans` and `agglomerative`; what all clusterers of embeddings share.
* `density`: `clusterer=dbscan` and `hdbscan`.
* `similarity`: `clusterer=similarity`.
* `topics`: `clusterer=lsa` and `lda`, by the words of the texts.
* `distinct`: labels of texts from the labels of the different ones; how few are clustered.
"""

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
        "dbscan",
        "convrag_clusterers.density:DbscanClusterer",
        "Cluster embeddings with DBSCAN: texts near each other; a text by itself is an outlier.",
    )
    register(
        "clusterer",
        "hdbscan",
        "convrag_clusterers.density:HdbscanClusterer",
        "Cluster embeddings with HDBSCAN: dense regions of any density, without a distance to set.",
    )
    register(
        "clusterer",
        "similarity",
        "convrag_clusterers.similarity:SimilarityClusterer",
        "Cluster texts whose similarity reaches a threshold, directly or through other texts.",
    )
    register(
        "clusterer",
        "lsa",
        "convrag_clusterers.topics:LsaClusterer",
        "Cluster texts by latent semantic analysis: TF-IDF, truncated SVD, strongest component.",
    )
    register(
        "clusterer",
        "lda",
        "convrag_clusterers.topics:LdaClusterer",
        "Cluster texts by latent Dirichlet allocation: the likeliest topic of the words of each.",
    )
