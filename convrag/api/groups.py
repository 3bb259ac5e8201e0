"""The groups of stages that a configuration chooses from."""

from __future__ import annotations

from collections.abc import Mapping

from convrag.api.models import LLM, Embedder
from convrag.api.stage import Stage
from convrag.api.stages import (
    Chunker,
    Clusterer,
    Context,
    Dataset,
    Detector,
    Generator,
    Memory,
    Metrics,
    Ranker,
    Retriever,
    Rewriter,
    Selector,
    Summarizer,
    Task,
    Tracker,
)

GROUPS: Mapping[str, type[Stage]] = {
    "task": Task,
    "dataset": Dataset,
    "chunker": Chunker,
    "llm": LLM,
    "embedder": Embedder,
    "memory": Memory,
    "rewriter": Rewriter,
    "retriever": Retriever,
    "reranker": Ranker,
    "selector": Selector,
    "context": Context,
    "generator": Generator,
    "detector": Detector,
    "clusterer": Clusterer,
    "ranker": Ranker,
    "summarizer": Summarizer,
    "metrics": Metrics,
    "tracker": Tracker,
}
"""Every Hydra group and the base class of its options, in the order in which help and docs list them."""

OPTION_KEY = "_option_"
"""The key in a stage's configuration that names the option; all others are its parameters."""

SEVERAL = frozenset({"metrics"})
"""The groups of which a run may choose more than one option."""


def options_group(group: str) -> str:
    """Return the group under which plugins register the options of a group: `reranker` has the options of `ranker`."""
    return "ranker" if group == "reranker" else group
