"""Tasks: run, record, evaluate, export, chat and index."""

from collections.abc import Mapping
from typing import Any

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the tasks."""
    register("task", "run", "convrag_tasks.run:RunTask")
    register("task", "record", "convrag_tasks.run:RecordTask")
    register("task", "evaluate", "convrag_tasks.evaluate:EvaluateTask")
    register("task", "export", "convrag_tasks.export:ExportTask")
    register("task", "chat", "convrag_tasks.chat.task:ChatTask")
    register("task", "index", "convrag_tasks.run:IndexTask")


@hookimpl
def convrag_conversations_started(config: Mapping[str, Any], model: str) -> None:
    """Tell who talks about documents, once, what another choice would do."""
    from convrag_tasks.hints import tell_once

    tell_once(config)
