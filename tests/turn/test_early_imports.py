from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from convrag.api.stage import Stage
from convrag.config.compose import compose
from convrag.store.store import get_store
from convrag.turn.wiring import Wiring, start_imports
from convrag_offline.extractive import ExtractiveLLM


class Loading(Stage):
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.threads: list[str] = []

    def load_libraries(self) -> None:
        self.threads.append(threading.current_thread().name)
        if self.error:
            raise self.error


def test_libraries_are_loaded_in_another_thread_and_errors_are_left_to_the_calls() -> None:
    stages = [Loading(ImportError("no")), Loading(), Loading(ValueError("no"))]
    start_imports(stages).join(5)
    assert [stage.threads for stage in stages] == [["imports"]] * 3


def test_a_wiring_loads_them_where_the_store_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Any] = []
    monkeypatch.setattr(ExtractiveLLM, "load_libraries", lambda stage: loaded.append(stage))
    wiring = Wiring(compose(f"store.path={tmp_path}", "generator=direct"))
    llm = wiring.get("generator").llm
    wiring.check()
    wiring.prepare()
    assert loaded == [llm]
    get_store(tmp_path).put("LiteLLM.complete", {"a": b"b"})
    wiring.prepare()
    assert loaded == [llm]
    wiring.prepare(for_new_questions=True)
    assert loaded == [llm, llm]
