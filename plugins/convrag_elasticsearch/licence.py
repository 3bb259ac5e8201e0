"""What the cluster's licence covers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from convrag_elasticsearch.cluster import Cluster
from convrag_elasticsearch.failures import ClusterError

_MACHINE_LEARNING = ("trial", "platinum", "enterprise")
_RANK_FUSION = ("trial", "enterprise")
_TRIAL = "start a trial (30 days, once: POST /_license/start_trial?acknowledge=true; compose.yaml does)"


@dataclass(frozen=True)
class Licence:
    """Its type by Elasticsearch's names, and whether it is valid; both empty where we may not ask."""

    type: str = ""
    status: str = ""

    @classmethod
    def of(cls, cluster: Cluster) -> Licence:
        """The cluster's. A user without the right to see it need not have it."""
        try:
            found: Mapping[str, Any] = cluster.ask(lambda client: client.license.get())["license"]
        except ClusterError as error:
            if error.down:
                raise
            return cls()
        return cls(str(found["type"]), str(found["status"]))

    @property
    def fuses_ranks(self) -> bool:
        """Whether the cluster may fuse rankings itself."""
        return self.type in _RANK_FUSION and self._valid

    def lacks_machine_learning(self) -> list[str]:
        """Why ELSER may not run, if so."""
        if not self.type or (self.type in _MACHINE_LEARNING and self._valid):
            return []
        expired = "" if self._valid else f" ({self.status})"
        return [f"its licence is {self.type}{expired}, and ELSER needs {', '.join(_MACHINE_LEARNING)}: {_TRIAL}"]

    @property
    def _valid(self) -> bool:
        return self.status in ("active", "valid")
