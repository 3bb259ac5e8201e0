"""What the files of a new plugin say that depends on its stage, beside the template of the stage's class."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StageTemplate:
    """The values for the templates of one stage.

    Args:
        changed: the parameter that the YAML variant changes.
        value: to what.
        suffix: what the variant's name ends with.
        command: the arguments of `python -m convrag` that try it.
        arguments: those that its test makes the class with.
        needed: the name that these arguments take from convrag.testing.
    """

    changed: str
    value: str
    suffix: str
    command: str = "{stage}={option} limit=2"
    arguments: str = ""
    needed: str = ""


STAGE_TEMPLATES = {
    "task": StageTemplate("longest", "10", "long", "task={option}", "dataset=TinyDataset()", "TinyDataset"),
    "dataset": StageTemplate("passages", "null", "example", "dataset={option}"),
    "chunker": StageTemplate("shortest", "200", "long", "task=index dataset=documents dataset.path=. chunker={option}"),
    "llm": StageTemplate("sentences", "2", "two"),
    "embedder": StageTemplate("dimensions", "64", "small", "embedder={option} retriever=dense limit=2"),
    "rewriter": StageTemplate("turns", "1", "last"),
    "retriever": StageTemplate("titles", "false", "untitled", arguments="dataset=TinyDataset()", needed="TinyDataset"),
    "context": StageTemplate("words", "20", "brief"),
    "generator": StageTemplate("sentences", "1", "one"),
    "detector": StageTemplate("words", "2", "strict", "detector={option} generator=ginger limit=2"),
    "clusterer": StageTemplate("threshold", "0.8", "strict", "clusterer={option} generator=ginger limit=2"),
    "ranker": StageTemplate("shortest", "5", "long", "ranker={option} reranker={option} generator=ginger limit=2"),
    "summarizer": StageTemplate("prefer", "short", "short", "summarizer={option} generator=ginger limit=2"),
    "metrics": StageTemplate("citations", "false", "words", "metrics=[ranking,{option}] limit=2"),
    "tracker": StageTemplate("path", "outputs/all_runs.jsonl", "all"),
}
"""Stage -> values for its templates; there are none for reranker, because rerankers are rankers."""
