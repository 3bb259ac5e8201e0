"""The groups of stages that a configuration chooses from."""

from collections.abc import Mapping

from convrag.api import stages
from convrag.api.stage import LLM, Embedder, Stage

GROUPS: Mapping[str, type[Stage]] = {
    "task": stages.Task,
    "dataset": stages.Dataset,
    "chunker": stages.Chunker,
    "llm": LLM,
    "embedder": Embedder,
    "memory": stages.Memory,
    "rewriter": stages.Rewriter,
    "search": stages.Search,
    "retriever": stages.Retriever,
    "reranker": stages.Ranker,
    "selector": stages.Selector,
    "context": stages.Context,
    "generator": stages.Generator,
    "detector": stages.Detector,
    "clusterer": stages.Clusterer,
    "ranker": stages.Ranker,
    "summarizer": stages.Summarizer,
    "metrics": stages.Metrics,
    "tracker": stages.Tracker,
}
"""Every Hydra group and the base class of its options, in the order of help and docs."""

OPTION_KEY = "_option_"
"""The key in a stage's configuration that names the option; all others are its parameters."""

SEVERAL = frozenset({"metrics"})
"""The groups in which a run may choose more than one option."""


def options_group(group: str) -> str:
    """Return the group under which a group's options are registered: "ranker" for "reranker"."""
    return "ranker" if group == "reranker" else group
