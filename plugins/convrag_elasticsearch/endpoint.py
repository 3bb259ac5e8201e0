"""ELSER on the cluster: whether it is there and runs, and how it comes to be there."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from convrag_elasticsearch.failures import ClusterError

if TYPE_CHECKING:
    from convrag_elasticsearch.cluster import Cluster

TASK = "sparse_embedding"

_POLL = 2.0
_TRIAL = "Is the model ready?"


class Endpoint:
    """An inference endpoint that makes weighted tokens of texts.

    Args:
        inference_id: its name on the cluster.
        model: the model behind it.
        create: whether `task=index` makes it where it is missing.
        wait: seconds that the model may take to start, the download included.
        kind: "endpoint", or "model" for clusters that know models but no endpoints (text_expansion).
    """

    def __init__(
        self,
        inference_id: str,
        *,
        model: str,
        create: bool,
        wait: float,
        kind: Literal["endpoint", "model"] = "endpoint",
    ) -> None:
        self.inference_id = inference_id
        self.model = model
        self.create = create
        self.wait = wait
        self.kind = kind

    def lacks(self, cluster: Cluster) -> list[str]:
        """What the cluster lacks to make tokens now; nothing where it makes them."""
        failure = self._try(cluster)
        return [] if failure is None else self._lacks(cluster, failure)

    def provide(self, cluster: Cluster) -> list[str]:
        """Make the endpoint where that is wanted and it is missing, and wait for it; what is lacking then."""
        failure = self._try(cluster)
        if failure is not None and self.create and not self._exists(cluster):
            failure = self._make(cluster)
        deadline = time.monotonic() + self.wait
        while failure is not None and self._may_start(cluster) and time.monotonic() < deadline:
            time.sleep(min(_POLL, max(0.0, deadline - time.monotonic())))
            failure = self._try(cluster)
        return [] if failure is None else self._lacks(cluster, failure)

    def _try(self, cluster: Cluster) -> ClusterError | None:
        """Let it make tokens of a text: the only proof that it can."""
        if self.kind == "model":
            started = self._deployment(cluster).get("state") == "started"
            return None if started else ClusterError(f"the model {self.model} is not started", 409)
        try:
            cluster.ask(
                lambda client: client.inference.inference(
                    task_type=TASK, inference_id=self.inference_id, input=[_TRIAL]
                )
            )
        except ClusterError as error:
            if error.status == 0:
                raise
            return error
        return None

    def _make(self, cluster: Cluster) -> ClusterError | None:
        """Create the endpoint; the cluster downloads the model and starts it."""
        settings = {"model_id": self.model, "num_allocations": 1, "num_threads": 1}
        config = {"service": "elasticsearch", "service_settings": settings}
        try:
            cluster.ask(
                lambda client: client.inference.put(
                    task_type=TASK, inference_id=self.inference_id, inference_config=config
                )
            )
        except ClusterError as error:
            if error.status not in (0, 408):  # where it takes longer than a request, it goes on by itself
                return error
        return self._try(cluster)

    def _exists(self, cluster: Cluster) -> bool:
        nothing: Mapping[str, Any] = {}
        found = cluster.ask(
            lambda client: client.inference.get(task_type=TASK, inference_id=self.inference_id), absent=nothing
        )
        return bool(found)

    def _may_start(self, cluster: Cluster) -> bool:
        return self.kind == "endpoint" and self._exists(cluster) and self._deployment(cluster).get("state") != "failed"

    def _deployment(self, cluster: Cluster) -> Mapping[str, Any]:
        """What the cluster says of the running model: `state`, `reason`, `nodes`; empty where it does not run."""
        nothing: Mapping[str, Any] = {"trained_model_stats": []}
        found = cluster.ask(lambda client: client.ml.get_trained_models_stats(model_id=self.model), absent=nothing)
        running = [stats["deployment_stats"] for stats in found["trained_model_stats"] if "deployment_stats" in stats]
        own = [stats for stats in running if stats.get("deployment_id") in (self.inference_id, self.model)]
        return next(iter([*own, *running]), {})

    def _lacks(self, cluster: Cluster, failure: ClusterError) -> list[str]:
        """All reasons that the cluster gives, the deepest first."""
        from convrag_elasticsearch.licence import Licence

        found = Licence.of(cluster).lacks_machine_learning()
        if "ml node" in str(failure).lower():
            found.append("it has no node with the role `ml` and memory to spare (about 4 GB for ELSER)")
        if self.kind == "endpoint" and not self._exists(cluster):
            found.append(
                f"it has no inference endpoint {self.inference_id!r}: the same command with task=index "
                "retriever.create_endpoint=true makes it, or retriever.inference_id=... names another"
            )
        else:
            found += self._not_running(self._deployment(cluster))
        return [*found, f"it says itself: {failure.said}"]

    def _not_running(self, deployment: Mapping[str, Any]) -> list[str]:
        state = deployment.get("state")
        if not deployment:
            return [f"the model {self.model} is not started (Kibana: Machine Learning, Trained Models)"]
        if state == "started" and deployment.get("nodes"):
            return []
        why = f": {deployment['reason']}" if deployment.get("reason") else ""
        where = "" if deployment.get("nodes") else ", on no node"
        return [f"the model {self.model} is {state}{where}{why}"]
