"""What a computing call returns is what a reusing call returns; what cannot be kept is named; no
paid reply is lost.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toys
from convrag import Answer, Completion, Conversations, ConvragError, Store
from convrag.api.stage import remembered
from convrag.concurrency.streaming import current_listener, listen_with
from convrag.run.records import TurnRecords, read_records, to_json
from convrag.run.run_folder import RunFolder
from convrag.run.writers import Writers
from convrag.store.files import write_atomically
from convrag.store.remember import remember
from convrag.store.values import ArrayCodec
from convrag.testing import make_prompt


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def known(stage: Any, store: Store) -> Any:
    stage.fingerprint = "f"
    remember(stage, store)
    return stage


class Giving(toys.ReverseRanker):
    """Gives what it was made with, whatever it is asked."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def score(self, query: str, texts: Any) -> Any:
        return self.value

    @remembered()
    def describe(self, query: str) -> dict[str, Any]:
        return self.value

    @remembered(each="texts", array="float32")
    def rows(self, texts: list[str]) -> Any:
        return self.value

    @remembered(each="texts")
    def names(self, texts: list[str]) -> list[tuple[str, int]]:
        return self.value


def test_inf_nan_and_tuples_come_back_in_every_call(store: Store) -> None:
    value = {"best": float("inf"), "span": (1, 2), 3: {4}, "none": float("nan")}
    for stage in (known(Giving(value), store), known(Giving("never computed"), store)):
        found = stage.describe("q")
        assert repr(found) == repr(value)
        assert found is not value


def test_rows_and_no_rows_have_the_declared_type(store: Store) -> None:
    for value in ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]], dtype=np.int64)):
        for stage in (known(Giving(value), store), known(Giving(None), store)):
            rows = stage.rows(["a", "b"])
            assert (rows.dtype, rows.tolist()) == (np.float32, [[1, 2], [3, 4]])
    nothing = known(Giving(np.zeros((0, 5))), store).rows([])
    assert (nothing.dtype, nothing.shape) == (np.float32, (0, 5))
    for stage in (known(Giving((("x", 1), ("y", 2))), store), known(Giving(None), store)):
        assert stage.names(["a", "b"]) == [("x", 1), ("y", 2)]
    assert known(Giving(()), store).names([]) == []


@pytest.mark.parametrize(
    ("method", "value", "message"),
    [
        ("rows", [[1.0]], "Giving.rows returned 1 rows for 2 texts; there must be one for each."),
        ("rows", np.float64(1), "Giving.rows returned one number"),
        ("rows", None, "Giving.rows returned object values, which are not float32"),
        ("rows", [[1.0], [1.0, 2.0]], "Giving.rows returned no array"),
        ("names", 7, "Giving.names returned int instead of a list"),
        ("score", ["high", "low"], "Giving.score returned <U4 values, which are not float64"),
        (
            "describe",
            {"a": [object()]},
            r"Giving.describe returned an object of builtins.object at a\[0\]: the store",
        ),
    ],
)
def test_what_cannot_be_kept_is_an_error_that_names_method_and_place(
    method: str, value: Any, message: str, store: Store
) -> None:
    arguments = {"score": ("q", ["a", "b"]), "describe": ("q",)}.get(method, (["a", "b"],))
    for _ in range(2):
        with pytest.raises(ConvragError, match=message):
            getattr(known(Giving(value), store), method)(*arguments)


def test_rows_of_other_lengths_in_later_calls_are_named(store: Store) -> None:
    known(Giving([[1.0, 2.0]]), store).rows(["a"])
    with pytest.raises(
        ConvragError, match=r"Giving.rows returned rows of different shapes .*: \(1,\), \(2,\)"
    ):
        known(Giving([[1.0]]), store).rows(["a", "b"])


