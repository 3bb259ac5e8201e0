"""A stage is asked in a new process: what its test class needs for that, and what is said where it
lacks it.
"""

import threading
from pathlib import Path
from typing import Any
from unittest import SkipTest

import pytest

import sound
from commands import fork_python
from convrag import Rewrite, Store
from convrag.testing import RewriterContract, new_process

pytestmark = pytest.mark.slow

PATCHED: list[str] = []
"""What a fixture would change in this process."""


class Stored(sound.SoundRewriter):
    """Adds the name of the folder of a store."""

    def __init__(self, *, store: Store) -> None:
        self.store = store

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite.of(f"{question.text} {self.store.path.name}")


class UnderStored(RewriterContract):
    """A test class with what a fixture has set."""

    def __init__(self, folder: Path = Path()) -> None:
        self.store = Store(folder)

    def make(self) -> Stored:
        return Stored(store=self.store)


class UnderPatched(RewriterContract):
    """A test class that works in this process alone."""

    def make(self) -> sound.SoundRewriter:
        if not PATCHED:
            raise ConnectionError("no server")
        return sound.SoundRewriter()


@pytest.fixture(
    params=[new_process.start_python, fork_python], ids=["itself", "forked"], autouse=True
)
def _start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether Python starts anew, as in the tests of others, or is forked, as in most of ours."""
    monkeypatch.setattr(new_process, "start", request.param)


def test_it_is_made_there_with_what_fixtures_have_set(tmp_path: Path) -> None:
    contract = UnderStored(tmp_path / "of_the_test")
    answers = new_process.ask_new_process(contract)
    assert answers[0] == contract.converse(contract.make(), 0)
    assert "of_the_test" in repr(answers[0][0])


def test_a_local_class_is_left_out() -> None:
    class Local(UnderStored):
        pass

    with pytest.raises(SkipTest, match="Local cannot be taken to a new process: .*local object"):
        new_process.ask_new_process(Local())


def test_what_cannot_be_pickled_is_named() -> None:
    contract = UnderStored()
    vars(contract)["server"] = threading.Lock()
    with pytest.raises(
        SkipTest, match=r"UnderStored cannot be taken to a new process: cannot pickle"
    ):
        new_process.ask_new_process(contract)


def test_a_make_that_fails_there_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PATCHED", ["server"])
    contract = UnderPatched()
    with pytest.raises(
        AssertionError,
        match=r"make\(\) fails in a new process(.|\n)*new_process = False(.|\n)*no server",
    ):
        contract.test_a_new_process_gives_the_same()
    vars(contract)["new_process"] = False
    with pytest.raises(SkipTest, match="make\\(\\) works in this process only"):
        contract.test_a_new_process_gives_the_same()
