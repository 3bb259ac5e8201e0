"""The promises of the tasks that run something."""

from pathlib import Path

import pytest

from convrag.store.store import Store
from convrag.testing import TaskContract
from convrag_compare.task import CompareTask
from convrag_kit.list_plugins import ListPluginsTask
from convrag_tasks.run import IndexTask, RecordTask, RunTask

QUICK = ("limit=1", "generator=none")


class TestRun(TaskContract):
    overrides = QUICK

    def make(self) -> RunTask:
        return RunTask()


class TestRecord(TaskContract):
    overrides = QUICK

    @pytest.fixture(autouse=True)
    def _path(self, tmp_path: Path) -> None:
        self.path = tmp_path / "replies.jsonl"
        self.store = Store(tmp_path / "store")

    def make(self) -> RecordTask:
        return RecordTask(path=self.path, store=self.store)


class TestIndex(TaskContract):
    overrides = ("retriever=bm25",)

    def make(self) -> IndexTask:
        return IndexTask()


class TestPlugins(TaskContract):
    overrides = ()

    def make(self) -> ListPluginsTask:
        return ListPluginsTask(stage="clusterer")


class TestCompare(TaskContract):
    def make(self) -> CompareTask:
        return CompareTask(runs=["outputs/sweeps/*"])
