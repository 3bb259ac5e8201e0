"""What the files of a new plugin say that depends on its stage, beside the template of the stage's class."""

from __future__ import annotations

from dataclasses import dataclass

from convrag import ConfigError, UnknownName


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
        asks: of one that asks an LLM, the task of its prompt; empty for the others.
        known: whether llm=extractive has a rule for that task.
    """

    changed: str
    value: str
    suffix: str
    command: str = "{stage}={option} limit=2"
    arguments: str = ""
    needed: str = ""
    asks: str = ""
    known: bool = True


STAGE_TEMPLATES = {
    "task": StageTemplate("longest", "10", "long", "task={option}", "dataset=TinyDataset()", "TinyDataset"),
    "dataset": StageTemplate("passages", "null", "example", "dataset={option}"),
    "chunker": StageTemplate("shortest", "200", "long", "task=index dataset=documents dataset.path=. chunker={option}"),
    "llm": StageTemplate("sentences", "2", "two"),
    "embedder": StageTemplate("dimensions", "64", "small", "embedder={option} retriever=dense limit=2"),
    "memory": StageTemplate("turns", "2", "short"),
    "rewriter": StageTemplate("turns", "1", "last"),
    "retriever": StageTemplate("titles", "false", "untitled", arguments="dataset=TinyDataset()", needed="TinyDataset"),
    "selector": StageTemplate("most", "1", "one"),
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

ASKING_TEMPLATES = {
    "memory": StageTemplate("turns", "1", "short", asks="recap", known=False),
    "rewriter": StageTemplate("turns", "1", "last", asks="rewrite"),
    "selector": StageTemplate("words", "50", "brief", asks="select", known=False),
    "generator": StageTemplate("temperature", "0.7", "varied", asks="answer"),
    "detector": StageTemplate("shortest", "3", "long", "detector={option} generator=ginger limit=2", asks="nuggets"),
    "ranker": StageTemplate("words", "50", "brief", "reranker={option} limit=2", asks="rate", known=False),
    "summarizer": StageTemplate(
        "nuggets", "3", "few", "summarizer={option} generator=ginger limit=2", asks="summarize"
    ),
}
"""Stage -> values for its templates that ask an LLM (task.llm=true), where one is of use."""


def choose_template(stage: str, *, llm: bool) -> StageTemplate:
    """Return the values for a stage's templates. Raises ConfigError where there are none.

    Args:
        stage: the group.
        llm: whether the plugin asks a language model.
    """
    if stage == "reranker":
        raise ConfigError("task.stage=reranker: rerankers are rankers, so write task.stage=ranker")
    if stage not in STAGE_TEMPLATES:
        raise UnknownName("task.stage: group", stage, STAGE_TEMPLATES)
    if llm and stage not in ASKING_TEMPLATES:
        asking = ", ".join(sorted(ASKING_TEMPLATES))
        raise ConfigError(
            f"task.llm=true task.stage={stage}: there is no {stage} that asks an LLM to begin with, but of {asking}. "
            f"Leave task.llm out; a constructor's parameter `llm: LLM` gives any stage the run's language model"
        )
    return (ASKING_TEMPLATES if llm else STAGE_TEMPLATES)[stage]