def test_an_object_whose_constructor_does_not_take_its_fields_is_an_error(store: Store) -> None:
    @dataclass
    class Strict:
        number: int

        def __post_init__(self) -> None:
            if self.number > 1:
                raise ValueError("too large")

    class Odd(Giving):
        @remembered()
        def find(self, query: str) -> Any:
            found = Strict(1)
            found.number = 2
            return found

    Odd.find.__annotations__["return"] = Strict
    with pytest.raises(
        ConvragError, match=r"Odd.find returned what cannot be made again \(ValueError: too large\)"
    ):
        known(Odd(None), store).find("q")


class HalfLLM(toys.EchoLLM):
    """A model whose replies hold half a surrogate pair, and the halves of one."""

    streams = True
    pieces = ("a \ud83d", "\ude00 b\ud800", "c \udc00", "\ud83d")

    def complete(self, prompt: Any) -> Completion:
        self.asked += 1
        for piece in self.pieces:
            if listener := current_listener():
                listener(piece)
        return Completion("".join(self.pieces), 3, 2, model="m\ud800")


MENDED = "a 😀 b\ufffdc \ufffd\ufffd"


def test_a_reply_with_half_a_surrogate_pair_is_paid_for_once(store: Store) -> None:
    llm = known(HalfLLM(), store)
    first, again = (
        llm.complete(make_prompt()),
        known(llm2 := HalfLLM(), store).complete(make_prompt()),
    )
    assert (first.text, again, llm.asked, llm2.asked) == (MENDED, first, 1, 0)
    for heard in ([], []):  # it was streamed, or it is reused
        with listen_with(heard.append):
            known(HalfLLM(), Store(store.path.with_name(f"other{len(heard)}"))).complete(
                make_prompt()
            )
        assert "".join(heard) == MENDED
        "".join(heard).encode()


def test_such_a_reply_gets_through_a_whole_turn_and_its_files(store: Store, tmp_path: Path) -> None:
    class Telling(toys.QuotingGenerator):
        def __init__(self, llm: Any) -> None:
            self.llm = llm

        def generate(self, question: Any, evidence: Any) -> Answer:
            return Answer(self.llm.complete(make_prompt()).text, trace={"raw": "\ud800"})

    chat = toys.pipeline(
        generator=Telling(known(HalfLLM(), store)),
        conversations=Conversations(tmp_path / "saved.db"),
    )
    record = chat.turn("c", "what?")
    assert (record.error, record.answer.text) == ("", MENDED)
    files = RunFolder(tmp_path / "run")
    files.unfinished.mkdir(parents=True, exist_ok=True)
    Writers(files).convrag_turn_finished(run=None, record=record)
    (read,) = read_records(files.unfinished / "intermediate")
    assert read.trace["generator"] == {"raw": "\ud800"}
    kept = TurnRecords(in_memory=0)
    kept.add(record)
    assert [each.trace["generator"] for each in kept] == [{"raw": "\ud800"}]
    kept.close()
    assert "\\ud800" not in to_json(record)


def test_half_a_pair_is_written_as_json_does_it(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", json.dumps({"a": "x\ud800"}, ensure_ascii=False))
    assert json.loads((tmp_path / "file").read_text(encoding="utf-8")) == {"a": "x\ud800"}


def test_of_a_paid_reply_with_odd_fields_the_text_is_kept(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    class OddLLM(toys.EchoLLM):
        def complete(self, prompt: Any) -> Any:
            self.asked += 1
            return Completion(
                "yes", prompt_tokens=object(), completion_tokens=2, cost_usd=np.float64(0.5)
            )  # type: ignore[arg-type]

    llm = known(OddLLM(), store)
    replies = [llm.complete(make_prompt()) for _ in range(2)]
    assert replies == [Completion("yes")] * 2
    assert llm.asked == 1
    assert "OddLLM.complete returned an object of builtins.object at prompt_tokens" in caplog.text


def test_a_library_that_cannot_be_imported_is_no_damage(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = known(Giving([1.0]), store)
    stage.score("q", ["a"])

    def fail(*_: object) -> None:
        raise ImportError("cannot import name 'stack' from partially initialized module 'numpy'")

    monkeypatch.setattr(ArrayCodec, "decode", fail)
    with pytest.raises(ImportError):
        stage.score("q", ["a"])
