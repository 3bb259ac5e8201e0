"""An exit or a cancellation that a stage raises costs its turn, and names the plugin and the line."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import toys
from convrag import (
    Clusterer,
    Dataset,
    Hit,
    Memory,
    Metrics,
    Passage,
    Query,
    Ranker,
    Retriever,
    Rewriter,
    Selector,
)
from convrag.api.documents import CorpusPart
from convrag.api.errors import PluginError, StageFault
from convrag.concurrency.cancellation import Cancellation, Cancelled
from convrag.concurrency.exits import is_failure
from convrag.concurrency.streaming import Stream
from convrag.registry.option import Option
from convrag.registry.plugins import Plugins
from convrag.score.measuring import measure
from convrag.sdk.parallel import map_parallel
from convrag.store.store import Store
from convrag.turn.observers import Observers
from convrag.turn.stage_pool import StagePool
from toys import pipeline


class Stop(BaseException):
    """An exit of a library."""


EXITS: list[Callable[[], BaseException]] = [
    lambda: SystemExit(7),
    lambda: asyncio.CancelledError("gone"),
    lambda: GeneratorExit(),
    lambda: Stop("now"),
]
NAMES = ["SystemExit: 7", "CancelledError: gone", "GeneratorExit: ", "Stop: now"]
each_exit = pytest.mark.parametrize(
    ("make", "name"), list(zip(EXITS, NAMES, strict=True)), ids=NAMES
)


def leave(make: Callable[[], BaseException]) -> Any:
    raise make()


def make_stage(base: type, method: str, make: Callable[[], BaseException]) -> Any:
    """A stage of a plugin whose method leaves."""
    members = {"__module__": __name__, method: lambda self, *args, **kwargs: leave(make)}
    return type("Leaving", (base,), members)


def build(group: str, cls: Any, folder: Path) -> Any:
    return StagePool().get(
        Option(group, "mine", cls, "acme", "acme-dist"), {}, {}, Store(folder), group
    )


PLACE = rf"mine, plugin 'acme' of acme-dist: {__file__}, line \d+"


@each_exit
@pytest.mark.parametrize(
    ("stage", "base", "method"),
    [
        ("memory", Memory, "view"),
        ("rewriter", Rewriter, "rewrite"),
        ("retriever", Retriever, "retrieve"),
        ("reranker", Ranker, "score"),
        ("selector", Selector, "select"),
        ("context", toys.PlainContext, "assemble"),
        ("generator", toys.QuotingGenerator, "generate"),
        ("generator", toys.QuotingGenerator, "read"),
    ],
)
@pytest.mark.parametrize("by_hand", [False, True])
def test_a_stage_that_leaves_costs_its_turn(
    make: Any, name: str, stage: str, base: Any, method: str, by_hand: bool, tmp_path: Path
) -> None:
    """Whether a plugin's stage or one that a program built: the next turn is answered."""
    cls = make_stage(base, method, make)
    leaving = cls() if by_hand else build(stage, cls, tmp_path)
    talking = pipeline(**{stage: leaving})
    for _ in range(2):
        record = talking.turn("c", "what?")
        told = record.error + str(record.fallbacks)
        assert name in told
        assert f"{__file__}, line" in told
        if not by_hand:
            assert f"plugin 'acme' of acme-dist: {__file__}" in told


@each_exit
@pytest.mark.parametrize("method", ["prepare", "check", "content_hash", "report", "__init__"])
def test_a_stage_that_leaves_before_the_first_turn_is_named(
    make: Any, name: str, method: str, tmp_path: Path
) -> None:
    cls = make_stage(toys.ShoutingRewriter, method, make)
    if method != "__init__":
        cls.__init__ = lambda self: None

    def use() -> None:
        stages = StagePool()
        option = Option("rewriter", "mine", cls, "acme", "acme-dist")
        stage = stages.get(option, {}, {}, Store(tmp_path), "rewriter")
        stages.prepare(stage)
        getattr(stage, method)()

    with pytest.raises(StageFault, match=rf"{name}.*plugin 'acme' of acme-dist: {__file__}, line"):
        use()


class LeavingDataset(Dataset):
    """Leaves at its second conversation, passage or part."""

    def conversations(self) -> Iterator[Any]:
        yield toys.talk("a", "one?")
        sys.exit(7)

    def corpus_parts(self, domain: str) -> Iterator[CorpusPart]:
        yield CorpusPart("1", lambda: [Passage("p1", "one")])
        sys.exit(7)


@pytest.mark.parametrize("method", ["conversations", "corpus_parts"])
def test_a_data_set_that_leaves_midway_is_named(method: str, tmp_path: Path) -> None:
    dataset = build("dataset", LeavingDataset, tmp_path)
    items = getattr(dataset, method)(*(["default"] if method != "conversations" else []))
    assert next(items)
    with pytest.raises(StageFault, match=rf"{method} failed: SystemExit: 7 \(dataset={PLACE}"):
        next(items)


