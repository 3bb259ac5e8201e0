"""Which index may be searched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from convrag_elasticsearch.cluster import Cluster

META = "convrag"
"""Where a mapping says what its index is about."""

_NOTHING: Mapping[str, Any] = {}


class Published(NamedTuple):
    """An index that was completed: how many passages it had then, and has now."""

    name: str
    passages: int
    held: int

    @property
    def complete(self) -> bool:
        """Whether it has lost nothing since."""
        return self.passages == self.held


def published(cluster: Cluster, alias: str) -> Published | None:
    """The index behind an alias; None where there is none yet. Raises ClusterError."""
    states = cluster.ask(lambda client: client.indices.get(index=alias), absent=_NOTHING)
    for index, state in states.items():
        about = state["mappings"].get("_meta", {}).get(META, {})
        count = int(cluster.ask(lambda client: client.count(index=alias))["count"])
        return Published(index, int(about.get("passages", -1)), count)
    return None
