import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
from omegaconf import OmegaConf

import toys
from convrag import (
    LLM,
    Clusterer,
    ConfigError,
    Embedder,
    Rewrite,
    Rewriter,
    Store,
    operational,
    use,
)
from convrag.api.errors import MissingExtra, NotReady, StageFault
from convrag.concurrency.cancellation import Cancellation, Cancelled
from convrag.config.compose import compose
from convrag.registry import plugins
from convrag.registry.option import Option
from convrag.registry.plugins import Plugins
from convrag.turn.stage_pool import StagePool, fingerprint_stage, pool
from convrag.turn.wiring import Wiring
from processes import run_in_child


class Injected(Rewriter):
    """Takes one of everything."""

    def __init__(
        self,
        *,
        llm: LLM,
        embedder: Embedder,
        second: LLM | None = None,
        clusterer: Clusterer = use("pairs"),
        note: Path | None = None,
        threads: Annotated[int, operational] = 1,
    ) -> None:
        self.llm, self.embedder, self.second, self.clusterer, self.note = (
            llm,
            embedder,
            second,
            clusterer,
            note,
        )

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite.of(question.text)


class Hungry(LLM):
    """Needs a rewriter, which needs it."""

    def __init__(self, *, rewriter: Rewriter) -> None: ...

    def complete(self, prompt: Any) -> Any: ...

    def count_tokens(self, text: str) -> int:
        return 0


class Keyless(toys.EchoLLM):
    """Has no key."""

    def check(self) -> Any:
        yield "ACME_KEY is not set: export it"


class Unequipped(toys.EchoLLM):
    """Lacks two libraries, and would fail to check anything without them."""

    requires: ClassVar = {"a_library": "acme[gpu]", "another": "acme[gpu]", "json": "nothing"}

    def check(self) -> Any:
        raise AssertionError("check() needs the libraries")


class Importing(toys.EchoLLM):
    """Imports what it lacks as soon as it is made."""

    requires: ClassVar = {"a_library": "acme[gpu]"}

    def __init__(self) -> None:
        import a_library  # noqa: F401


@pytest.fixture
def wire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    hook = toys.registering(
        ("llm", "echo", toys.EchoLLM),
        ("llm", "hungry", Hungry),
        ("llm", "keyless", Keyless),
        ("llm", "unequipped", Unequipped),
        ("llm", "importing", Importing),
        ("embedder", "letters", toys.LetterEmbedder),
        ("clusterer", "pairs", toys.PairClusterer),
        ("rewriter", "injected", Injected),
    )
    loaded = Plugins([toys.plugin("toy_wiring", convrag_register=hook)])
    monkeypatch.setattr(plugins, "load", lambda: loaded)

    def make(**nodes: Any) -> Wiring:
        defaults = {
            "store": {"path": str(tmp_path / "store")},
            "llm": "echo",
            "embedder": "letters",
            "rewriter": "injected",
        }
        given = {
            key: {"_option_": value} if isinstance(value, str) else value
            for key, value in (defaults | nodes).items()
        }
        return Wiring(OmegaConf.create(given))

    return make


def test_stages_are_injected_by_annotation_and_shared(wire: Any) -> None:
    wiring = wire()
    rewriter = wiring.get("rewriter")
    assert rewriter.llm is wiring.get("llm")
    assert rewriter.second is None
    assert isinstance(rewriter.clusterer, toys.PairClusterer)
    assert wire().get("rewriter") is rewriter, "an equal configuration is the same stage"
    assert wire(llm={"_option_": "echo", "mark": "!"}).get("rewriter") is not rewriter


MODEL = "llm=openai_compatible llm.model=m llm.api_base=http://h/v1"


@pytest.mark.parametrize(
    ("chosen", "used", "unused"),
    [
        ("generator=ginger clusterer=lsa", "clusterer ranker summarizer", "embedder"),
        ("generator=ginger clusterer=none summarizer.max_tokens=9", "llm", "embedder"),
        ("generator=ginger clusterer=kmeans", "embedder", ""),
        ("generator=ginger generator.outliers=nearest", "embedder", ""),
        ("rewriter=condense", "llm", "embedder retriever"),
        ("detector=auto", "detector.matching", "detector.tagging"),
        (f"detector=auto {MODEL}", "detector.tagging", "detector.matching"),
        ("rewriter=auto", "llm rewriter.prompting", "embedder"),
        (f"rewriter=auto {MODEL}", "llm rewriter.prompting", "embedder"),
        ("rewriter=weighted_history", "llm", ""),
        ("rewriter=weighted_history rewriter.standalone=blend", "rewriter.standalone", "llm"),
        ("retriever=elasticsearch", "dataset", "embedder"),
        ("retriever=elasticsearch retriever.mode=dense", "embedder", ""),
        ("retriever=elasticsearch_hybrid", "embedder", ""),
        ("retriever=elser", "dataset", "embedder"),
    ],
)
def test_a_stage_that_the_settings_do_not_use_is_not_built(
    chosen: str, used: str, unused: str, here: Path
) -> None:
    """The run's embedder was fitted to the whole corpus for a search by words."""
    wiring, group = Wiring(compose(*chosen.split())), chosen.partition("=")[0]
    wiring.get(group)
    assert {*used.split()} <= {*wiring.collect_configuration([group])}
    assert not {*unused.split()} & {*wiring.stages}


