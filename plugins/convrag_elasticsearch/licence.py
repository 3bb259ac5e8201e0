"""The cluster's licence, and what it covers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from convrag_elasticsearch.cluster import Cluster
from convrag_elasticsearch.errors import ClusterError

_MACHINE_LEARNING = ("trial", "platinum", "enterprise")
_START_TRIAL = "start a trial (30 days, once: POST /_license/start_trial?acknowledge=true; compose.yaml does)"


@dataclass(frozen=True)
class Licence:
    """A licence: its type and its status, by Elasticsearch's names; both are empty where the user may not read it."""

    type: str = ""
    status: str = ""

    @classmethod
    def fetch(cls, cluster: Cluster) -> Licence:
        """Read the cluster's licence. Raises ClusterError only where the cluster is unavailable."""
        try:
            found: Mapping[str, Any] = cluster.request(lambda client: client.license.get())["license"]
        except ClusterError as error:
            if error.unavailable:
                raise
            return cls()
        return cls(str(found["type"]), str(found["status"]))

    def find_machine_learning_problems(self) -> list[str]:
        """Say why the licence does not cover ELSER; nothing where it does, or cannot be read."""
        if not self.type or (self.type in _MACHINE_LEARNING and self._valid):
            return []
        expired = "" if self._valid else f" ({self.status})"
        return [f"its licence is {self.type}{expired}, and ELSER needs {', '.join(_MACHINE_LEARNING)}: {_START_TRIAL}"]

    @property
    def _valid(self) -> bool:
        return self.status in ("active", "valid")