def test_a_data_set_whose_items_nobody_wants_is_closed(tmp_path: Path) -> None:
    closed = []

    class Many(Dataset):
        """Notes its end."""

        def conversations(self) -> Iterator[Any]:
            try:
                yield from range(9)
            finally:
                closed.append(True)

    items = build("dataset", Many, tmp_path).conversations()
    assert next(items) == 0
    items.close()
    assert closed == [True]


def test_a_metric_that_leaves_leaves_the_others(tmp_path: Path) -> None:
    class Counting(Metrics):
        """Measures nothing."""

        def measure(self, records: Any) -> Any:
            return {}

    cls = make_stage(Metrics, "measure", EXITS[0])
    metrics = {"mine": build("metrics", cls, tmp_path), "other": Counting()}
    results = measure(metrics, [])
    assert "SystemExit: 7" in results.failures["mine"]
    assert "plugin 'acme' of acme-dist" in results.failures["mine"]
    assert "other" in results.values


@each_exit
def test_an_observer_that_leaves_is_warned_of(make: Any, name: str, caplog: Any) -> None:
    from convrag.api.hookspecs import hookimpl
    from convrag.registry.hook_calls import make_manager, register_guarded

    class Plugin:
        @hookimpl
        def convrag_run_started(self, run: Any) -> None:
            leave(make)

    manager = make_manager()
    register_guarded(manager, Plugin(), "acme-dist:acme")
    manager.hook.convrag_run_started(run=None)
    assert f"plugin acme-dist:acme: convrag_run_started failed: {name}" in caplog.text
    with pytest.raises(StageFault, match=rf"convrag_run_started failed: {name}"):
        Observers(Plugin()).notify("convrag_run_started", run=None)


class LeavingEntryPoint:
    """An entry point whose import leaves."""

    name = "acme"
    value = "acme"
    dist = None

    def __init__(self, make: Any) -> None:
        self.make = make

    def load(self) -> object:
        return leave(self.make)


@each_exit
def test_an_entry_point_that_leaves_when_it_is_imported_is_left_out(make: Any, name: str) -> None:
    found: Any = [LeavingEntryPoint(make)]
    failures = Plugins(found).registry.failures
    assert len(failures) == 1
    assert isinstance(failures[0], PluginError)
    assert name.strip() in str(failures[0])


def test_a_call_in_another_thread_that_leaves_is_an_error() -> None:
    ended = []

    def call(number: int) -> int:
        if number == 1:
            sys.exit(7)
        ended.append(number)
        return number

    with pytest.raises(RuntimeError, match="SystemExit: 7"):
        list(map_parallel(call, range(3), workers=1))
    assert 0 in ended


def test_work_of_a_stream_that_leaves_raises_no_exit() -> None:
    stream: Stream[str, int] = Stream(lambda send: sys.exit(7))
    with pytest.raises(RuntimeError, match="SystemExit: 7"):
        list(stream)


def interrupted(leave_now: Callable[[], Any]) -> Any:
    """A retriever that is interrupted while it searches."""

    class Interrupted(toys.ListRetriever):
        def retrieve(self, queries: Any, k: int) -> Any:
            return leave_now()

    return Interrupted


def test_an_interruption_is_no_failure_of_the_stage(tmp_path: Path) -> None:
    """Ctrl-C, a cancelled turn, and an exit that the handler of a signal raises end more."""

    def end(number: int, frame: Any) -> None:
        raise SystemExit(143)

    before = signal.signal(signal.SIGTERM, end)
    try:
        for leave_now, expected in [
            (lambda: os.kill(os.getpid(), signal.SIGTERM), SystemExit),
            (lambda: leave(KeyboardInterrupt), KeyboardInterrupt),
            (lambda: leave(Cancelled), Cancelled),
        ]:
            cls = interrupted(leave_now)
            with pytest.raises(expected):
                build("retriever", cls, tmp_path).retrieve([Query("tea")], 1)
            with pytest.raises(expected):
                pipeline(retriever=cls()).turn("c", "what?")
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_cancelled_turn_is_cancelled() -> None:
    assert not is_failure(Cancelled())
    assert not is_failure(KeyboardInterrupt())
    cancellation = Cancellation()
    cancellation.cancel()
    with cancellation.apply(), pytest.raises(Cancelled):
        pipeline().turn("c", "what?")


