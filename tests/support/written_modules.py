"""Modules that a test writes: importable while it runs, and forgotten after it."""

from importlib import invalidate_caches
from pathlib import Path

import pytest


def make_modules(folder: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> None:
    """Write files into a folder from which modules can be imported.

    Args:
        folder: of the test's own.
        monkeypatch: takes the folder off the path after the test.
        files: path below the folder -> contents; the names of modules are new ones in each test.
    """
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    invalidate_caches()