class Choosy(Rewriter):
    """Cannot say what it uses."""

    def __init__(self, *, llm: LLM) -> None:
        self.llm = llm

    @classmethod
    def uses_stage(cls, name: str, parameters: Any) -> bool:
        return bool(parameters["mode"])

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite.of(question.text)


def test_a_stage_that_cannot_say_what_it_uses_is_named(tmp_path: Path) -> None:
    option = Option("rewriter", "choosy", Choosy, "plugin", "acme")
    message = r"rewriter=choosy cannot be built: KeyError: 'mode' \(plugin 'plugin' of acme"
    with pytest.raises(StageFault, match=message):
        pool.uses_stage(option, "llm", {}, "rewriter")


def test_a_stage_can_be_given_its_own(wire: Any) -> None:
    own = {
        "_option_": "injected",
        "llm": {"_option_": "echo", "mark": "own"},
        "second": {"_option_": "echo", "mark": "2"},
    }
    wiring = wire(rewriter=own)
    rewriter = wiring.get("rewriter")
    assert (rewriter.llm.mark, rewriter.second.mark, wiring.get("llm").mark) == ("own", "2", "")
    assert list(wiring.stages)[:2] == ["rewriter.llm", "embedder"]


@pytest.mark.parametrize(
    ("rewriter", "message"),
    [
        ({"_option_": "injected", "embedder": "nosuch"}, "embedder 'nosuch' does not exist"),
        ({"_option_": "injected", "clusterer": 3}, "clusterer '3' does not exist"),
        ({"_option_": "nosuch"}, "rewriter 'nosuch' does not exist"),
        ({"_option_": "injected", "alfa": 1}, "rewriter=injected: parameter 'alfa' does not exist"),
    ],
)
def test_what_cannot_be_wired_says_how_to(wire: Any, rewriter: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        wire(rewriter=rewriter).get("rewriter")


def test_stages_that_need_each_other_are_told_so(wire: Any) -> None:
    with pytest.raises(ConfigError, match="rewriter -> llm -> rewriter"):
        wire(llm="hungry").get("rewriter")


def test_a_group_without_a_choice_is_named(wire: Any) -> None:
    with pytest.raises(ConfigError, match=r"no embedder is chosen; embedder=\.\.\. \(letters\)"):
        wire(embedder=None).get("rewriter")


def test_what_is_missing_is_said_before_the_first_turn(wire: Any) -> None:
    wiring = wire(llm="keyless")
    wiring.get("rewriter")
    with pytest.raises(NotReady, match="^llm=keyless: ACME_KEY is not set: export it$"):
        wiring.check()


@pytest.mark.parametrize("llm", ["unequipped", "importing"])
def test_libraries_that_are_missing_are_said_before_the_stage_is_built(wire: Any, llm: str) -> None:
    with pytest.raises(
        MissingExtra, match=rf"^llm={llm} needs a_library.*: pip install 'acme\[gpu\]'$"
    ):
        wire(llm=llm).get("rewriter")


def test_fingerprints_follow_what_bears_on_results(wire: Any, tmp_path: Path) -> None:
    def of(**parameters: Any) -> str:
        return str(
            wire(rewriter={"_option_": "injected", **parameters}).get("rewriter").fingerprint
        )

    assert of(threads=8) == of()
    assert of(clusterer={"_option_": "pairs"}) == of()
    assert of(llm={"_option_": "echo", "mark": "x"}) != of()
    (tmp_path / "a").write_text("same")
    (tmp_path / "b").write_text("same")
    (tmp_path / "c").write_text("other")
    assert of(note=str(tmp_path / "a")) == of(note=str(tmp_path / "b"))
    assert of(note=str(tmp_path / "a")) != of(note=str(tmp_path / "c"))


def test_what_stands_behind_an_address_is_part_of_all_stages_that_ask_it(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nuggets of one server were reused for another."""

    def find(address: str) -> set[str]:
        monkeypatch.setenv("MY_SERVER", address)
        config = compose(
            "llm=openai_compatible",
            "llm.api_base=null",
            "llm.api_base_env=MY_SERVER",
            "detector=llm",
        )
        wiring = Wiring(config)
        return {wiring.get(place).fingerprint for place in ("llm", "detector", "generator")}

    assert not find("http://127.0.0.1:1/v1") & find("http://127.0.0.1:2/v1")
    assert find("http://127.0.0.1:1/v1") == find("http://127.0.0.1:1/v1")


def test_paths_in_lists_and_folders_count_with_their_contents(tmp_path: Path) -> None:
    class Reader(toys.EchoLLM):
        def __init__(self, *, files: list[Path], folder: Path) -> None:
            super().__init__()

    option = Option("llm", "reader", Reader, "plugin", "acme")
    (tmp_path / "folder").mkdir()
    (tmp_path / "a").write_text("1")

    def of() -> str:
        values = {"files": [tmp_path / "a"], "folder": tmp_path / "folder"}
        return fingerprint_stage(option, values, {}, Reader(**values))

    found = [of(), of()]
    (tmp_path / "a").write_text("2")
    found.append(of())
    (tmp_path / "folder" / "b").write_text("3")
    found.append(of())
    assert found[0] == found[1]
    assert len(set(found)) == 3


def test_files_that_a_stage_hashes_itself_may_be_moved(tmp_path: Path) -> None:
    class Reader(toys.EchoLLM):
        def __init__(self, *, files: Path | list[Path]) -> None:
            super().__init__()

        def content_hash(self) -> str:
            return "contents"

    option = Option("llm", "reader", Reader, "plugin", "acme")

    def of(files: Path | list[Path]) -> str:
        return fingerprint_stage(option, {"files": files}, {}, Reader(files=files))

    assert of(tmp_path / "a") == of(tmp_path / "b")
    assert of([tmp_path / "a", tmp_path / "c"]) == of([tmp_path / "b", tmp_path / "d"])


def test_a_metric_that_stands_in_the_wrong_place_is_one_message(here: Path) -> None:
    config = OmegaConf.create(
        {"store": {"path": "store"}, "metrics": {"_option_": "ranking", "measures": ["R@3"]}}
    )
    with pytest.raises(ConfigError, match="begins with '# @package metrics"):
        Wiring(config).get_all("metrics")


class Stumbling(Rewriter):
    """Raises in its constructor."""

    def __init__(self, *, words: str = "one") -> None:
        if words == "two":
            raise ValueError("two is too many")
        self.first = {"one": 1}[words]

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite.of(question.text)


def test_a_constructor_that_raises_is_named_with_file_and_line(tmp_path: Path) -> None:
    """A KeyError ended in a traceback that named no option."""
    option, store = Option("rewriter", "stumbling", Stumbling, "plugin", "acme"), Store(tmp_path)
    line = Stumbling.__init__.__code__.co_firstlineno
    fault = f"KeyError: 'x' (plugin 'plugin' of acme: {__file__}, line "
    with pytest.raises(StageFault) as raised:
        pool.get(option, {"words": "x"}, {}, store, "rewriter")
    assert str(raised.value) == f"rewriter=stumbling cannot be built: {fault}{line + 3})"
    assert raised.value.exit_status == 1
    with pytest.raises(
        ConfigError, match=rf"two is too many \(.*test_wiring.py, line {line + 2}\)"
    ):
        pool.get(option, {"words": "two"}, {}, store, "rewriter")


class Preparing(toys.EchoLLM):
    """Prepares as long as a test wants."""

    def __init__(self, *, mark: str = "") -> None:
        super().__init__(mark=mark)
        self.begun, self.end = threading.Event(), threading.Event()
        self.prepared = 0

    def prepare(self) -> None:
        self.begun.set()
        assert self.end.wait(60)
        self.prepared += 1


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[tuple[StagePool, Preparing]]:
    """A stage that another thread is preparing, and its pool."""
    stages = StagePool()
    stage: Any = stages.get(PREPARING, {"mark": "slow"}, {}, Store(tmp_path), "llm")
    thread = threading.Thread(target=stages.prepare, args=[stage])
    thread.start()
    assert stage.begun.wait(60)
    yield stages, stage
    stage.end.set()
    thread.join()


PREPARING = Option("llm", "preparing", Preparing, "toy", "toy")


def test_nobody_waits_for_a_stage_of_others_that_is_being_prepared(
    slow: tuple[StagePool, Preparing], tmp_path: Path
) -> None:
    stages, stage = slow

    def prepare_another() -> None:
        other: Any = stages.get(PREPARING, {"mark": "other"}, {}, Store(tmp_path), "llm")
        other.end.set()
        stages.prepare(other)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(prepare_another).result(60)
        same = pool.submit(stages.prepare, stage)
        with pytest.raises(TimeoutError):
            same.result(0.2)
        stage.end.set()
        same.result(60)
    assert stage.prepared == 1


def test_a_wait_for_a_stage_that_is_being_prepared_can_be_cancelled(
    slow: tuple[StagePool, Preparing],
) -> None:
    stages, stage = slow
    cancellation = Cancellation()
    cancellation.cancel()

    def wait() -> None:
        with cancellation.apply():
            stages.prepare(stage)

    with ThreadPoolExecutor(1) as pool, pytest.raises(Cancelled):
        pool.submit(wait).result(60)


@pytest.mark.slow
def test_a_child_prepares_what_a_thread_of_its_parent_was_preparing(
    slow: tuple[StagePool, Preparing], tmp_path: Path
) -> None:
    stages, stage = slow

    def prepare() -> None:
        stage.end.set()
        stages.prepare(stage)
        stages.get(PREPARING, {"mark": "new"}, {}, Store(tmp_path), "llm")

    child = run_in_child(prepare)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
    assert ended == (child, 0)
