"""The inference endpoint of ELSER: whether it works, its licence, and its creation."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from convrag_elasticsearch.cluster import Cluster, make_path
from convrag_elasticsearch.errors import ClusterError

_POLL_INTERVAL = 2.0
_TEST_TEXT = "Is the model ready?"


class InferenceEndpoint:
    """An endpoint of the cluster that makes sparse vectors (tokens with weights) of texts.

    Args:
        inference_id: its name on the cluster.
        model: Elasticsearch's name of its model.
        create: whether `task=index` creates it where it is missing.
        wait: seconds that the model may take to start, the download included.
    """

    def __init__(self, inference_id: str, model: str, create: bool, wait: float) -> None:
        self.inference_id = inference_id
        self.path = make_path("_inference", "sparse_embedding", inference_id)
        self.model = model
        self.create = create
        self.wait = wait

    def find_problems(self, cluster: Cluster) -> list[str]:
        """Return why the endpoint does not work; nothing where it does."""
        failure = self._test(cluster)
        return [] if failure is None else self._explain_failure(cluster, failure)

    def set_up(self, cluster: Cluster) -> list[str]:
        """Create the endpoint where that is wanted and needed, and wait for it.

        Returns:
            Why it does not work then; empty where it does.
        """
        failure = self._test(cluster)
        if failure is not None and self.create and not self._exists(cluster):
            failure = self._create(cluster)
        deadline = time.monotonic() + self.wait
        while failure is not None and self._may_be_starting(cluster):
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                break
            time.sleep(min(_POLL_INTERVAL, remaining))
            failure = self._test(cluster)
        return [] if failure is None else self._explain_failure(cluster, failure)

    def _test(self, cluster: Cluster) -> ClusterError | None:
        """Run inference on a text, the only proof that the endpoint works; return the error."""
        try:
            cluster.request("POST", self.path, {"input": [_TEST_TEXT]})
        except ClusterError as error:
            if error.status == 0:
                raise
            return error
        return None

    def _create(self, cluster: Cluster) -> ClusterError | None:
        """Create the endpoint, for which the cluster downloads and starts the model.

        Returns:
            The error of a test of it; None where it works.
        """
        settings = {"model_id": self.model, "num_allocations": 1, "num_threads": 1}
        config = {"service": "elasticsearch", "service_settings": settings}
        try:
            cluster.request("PUT", self.path, config)
        except ClusterError as error:
            if error.status not in (0, 408):  # after a timeout, the cluster goes on with it
                return error
        return self._test(cluster)

    def _exists(self, cluster: Cluster) -> bool:
        return bool(cluster.request("GET", self.path, if_missing={}))

    def _may_be_starting(self, cluster: Cluster) -> bool:
        return self._exists(cluster) and self._fetch_deployment(cluster).get("state") != "failed"

    def _fetch_deployment(self, cluster: Cluster) -> Mapping[str, Any]:
        """Fetch the statistics of the model's deployment: `state`, `reason`, `nodes`.

        Empty where the model is not deployed.
        """
        path = make_path("_ml", "trained_models", self.model, "_stats")
        models = cluster.request("GET", path, if_missing={"trained_model_stats": []})
        deployments: list[Mapping[str, Any]] = [
            model["deployment_stats"]
            for model in models["trained_model_stats"]
            if "deployment_stats" in model
        ]
        for deployment in deployments:
            if deployment.get("deployment_id") in (self.inference_id, self.model):
                return deployment
        return deployments[0] if deployments else {}

    def _explain_failure(self, cluster: Cluster, failure: ClusterError) -> list[str]:
        """Return all reasons that can be found for a failed test.

        They lie in the licence, the nodes, the endpoint or the model.
        """
        problems = find_licence_problems(cluster)
        if "ml node" in str(failure).lower():
            problems.append(
                "it has no node with the role `ml` and memory to spare (about 4 GB for ELSER)"
            )
        if not self._exists(cluster):
            problems.append(
                f"it has no inference endpoint {self.inference_id!r}: the same command with "
                "task=index retriever.create_endpoint=true makes it, or "
                "retriever.inference_id=... names another"
            )
        else:
            problems += self._explain_deployment(self._fetch_deployment(cluster))
        return [*problems, f"its own message: {failure.reason}"]

    def _explain_deployment(self, deployment: Mapping[str, Any]) -> list[str]:
        state = deployment.get("state")
        if not deployment:
            where = "Kibana: Machine Learning, Trained Models"
            return [f"the model {self.model} is not started ({where})"]
        if state == "started" and deployment.get("nodes"):
            return []
        why = f": {deployment['reason']}" if deployment.get("reason") else ""
        where = "" if deployment.get("nodes") else ", on no node"
        return [f"the model {self.model} is {state}{where}{why}"]


_MACHINE_LEARNING = ("trial", "platinum", "enterprise")
_START_TRIAL = (
    "start a trial (30 days, once: POST /_license/start_trial?acknowledge=true; compose.yaml does)"
)


def find_licence_problems(cluster: Cluster) -> list[str]:
    """Say why the cluster's licence does not cover ELSER.

    Empty where it does, or where the user may not read it. Raises ClusterError only where the
    cluster is unavailable.
    """
    try:
        licence: Mapping[str, Any] = cluster.request("GET", "/_license")["license"]
    except ClusterError as error:
        if error.unavailable:
            raise
        return []
    kind = str(licence["type"])
    is_valid = licence["status"] in ("active", "valid")
    if kind in _MACHINE_LEARNING and is_valid:
        return []
    expired = "" if is_valid else f" ({licence['status']})"
    needed = ", ".join(_MACHINE_LEARNING)
    return [f"its licence is {kind}{expired}, and ELSER needs {needed}: {_START_TRIAL}"]
