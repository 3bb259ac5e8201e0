"""Which source code a fingerprint covers. Each is computed in a process of its own, with another
hash seed.
"""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import convrag
from convrag.store.code_hash import find_imported_modules, hash_class

_PRINT = """
from {module} import Topic
from convrag.store.fingerprint import compute_fingerprint
print(compute_fingerprint(Topic(), "topic", {{}}))
"""
_RUNS = 0

TOPIC = """
from acme_base.rewriters import Base

class Topic(Base):
    def rewrite(self, question):
        from convrag.sdk.text import analysis
        from convrag import (
            Rewrite,  # the facade's, which is in convrag.api
            PromptTemplate,
        )
        return Rewrite.of(analysis.stem_words([question.text])[0])
"""
BASE = "from convrag import Rewriter\n\nclass Base(Rewriter):\n    pass\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two plugin packages, and a copy of convrag that can be edited."""
    shutil.copytree(
        Path(convrag.__file__).parent,
        tmp_path / "convrag",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for path, text in {
        "acme_rag/__init__.py": "",
        "acme_rag/topic.py": TOPIC,
        "acme_rag/words.txt": "a\n",
        "acme_base/__init__.py": "",
        "acme_base/rewriters.py": BASE,
        "acme_base/deep/helper.py": "",
        "spaced/topic.py": TOPIC,  # without __init__.py: a namespace package
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def compute(folder: Path, module: str = "acme_rag.topic") -> str:
    global _RUNS
    _RUNS += 1
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONHASHSEED": str(_RUNS)}
    code = _PRINT.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def append(path: Path, text: str = "\n# edited\n") -> None:
    path.write_text(path.read_text() + text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edited", "counts"),
    [
        ("acme_rag/topic.py", True),
        ("acme_rag/words.txt", True),
        ("acme_base/rewriters.py", True),  # the base class is in another package
        ("acme_base/deep/helper.py", True),
        ("convrag/sdk/text/analysis.py", True),  # imported in a method
        ("convrag/sdk/llm/prompts.py", True),  # imported through the facade
        ("convrag/sdk/llm/structured_output.py", False),  # not imported
        ("convrag/cli/main.py", False),
        ("convrag/concurrency/locks.py", False),
        ("convrag/api/passages.py", False),  # interfaces compute nothing
        ("spaced/topic.py", False),
    ],
)
def test_an_edit_of_what_a_plugin_uses_changes_its_fingerprint(
    edited: str, counts: bool, folder: Path
) -> None:
    before = compute(folder)
    append(folder / edited)
    assert (compute(folder) != before) == counts


@pytest.mark.slow
def test_a_namespace_package_counts(folder: Path) -> None:
    before = compute(folder, "spaced.topic")
    assert compute(folder, "spaced.topic") == before
    append(folder / "spaced" / "topic.py")
    assert compute(folder, "spaced.topic") != before


@pytest.mark.slow
def test_a_library_that_a_module_of_convrag_names_counts(folder: Path) -> None:
    before = compute(folder)
    (folder / "PyStemmer-99.0.dist-info").mkdir()
    (folder / "PyStemmer-99.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: PyStemmer\nVersion: 99.0\n"
    )
    assert compute(folder) != before


def test_source_files_of_a_package_count_and_others_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes = []
    for number, files in enumerate(
        [{}, {"notes.bin": "a"}, {"deep/words.txt": "a"}, {"__pycache__/old.py": "a"}]
    ):
        folder = tmp_path / str(number) / "acme_files"
        for name, text in {"__init__.py": "class Stage: ...", **files}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        monkeypatch.syspath_prepend(folder.parent)
        monkeypatch.delitem(sys.modules, "acme_files", raising=False)
        hashes.append(hash_class(importlib.import_module("acme_files").Stage))
    bare, other, words, compiled = hashes
    assert bare == other == compiled != words


def test_a_class_without_a_file_is_told_by_its_code() -> None:
    def define(answer: str, name: str = "Typed") -> type:
        space: dict[str, type] = {}
        exec(
            f"class {name}:\n    def f(self):\n        return {answer} in {{'a', 'b', 'c'}}",
            {"__name__": "typed"},
            space,
        )
        return space[name]

    assert hash_class(define("1")) == hash_class(define("1"))
    assert hash_class(define("1")) != hash_class(define("2"))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ["convrag.sdk.text.sentences.split_sentences"],
            [
                "convrag.sdk.text.analysis",
                "convrag.sdk.text.characters",
                "convrag.sdk.text.languages",
                "convrag.sdk.text.sentences",
                "convrag.sdk.text.stems",
                "convrag.sdk.text.stop_words",
                "convrag.sdk.text.tokens",
            ],
        ),
        (["convrag.Rewriter"], []),
        (["convrag.PromptTemplate"], ["convrag.sdk.llm.marks", "convrag.sdk.llm.prompts"]),
        (["convrag.sdk.llm.prompts.*"], ["convrag.sdk.llm.marks", "convrag.sdk.llm.prompts"]),
        (["convrag.nonsense.name"], []),
    ],
)
def test_modules_behind_names(names: list[str], expected: list[str]) -> None:
    assert find_imported_modules(names) == expected
