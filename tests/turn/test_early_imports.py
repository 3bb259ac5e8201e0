"""What stages import: in one thread at a time, before the first call that needs it."""

import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convrag import Clusterer, Embedder, Store
from convrag.config.compose import compose
from convrag.store.remember import remember
from convrag.testing import LetterEmbedder
from convrag.turn.stage_pool import pool
from convrag.turn.wiring import Wiring
from convrag_dhrag.rewriter import DHRagRewriter
from convrag_offline.extractive import ExtractiveLLM
from written_modules import make_modules


class Importing(Clusterer):
    """Imports a module at its first call."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.fingerprint = module

    def load_libraries(self) -> None:
        import_module(self.module)

    def cluster(self, texts: Any, embedder: Embedder) -> Any:
        import_module(self.module)
        return np.zeros(len(texts), dtype=np.int64)


def test_two_threads_do_not_import_parts_of_one_library_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python sees that they wait for each other, and lets one of them have what is half imported."""
    slow = "import time\nversion = 1\ntime.sleep(0.5)\nfrom halves.second import clone\n"
    second = "from halves import version\nclone = version\n"
    files = {"halves/__init__.py": slow, "halves/first.py": "", "halves/second.py": second}
    make_modules(tmp_path / "lib", monkeypatch, files)
    errors: list[Exception] = []
    embedder = LetterEmbedder()
    embedder.fingerprint = "letters"

    def call(module: str) -> None:
        stage = Importing(module)
        remember(stage, Store(tmp_path / "store"))
        try:
            stage.cluster(["a"], embedder)
        except Exception as error:
            errors.append(error)

    threads = [
        threading.Thread(target=call, args=[f"halves.{name}"]) for name in ("first", "second")
    ]
    for thread in threads:
        thread.start()
        time.sleep(0.1)
    for thread in threads:
        thread.join(30)
    assert errors == []


def test_what_every_turn_needs_is_imported_before_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What only a call imports that the store may have is left to it, unless new questions are
    expected.
    """
    loaded: list[type] = []
    for cls in (DHRagRewriter, ExtractiveLLM):
        monkeypatch.setattr(cls, "load_libraries", lambda stage: loaded.append(type(stage)))
    monkeypatch.setattr(pool, "_stages", type(pool._stages)())
    wiring = Wiring(compose(f"store.path={tmp_path}", "rewriter=dhrag", "generator=direct"))
    for group in ("rewriter", "generator"):
        wiring.get(group)
    wiring.check()
    wiring.prepare()
    assert loaded == [DHRagRewriter]
    wiring.prepare(for_new_questions=True)
    assert loaded == [DHRagRewriter, ExtractiveLLM]
