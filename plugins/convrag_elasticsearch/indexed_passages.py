"""Looks passages up in an index, so that the corpus need not be read."""

from __future__ import annotations

from collections.abc import Sequence

from convrag import Passage
from convrag.sdk.search.corpus import PassageSource
from convrag_elasticsearch.cluster import Cluster, make_path
from convrag_elasticsearch.documents import SOURCE_FIELDS, build_document_id, build_passage

_FETCHED = 500
"""Passages that are fetched in a request."""


class IndexedPassages(PassageSource):
    """The passages of a complete index.

    Args:
        cluster: receives the requests.
        alias: of the index.
    """

    def __init__(self, cluster: Cluster, alias: str) -> None:
        self.cluster = cluster
        self.path = f"{make_path(alias, '_mget')}?_source_includes={','.join(SOURCE_FIELDS)}"

    def get_by_id(self, ids: Sequence[str]) -> list[Passage]:
        """Fetch the passages with these ids, in their order; unknown ids are left out.

        Raises ClusterError.
        """
        found: list[Passage] = []
        for start in range(0, len(ids), _FETCHED):
            names = [build_document_id(name) for name in ids[start : start + _FETCHED]]
            docs = self.cluster.request("POST", self.path, {"ids": names})["docs"]
            failed = next((doc for doc in docs if "error" in doc), None)
            if failed is not None:
                raise self.cluster.explain({"status": 503} | failed)
            found += [build_passage(doc["_source"]) for doc in docs if doc["found"]]
        return found
