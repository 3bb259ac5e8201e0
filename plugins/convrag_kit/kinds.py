"""What differs from stage to stage in a new plugin, beside the template of its class."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A stage to write a plugin for.

    Args:
        changed: the parameter that the YAML variant changes.
        value: to what.
        suffix: what the variant's name ends with.
        command: what to type to try it, but for the command itself.
        arguments: what the class is made with in its test.
        needed: the name that this takes from convrag.testing.
    """

    changed: str
    value: str
    suffix: str
    command: str = "{stage}={option} limit=2"
    arguments: str = ""
    needed: str = ""


KINDS = {
    "task": Kind("longest", "10", "long", "task={option}", "dataset=TinyDataset()", "TinyDataset"),
    "dataset": Kind("passages", "null", "example", "dataset={option}"),
    "llm": Kind("sentences", "2", "two"),
    "embedder": Kind("dimensions", "64", "small", "embedder={option} retriever=dense limit=2"),
    "rewriter": Kind("turns", "1", "last"),
    "retriever": Kind("titles", "false", "untitled", arguments="dataset=TinyDataset()", needed="TinyDataset"),
    "context": Kind("words", "20", "brief"),
    "generator": Kind("sentences", "1", "one"),
    "detector": Kind("words", "2", "strict", "detector={option} generator=ginger limit=2"),
    "clusterer": Kind("threshold", "0.8", "strict", "clusterer={option} generator=ginger limit=2"),
    "ranker": Kind("shortest", "5", "long", "ranker={option} reranker={option} generator=ginger limit=2"),
    "summarizer": Kind("prefer", "short", "short", "summarizer={option} generator=ginger limit=2"),
    "metrics": Kind("citations", "false", "words", "metrics=[ranking,{option}] limit=2"),
    "tracker": Kind("path", "outputs/all_runs.jsonl", "all"),
}
"""Group -> how its plugins are written; rerankers are rankers."""
