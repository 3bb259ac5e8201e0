"""BERTopic's clusterer, with which GINGER's best runs were made (extra `bertopic`)."""

import os

from convrag import Register, hookimpl

# litellm reads these at import, and bertopic imports it where it is installed: fetch no price list,
# read no .env file.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")


@hookimpl
def convrag_register(register: Register) -> None:
    """Register `clusterer=bertopic`."""
    register(
        "clusterer",
        "bertopic",
        "convrag_bertopic.clusterer:BertopicClusterer",
        "Cluster texts with BERTopic (extra `bertopic`): embeddings by UMAP and HDBSCAN, "
        "and words.",
    )
