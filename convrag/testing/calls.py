"""What the calls of every stage promise: right results, and the same ones at any time, in any
thread and process.
"""

import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from tempfile import TemporaryDirectory
from threading import Barrier, Lock, Semaphore
from types import FrameType
from typing import Any, ClassVar, TypeVar
from unittest import SkipTest

from convrag.api.conversations import Question
from convrag.api.errors import ConvragError
from convrag.api.stage import Stage
from convrag.store.remember import remember
from convrag.store.store import Store
from convrag.testing.new_process import ask_new_process
from convrag.testing.samples import questions
from convrag.testing.stage import StageContract
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
"""Seconds: a stage that takes longer for a conversation is asked less."""


class CallContract(StageContract):
    """The tests of a stage's main method. Contracts of the kinds of stages say what it is called,
    and with what.
    """

    method: str
    """The name of the method that the stage is there for."""
    new_process = True
    """Whether `make` works in a new process: not where it needs what a fixture has changed in this
    one.
    """

    _asked_by: ClassVar[dict[tuple[str, type], type]] = {}
    """What takes long, and a stage's class -> the test class that does it: others test variants of
    that class.
    """

    def inputs(self) -> list[list[dict[str, Any]]]:
        """Make the arguments of calls: for each of several conversations, the arguments of its
        turns in order.

        The lists are made anew at each call, with equal contents. Conversations should differ, and
        a stage that cannot do with those of convrag.testing overrides this, or `make_input`.
        """
        return [
            [self.make_input(each, n + each.number) for each in asked]
            for n, asked in enumerate(questions())
        ]

    def make_input(self, asked: Question, steps: int) -> dict[str, Any]:
        """Make the arguments of the call at a question of the sample conversations; `steps` tells
        them apart.
        """
        raise NotImplementedError

    def odd_inputs(self) -> list[dict[str, Any]]:
        """Make arguments that are hard to handle; a stage may refuse them with a ConvragError."""
        return []

    def ask(self, stage: Any, arguments: dict[str, Any]) -> Any:
        """Call the stage's method with arguments by name."""
        return getattr(stage, self.method)(**arguments)

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """Assert what holds of each result of the method, given the arguments of the call."""

    def compare(self, result: Any) -> Any:
        """Return what of a result must be the same each time; times and the like are left out."""
        return result

    def call(self, stage: Any) -> Any:
        """Use the stage once in the ordinary way; return a result that can be compared with ==."""
        return self._answer(stage, self.inputs()[0][0])

    def converse(self, stage: Any, number: int, turns: int | None = None) -> list[Frozen]:
        """Ask the stage all turns of a conversation, or the first ones, and return copies of its
        answers.
        """
        return [self._answer(stage, arguments) for arguments in self.inputs()[number][:turns]]

    def test_its_results_are_right(self) -> None:
        """It must answer the first input; what it cannot handle of the others it may refuse with a
        ConvragError.
        """
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
        """Each of eight threads has a conversation of its own, and gets the answers that it gets
        alone.
        """
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
            difference = find_difference(expected, answers, ("alone", "beside other threads"))
            self._assert_same(
                f"threads disturb each other: {difference}" if difference else "",
                "Keep the data of a call in local variables, a conversation's in question.state(self), and "
                "guard what is shared with a lock",
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
        """Sets and hash() of strings have another order there, and what this process has computed
        is gone.
        """
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
        """Another stage on the same store returns what the first has computed, with the same types."""
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            store = Store(folder)
            computed, reused = (self._answer_from_store(store) for _ in range(2))
        plain = self._answer_from_store(None)
        refused = [
            one.error
            for one, other in zip(computed, plain, strict=True)
            if one.error and not other.error
        ]
        difference = f"the result cannot be kept ({refused[0]})" if refused else ""
        self._assert_same(
            difference or find_difference([computed], [reused], ("computed", "from the store")),
            "Return the types that the method's annotation names, made of plain data",
        )

    def _answer(self, stage: Any, arguments: dict[str, Any]) -> Frozen:
        """Ask a stage; return a copy of what must be the same each time. An exception is an answer,
        too.
        """
        try:
            return freeze(self.compare(self.ask(stage, arguments)))
        except Exception as error:
            return freeze_error(error)

    def _list_inputs(self) -> list[dict[str, Any]]:
        """List the arguments of a few conversations, and those that are hard to handle."""
        return [
            arguments for conversation in self.inputs()[:_FEW] for arguments in conversation
        ] + self.odd_inputs()

    def _skip_variant(self, check: str, stage: Any) -> None:
        """Leave a check that takes long to the first test class that has a stage of this class."""
        first = self._asked_by.setdefault((check, type(stage)), type(self))
        if first is not type(self):
            raise SkipTest(
                f"{first.__qualname__} checks {type(stage).__qualname__}, and this is a variant of it"
            )

    def _assert_same(self, difference: str, advice: str) -> None:
        """Fail where there is a difference, unless `test_it_is_deterministic` finds what is wrong."""
        stage = self.make() if difference else None
        for other in (stage, self.make()) if difference else ():
            for number in range(len(self.inputs())):
                if self.converse(stage, number) != self.converse(other, number):
                    raise SkipTest("the same call gives something else the second time")
        assert not difference, f"{difference}. {advice}"

    def _answer_from_store(self, store: Store | None) -> list[Frozen]:
        """Make a stage that uses a store, as in a run, or none; return copies of all it answers."""
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


T = TypeVar("T")

EVERY_LINE = 20
"""So many lines of a thread's are each followed by a pause, later ones ever fewer: loops would take
too long.
"""

PAUSE = 1e-5
"""Seconds of a pause, in which the other threads go on."""

_installing = Lock()
"""Python refuses to install the trace functions of two threads at the same moment."""


def call_from_threads(functions: Sequence[Callable[[], T]], modules: Set[str]) -> list[T]:
    """Call each function in a thread of its own, all at the same moment; return the results in
    order.

    Python lets a thread run for five milliseconds, in which a short call ends undisturbed: a race
    shows once in thousands of turns. So each thread pauses between the lines of the named modules.

    Args:
        functions: what to call.
        modules: names of modules and of top packages ("acme").
    """
    barrier, started = Barrier(len(functions)), Semaphore(0)

    def call(number: int) -> T:
        started.release()
        barrier.wait()
        with _pause_between_lines(modules, random.Random(number)):
            return functions[number]()

    calls = []
    with ThreadPoolExecutor(len(functions)) as pool:
        for number in range(len(functions)):
            calls.append(pool.submit(call, number))
            # One after the other, since coverage installs a trace function in each
            started.acquire()
    return [each.result() for each in calls]


def list_modules(cls: type) -> set[str]:
    """List the modules that a stage's class and its bases stand in, and the top packages of
    plugins' modules.
    """
    modules = {base.__module__ for base in cls.__mro__} - {"builtins", "abc", "typing"}
    return modules | {module.partition(".")[0] for module in modules} - {"convrag"}


@contextmanager
def _pause_between_lines(modules: Set[str], chance: random.Random) -> Iterator[None]:
    """Let the current thread pause between lines of the named modules, unless a debugger or
    coverage follows it.
    """
    if sys.gettrace():  # two that trace a thread wait for each other
        yield
        return
    lines = 0

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        name = str(frame.f_globals.get("__name__", ""))
        return pause if name in modules or name.partition(".")[0] in modules else None

    def pause(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if event == "line":
            lines += 1
            if chance.random() * lines < EVERY_LINE:
                time.sleep(PAUSE)
        return pause

    with _installing:
        sys.settrace(enter)
    try:
        yield
    finally:
        with _installing:
            sys.settrace(None)
