"""An index that was completed, and whether it has lost passages since."""

from typing import NamedTuple

from convrag_elasticsearch.cluster import Cluster, make_path
from convrag_elasticsearch.filters import FIELDS

META = "convrag"
"""The key under `_meta` of a mapping where an index is described."""


class CompleteIndex(NamedTuple):
    """An index that was completed.

    Args:
        name: of the index.
        passages: their number when it was completed.
        current_passages: their number now.
        has_fields: whether it can be filtered by the fields of passages.
    """

    name: str
    passages: int
    current_passages: int
    has_fields: bool = True

    @property
    def intact(self) -> bool:
        """Whether it has lost no passages since."""
        return self.passages == self.current_passages


def find_index(cluster: Cluster, alias: str) -> CompleteIndex | None:
    """Find the index of an alias; None where there is none yet. Raises ClusterError."""
    states = cluster.request("GET", make_path(alias), if_missing={})
    if not states:
        return None
    index, state = next(iter(states.items()))
    about = state["mappings"].get("_meta", {}).get(META, {})
    passages = int(about.get("passages", -1))
    has_fields = FIELDS in state["mappings"].get("properties", {})
    return CompleteIndex(index, passages, count_passages(cluster, alias), has_fields)


def count_passages(cluster: Cluster, index: str) -> int:
    """Count the passages of an index or alias.

    Raises:
        ClusterError: the cluster failed, or not all shards answer.
    """
    return int(cluster.request("GET", make_path(index, "_count"))["count"])
