"""Some hundred mutated documents of all formats end well: benchmarks/robustness has thousands."""

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from places import ROOT

FOLDER = ROOT / "benchmarks/robustness"
SCRIPT = FOLDER / "mutate_documents.py"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    yield import_module("mutate_documents")
    for name in ("mutate_documents", "document_mutations"):
        sys.modules.pop(name, None)


def test_mutated_documents_are_read_or_refused() -> None:
    command = [sys.executable, str(SCRIPT), "--count", "300", "--seed", "5"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    (total,) = re.findall(r"^\| all \|(.+)\|$", done.stdout, re.MULTILINE)
    counts = [int(count) for count in total.split("|")]
    assert sum(counts) == 300
    assert counts[0] > 100, "most mutations leave nothing to read"


def test_the_same_seed_makes_the_same_documents(script: Any) -> None:
    made = [script.make_document(1, number, ()) for number in range(60)]
    assert made == [script.make_document(1, number, ()) for number in range(60)]
    assert made != [script.make_document(2, number, ()) for number in range(60)]
    assert len({name for name, _ in made}) > 10


@pytest.mark.parametrize(
    ("fault", "ending"),
    [
        ("raise KeyError('x')", "damaged"),
        ("raise MemoryError", "no memory"),
        ("bytearray(3_000_000_000)", "no memory"),
        ("while True: pass", "late"),
        ("import os; os.kill(os.getpid(), 11)", "crash"),
    ],
)
def test_what_ends_badly_is_seen(fault: str, ending: str, tmp_path: Any) -> None:
    """Each fault is put into the reader of text, for the first document; the second is read."""
    program = (
        "import sys; sys.argv = sys.argv[1:]\n"
        f"sys.path.insert(0, {str(FOLDER)!r})\n"
        "import mutate_documents as script\n"
        "script.SECONDS = 1\n"
        "read = script.read_document\n"
        "def make(seed, number, kinds): return 'a.txt', b'fault' if number == 0 else b'Text.'\n"
        "def fail(name, content):\n"
        "    if content == b'fault':\n"
        f"        try:\n            {fault}\n"
        "        except MemoryError:\n            return 'no memory', ''\n"
        "        except KeyError:\n            return 'damaged', ''\n"
        "    return read(name, content)\n"
        "script.make_document, script.read_document, script.__file__ = make, fail, sys.argv[0]\n"
        "script.main()\n"
    )
    path = tmp_path / "program.py"
    path.write_text(program.replace("sys.argv = sys.argv[1:]", "pass"))
    command = [sys.executable, str(path), "--count", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"{ending}" in done.stdout
    rows = re.findall(r"^\| all \|(.+)\|$", done.stdout, re.MULTILINE)
    assert rows, done.stderr[-2000:]
    header = done.stdout.splitlines()[0].split("|")[2:-1]
    counts = dict(zip([name.strip() for name in header], map(int, rows[0].split("|")), strict=True))
    assert {name: count for name, count in counts.items() if count} == {ending: 1, "read": 1}
