"""The libraries that a stage's code imports."""

from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pytest

from convrag.testing.libraries import find_libraries, find_unnamed_libraries
from written_modules import make_modules

FILES = {
    "libacme/__init__.py": "",
    "libacme/stage.py": """
        from typing import TYPE_CHECKING
        import json
        from convrag import Rewriter, Rewrite
        from . import words
        if TYPE_CHECKING:
            import pandas

        class Other(Rewriter):
            def rewrite(self, question):
                import sklearn.cluster

        class Found(Rewriter):
            libraries = ("NumPy",)
            def rewrite(self, question):
                import numpy as np
                from libacme.letters import count
                return Rewrite.of(question.text)
    """,
    "libacme/words.py": "try:\n    import yaml\nexcept ImportError:\n    pass",
    "libacme/letters.py": "def count():\n    from absent_library.letters import count",
    "libacme/unused.py": "import torch",
}


def test_libraries_are_found_wherever_they_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_modules(tmp_path, monkeypatch, {path: dedent(text) for path, text in FILES.items()})
    cls = import_module("libacme.stage").Found
    places = {"absent_library": "libacme.letters", "numpy": "libacme.stage", "yaml": "libacme.words"}
    assert find_libraries(cls) == places
    assert find_unnamed_libraries(cls) == {"absent_library": "libacme.letters", "PyYAML": "libacme.words"}
    assert find_unnamed_libraries(cls, ["pyyaml"]) == {"absent_library": "libacme.letters"}
