"""The fixtures that every pytest has where convrag is installed."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from convrag import LLMError
from convrag.testing import make_prompt


def test_a_tiny_corpus_and_conversation(
    convrag_corpus: Any, convrag_conversation: Any, convrag_dataset: Any
) -> None:
    assert list(convrag_dataset.corpus("default")) == convrag_corpus
    assert list(convrag_dataset.conversations()) == [convrag_conversation]
    ids = {passage.id for passage in convrag_corpus}
    assert all(ids.issuperset(grades) for grades in convrag_dataset.qrels().values())


def test_a_recorded_llm(convrag_llm: Any) -> None:
    prompt = make_prompt("Is it hot?")
    assert convrag_llm.complete(prompt).text == "Is copper better for kettles?"
    convrag_llm.replies = {"Is it hot?": "Yes."}
    assert convrag_llm.complete(prompt).text == "Yes."
    assert convrag_llm.prompts == [prompt, prompt]
    with pytest.raises(
        LLMError, match="no reply was recorded for a prompt that ends with .*Is it cold"
    ):
        convrag_llm.complete(make_prompt("Is it cold?"))


def test_a_fresh_store(convrag_store: Any) -> None:
    assert not convrag_store.path.exists()
    convrag_store.put("kind", {"key": b"value"})
    assert convrag_store.get(["key"]) == {"key": b"value"}


def test_it_costs_nothing_where_nobody_asks_for_it() -> None:
    """pytest imports it in every run of everybody who has convrag."""
    code = "import sys, pytest; before = set(sys.modules); import convrag_pytest; print(set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{'convrag_pytest'}"


BROKEN = """
import numpy
from convrag import Ranker
from convrag.testing import RankerContract


class First(Ranker):
    def score(self, query, texts):
        return numpy.zeros(3)


class TestFirst(RankerContract):
    def make(self):
        return First()
"""


@pytest.mark.parametrize("options", [(), ("-p", "no:convrag"), ("--import-mode=importlib",)])
def test_a_contract_that_fails_shows_the_values(options: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "test_first.py").write_text(BROKEN)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-W",
        "error",
        *options,
    ]
    done = subprocess.run(
        [*command, "-k", "results_are_right"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "assert (3,) == (4,)" in done.stdout, done.stdout
    assert "1 failed" in done.stdout


HOLDING = """
import gc
import weakref
import numpy
import pytest
from convrag import Ranker
from convrag.testing import RankerContract

class File:
    pass

held = weakref.WeakSet()

class Equal(Ranker):
    def score(self, query, texts):
        return numpy.zeros(len(texts))

class TestEqual(RankerContract):
    @pytest.fixture(autouse=True)
    def _file(self):
        self.file = File()
        held.add(self.file)

    def make(self):
        return Equal()

def test_last():
    gc.collect()
    assert len(held) == 0
"""


def test_what_a_contract_held_is_let_go_after_each_test(tmp_path: Path) -> None:
    """A suite of contracts had kept the files of every store open until its end: beyond the 1024th,
    select() fails.
    """
    (tmp_path / "test_holding.py").write_text(HOLDING)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "results_are_right or last",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