@pytest.mark.parametrize(
    ("hits", "problem"),
    [
        (lambda k: [Hit(Passage("p", "x"), float("inf"))], "retrieve returned inf"),
        (lambda k: [Hit(Passage("p", "x"), float("-inf"))], "retrieve returned -inf"),
        (
            lambda k: [Hit(Passage("p", "x"), "high")],
            "retrieve returned a str, which is not a number",
        ),  # type: ignore[arg-type]
        (lambda k: [Hit(Passage("p", "x"), None)], "retrieve returned None, which is not a number"),  # type: ignore[arg-type]
        (lambda k: [Hit("p", 1.0)], "retrieve returned a str, which is not a Passage"),  # type: ignore[arg-type]
        (lambda k: [Passage("p", "x")], "retrieve returned a Passage, which is not a Hit"),
        (lambda k: None, "retrieve returned None, which is not a list of Hit"),
        (
            lambda k: {"p": Hit(Passage("p", "x"), 1.0)},
            "retrieve returned a dict, which is not a list of Hit",
        ),
        (lambda k: [Hit(Passage("p", "x"), 1.0)] * 2, "retrieve returned the passage 'p' twice"),
        (
            lambda k: [Hit(Passage(f"p{n}", "x"), 1.0) for n in range(k + 1)],
            "retrieve returned 6 passages where at most 5 are wanted",
        ),
    ],
)
def test_hits_that_will_not_do_name_the_retriever_whoever_asks(
    hits: Any, problem: str, tmp_path: Path
) -> None:
    class Odd(Retriever):
        """Finds odd passages."""

        def retrieve(self, q: Any, how_many: int) -> Any:
            return hits(how_many)

    with pytest.raises(StageFault, match=rf"{problem}.*\(retriever={PLACE}"):
        build("retriever", Odd, tmp_path).retrieve([Query("tea")], 5)


@pytest.mark.parametrize(
    ("scores", "problem"),
    [
        ([float("inf"), 1.0], "score returned inf"),
        ([float("nan"), 1.0], "score returned NaN"),
        ([1.0], "score returned 1 scores for 2 texts"),
        ([1.0, 2.0, 3.0], "score returned 3 scores for 2 texts"),
        (["1", "2"], "score returned a str, which is not a number"),
        ([[1.0], [2.0]], "score returned a list, which is not a number"),
        ([10**400, 1], "score returned an int, which is not a number"),
        ({"a": 1.0, "b": 2.0}, "score returned a dict, which is not a list of float"),
        (2.0, "score returned a float, which is not a list of float"),
        (None, "score returned None, which is not a list of float"),
    ],
)
@pytest.mark.parametrize("method", ["score", "score_for"])
def test_scores_that_will_not_do_name_the_ranker_whoever_asks(
    scores: Any, problem: str, method: str, tmp_path: Path
) -> None:
    members = {"__module__": __name__, "score": lambda self, q, t: scores}
    members[method] = members["score"]
    ranker = build("ranker", type("Odd", (Ranker,), members), tmp_path)
    with pytest.raises(
        StageFault, match=rf"{problem.replace('score', method, 1)}.*\(ranker={PLACE}"
    ):
        getattr(ranker, method)("tea", ["a", "b"])


def test_a_retriever_that_asks_another_one_is_not_blamed(tmp_path: Path) -> None:
    class Odd(toys.ListRetriever):
        """Finds endless relevance."""

        def retrieve(self, queries: Any, k: int) -> list[Hit]:
            return [Hit(Passage("p", "x"), float("inf"))]

    inner = build("retriever", Odd, tmp_path)

    class Asking(Retriever):
        """Asks another one."""

        def retrieve(self, queries: Any, k: int) -> list[Hit]:
            found: list[Hit] = inner.retrieve(queries, k)
            return found

    record = pipeline(retriever=Asking()).turn("c", "what?")
    assert "retriever=mine, plugin 'acme' of acme-dist" in record.error
    assert "Asking" not in record.error


def test_vectors_and_labels_have_a_row_for_each_text(tmp_path: Path) -> None:
    import numpy as np

    class Short(toys.LetterEmbedder):
        """Embeds all texts but one."""

        def embed(self, texts: Any, *, query: bool = False) -> Any:
            return np.ones((len(texts) - 1, 3), dtype=np.float32)

    embedder = build("embedder", Short, tmp_path)
    with pytest.raises(
        StageFault, match=rf"embed returned 1 vectors for 2 texts \(embedder={PLACE}"
    ):
        embedder.embed(["a", "b"])

    class Lazy(Clusterer):
        """Labels nothing."""

        def cluster(self, texts: Any, embedder: Any) -> Any:
            return np.zeros(0, dtype=np.int64)

    clusterer = build("clusterer", Lazy, tmp_path)
    with pytest.raises(
        StageFault, match=rf"cluster returned 0 labels for 2 texts \(clusterer={PLACE}"
    ):
        clusterer.cluster(["a", "b"], embedder)
