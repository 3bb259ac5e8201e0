"""Tasks: run, record, evaluate, export, chat and index."""

from convrag import Register, hookimpl
from convrag_tasks.chat import ChatTask
from convrag_tasks.evaluate import EvaluateTask
from convrag_tasks.export import ExportTask
from convrag_tasks.index import IndexTask
from convrag_tasks.record import RecordTask
from convrag_tasks.run import RunTask


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the tasks."""
    register("task", "run", RunTask)
    register("task", "record", RecordTask)
    register("task", "evaluate", EvaluateTask)
    register("task", "export", ExportTask)
    register("task", "chat", ChatTask)
    register("task", "index", IndexTask)
