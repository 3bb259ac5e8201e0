"""Tasks: run, record, evaluate, export, chat and index."""

from collections.abc import Mapping
from typing import Any

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the tasks."""
    register(
        "task",
        "run",
        "convrag_tasks.run:RunTask",
        "Answer every question of the data set, measure, and write the results (the default).",
    )
    register(
        "task",
        "record",
        "convrag_tasks.run:RecordTask",
        "Run as task=run does, and write all replies of language models into a file for "
        "llm=replay.",
    )
    register(
        "task",
        "evaluate",
        "convrag_tasks.evaluate:EvaluateTask",
        "Score files with the chosen metrics: a TREC run, answers, or a finished run.",
    )
    register(
        "task",
        "export",
        "convrag_tasks.export:ExportTask",
        "Write a finished run for others to read: MTRAG, InspectorRAGet, BEIR, TREC or CSV.",
    )
    register(
        "task",
        "chat",
        "convrag_tasks.chat.task:ChatTask",
        "Talk at the terminal: see what is searched for, the sources, and what to ask next.",
    )
    register(
        "task",
        "index",
        "convrag_tasks.run:IndexTask",
        "Build the index of the chosen retriever over the data set's corpora; ask no question.",
    )


@hookimpl
def convrag_conversations_started(config: Mapping[str, Any], model: str) -> None:
    """Tell who talks about documents, once, what an embedder would find."""
    from convrag_tasks.hints import tell_once

    tell_once(config)
