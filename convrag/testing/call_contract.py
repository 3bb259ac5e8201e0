"""The contract of calls: right results, the same at any time, in any thread and process."""

import time
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any, ClassVar
from unittest import SkipTest

from convrag.api.conversations import Question
from convrag.api.errors import ConvragError
from convrag.api.stage import Stage
from convrag.store.remember import remember
from convrag.store.store import Store
from convrag.testing.new_process import ask_new_process
from convrag.testing.samples import questions
from convrag.testing.stage_contract import StageContract
from convrag.testing.threads import call_from_threads, list_modules
from convrag.testing.values import (
    Frozen,
    describe_difference,
    find_difference,
    freeze,
    freeze_error,
)

_FEW = 2
"""The conversations that are enough where each call is a check of its own."""

_SLOW = 0.2
"""Seconds; a stage that takes longer for a conversation is asked less."""


class CallContract(StageContract):
    """The tests of a stage's main method.

    The contract of each kind of stage names the method and its arguments.
    """

    method: str
    """The name of the stage's main method."""

    new_process = True
    """Whether `make` works in a new process.

    It does not where it needs something that a fixture has changed in this process.
    """

    _checked_by: ClassVar[dict[tuple[str, type], type]] = {}
    """A check that takes long, and a stage's class -> the test class that makes it.

    Other test classes test variants of that class, and leave the check out.
    """

    def inputs(self) -> list[list[dict[str, Any]]]:
        """Make the arguments of calls: for each of several conversations, those of its turns.

        The lists are new at each call, with equal contents. Conversations should differ. The test
        of a stage that needs other conversations overrides this, or `make_input`.
        """
        return [
            [self.make_input(each, n + each.number) for each in asked]
            for n, asked in enumerate(questions())
        ]

    def make_input(self, asked: Question, steps: int) -> dict[str, Any]:
        """Make the arguments of the call at a sample question; `steps` makes them differ."""
        raise NotImplementedError

    def odd_inputs(self) -> list[dict[str, Any]]:
        """Make arguments that are hard to handle; a stage may refuse them with a ConvragError."""
        return []

    def ask(self, stage: Any, arguments: dict[str, Any]) -> Any:
        """Call the stage's method with arguments by name."""
        return getattr(stage, self.method)(**arguments)

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """Assert that a result of the method is right, given the arguments of the call."""

    def compare(self, result: Any) -> Any:
        """Return the parts of a result that must be the same each time; not times, for instance."""
        return result

    def call(self, stage: Any) -> Any:
        """Use the stage once in the ordinary way; return a result that can be compared with ==."""
        return self._answer(stage, self.inputs()[0][0])

    def converse(self, stage: Any, number: int, turns: int | None = None) -> list[Frozen]:
        """Ask the stage the first turns of a conversation, or all; return copies of its answers."""
        return [self._answer(stage, arguments) for arguments in self.inputs()[number][:turns]]

    def test_its_results_are_right(self) -> None:
        """It must answer the first input, and may refuse others with a ConvragError."""
        stage = self.make()
        first, *others = self._list_inputs()
        self.check(self.ask(stage, first), first)
        for arguments in others:
            try:
                result = self.ask(stage, arguments)
            except ConvragError:
                continue
            self.check(result, arguments)

    def test_it_is_deterministic(self) -> None:
        stage = self.make()
        first = self.call(stage)
        assert self.call(stage) == first, "the same call gives something else the second time"
        assert self.call(self.make()) == first, (
            "another stage with the same parameters gives something else"
        )

    def test_threads_may_share_it(self) -> None:
        """Each of eight threads has its own conversation, and gets the same answers as alone."""
        stage = self.make()
        self._skip_variant("threads", stage)
        start = time.monotonic()
        self.converse(stage, 0)
        turns = 1 if time.monotonic() - start > _SLOW else None
        numbers = range(len(self.inputs()))
        expected = [self.converse(stage, number, turns) for number in numbers]
        until = time.monotonic() + _SLOW
        for _ in range(3):
            stage = self.make()
            conversations = [partial(self.converse, stage, number, turns) for number in numbers]
            answers = call_from_threads(conversations, list_modules(type(stage)))
            difference = find_difference(expected, answers, ("alone", "next to other threads"))
            self._assert_same(
                f"threads disturb each other: {difference}" if difference else "",
                "Keep the data of a call in local variables, a conversation's in "
                "question.state(self), and guard what is shared with a lock",
            )
            if time.monotonic() > until:
                break

    def test_its_arguments_stay_as_they_are(self) -> None:
        """Later stages, and other threads, are given the same objects."""
        stage = self.make()
        for arguments in self._list_inputs():
            before = {name: freeze(value) for name, value in arguments.items()}
            self._answer(stage, arguments)
            for name, value in arguments.items():
                difference = describe_difference(
                    before[name], freeze(value), name, ("before the call", "after it")
                )
                assert not difference, (
                    f"{self.method}() changes its argument {difference}. Work on a copy"
                )

    def test_a_new_process_gives_the_same(self) -> None:
        """Sets and hash() of strings have another order there, and nothing was computed before."""
        if not self.new_process:
            raise SkipTest("make() works in this process only, as the test class says")
        stage = self.make()
        self._skip_variant("new process", stage)
        answers = ask_new_process(self)
        own = [self.converse(stage, number) for number in range(len(answers))]
        difference = find_difference(own, answers, ("here", "in a new process"), tolerance=1e-5)
        self._assert_same(
            difference,
            "Sort what comes out of a set, do not use hash(), and give random numbers a fixed seed",
        )

    def test_what_is_remembered_comes_back_equal(self) -> None:
        """Another stage on the same store returns the first one's results, with the same types."""
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            store = Store(folder)
            computed = self._answer_from_store(store)
            reused = self._answer_from_store(store)
        difference = find_difference([computed], [reused], ("computed", "from the store"))
        for stored, plain in zip(computed, self._answer_from_store(None), strict=True):
            if stored.error and not plain.error:
                difference = f"the result cannot be kept ({stored.error})"
                break
        self._assert_same(
            difference, "Return the types that the method's annotation names, made of plain data"
        )

    def _answer(self, stage: Any, arguments: dict[str, Any]) -> Frozen:
        """Ask a stage; return a copy of the answer, which may also be an exception."""
        try:
            return freeze(self.compare(self.ask(stage, arguments)))
        except Exception as error:
            return freeze_error(error)

    def _list_inputs(self) -> list[dict[str, Any]]:
        """List the arguments of a few conversations, and those that are hard to handle."""
        usual = [arguments for conversation in self.inputs()[:_FEW] for arguments in conversation]
        return usual + self.odd_inputs()

    def _skip_variant(self, check: str, stage: Any) -> None:
        """Leave a check that takes long to the first test class that has a stage of this class."""
        first = self._checked_by.setdefault((check, type(stage)), type(self))
        if first is not type(self):
            name = type(stage).__qualname__
            raise SkipTest(f"{first.__qualname__} checks {name}, and this is a variant of it")

    def _assert_same(self, difference: str, advice: str) -> None:
        """Fail if there is a difference, unless `test_it_is_deterministic` finds its cause."""
        if not difference:
            return
        stage = self.make()
        for other in (stage, self.make()):
            for number in range(len(self.inputs())):
                if self.converse(stage, number) != self.converse(other, number):
                    raise SkipTest("the same call gives something else the second time")
        raise AssertionError(f"{difference}. {advice}")

    def _answer_from_store(self, store: Store | None) -> list[Frozen]:
        """Ask a new stage, with a store as in a run or without; return copies of its answers."""
        stage = self.make()
        if store:
            stage.fingerprint = "the stage under test"
            remember(stage, store)
        answers = []
        for arguments in self._list_inputs():
            for other in arguments.values():
                if isinstance(other, Stage):
                    other.fingerprint = f"{type(other).__name__} under test"
            try:
                answers.append(freeze(self.ask(stage, arguments)))
            except Exception as error:
                answers.append(freeze_error(error))
        return answers
