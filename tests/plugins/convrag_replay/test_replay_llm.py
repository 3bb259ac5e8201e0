"""Recording the replies of a run, and running from the recording."""

import json
from pathlib import Path
from typing import Any

import pytest

import toys
from commands import convrag, run_folders
from convrag import (
    Answer,
    Completion,
    ConfigError,
    DataError,
    LLMError,
    Message,
    Prompt,
    Run,
    Store,
)
from convrag.config.compose import compose
from convrag.config.settings import Settings
from convrag.run.workers import ConversationWorkers
from convrag.sdk.llm import recording
from convrag.store.files import open_atomically
from convrag.store.remember import remember
from convrag.store.usage_meter import UsageMeter
from convrag.testing import LLMContract, make_prompt
from convrag_replay.llm import ReplayLLM
from convrag_tasks.run import Recorder, RecordTask

FIRST = Prompt(
    "answer", (Message("system", "Be brief."), Message("user", "Who was Laika?")), {"x": 1}
)
REPLY = Completion(
    "A dog.", 7, 3, cached_tokens=2, cost_usd=0.5, seconds=1.5, retries=1, model="gpt-4"
)


def write(path: Path, *pairs: tuple[Prompt, Completion]) -> Path:
    path.write_text(
        "".join(f"{recording.format_reply(*pair)}\n" for pair in pairs), encoding="utf-8"
    )
    return path


class TestReplayContract(LLMContract):
    @pytest.fixture(autouse=True)
    def _path(self, tmp_path: Path) -> None:
        self.path = write(tmp_path / "r.jsonl", (self.prompt(), REPLY))

    def make(self) -> ReplayLLM:
        return ReplayLLM(path=self.path)


class TestReplay:
    def test_it_is_found_by_messages_sampling_and_attempt(self, tmp_path: Path) -> None:
        stage = ReplayLLM(path=write(tmp_path / "r.jsonl", (FIRST, REPLY)))
        assert (
            stage.complete(Prompt("another task", FIRST.messages, {"other": "inputs"})).text
            == "A dog."
        )
        others = [
            Prompt("answer", FIRST.messages[1:]),
            Prompt("answer", FIRST.messages, sampling={"temperature": 1}),
            Prompt("answer", FIRST.messages, attempt=1),
        ]
        for other in others:
            with pytest.raises(LLMError):
                stage.complete(other)

    def test_what_is_missing_is_named(self, tmp_path: Path) -> None:
        path = write(tmp_path / "r.jsonl", (FIRST, REPLY))
        prompt = Prompt(
            "rewrite",
            (Message("user", f"Rewrite this. {'x' * 500} And when was that?"),),
            attempt=1,
        )
        with pytest.raises(
            LLMError, match=r"task 'rewrite', attempt 1\): 'Rewrite this\. .*And when was that\?'"
        ) as raised:
            ReplayLLM(path=path).complete(prompt)
        assert str(path) in str(raised.value)
        assert len(str(raised.value)) < 500

    def test_another_recording_is_another_stage(self, tmp_path: Path) -> None:
        one = ReplayLLM(path=write(tmp_path / "1.jsonl", (FIRST, REPLY)))
        same = ReplayLLM(path=write(tmp_path / "2.jsonl", (FIRST, REPLY)))
        other = ReplayLLM(path=write(tmp_path / "3.jsonl", (FIRST, Completion("A cat."))))
        assert one.content_hash() == same.content_hash() != other.content_hash()

    @pytest.mark.parametrize(
        ("text", "parts"),
        [
            (None, ["does not exist"]),
            ("", ["holds no reply"]),
            ("{broken\n", ["line 1", "not JSON"]),
            ('{"key": "k"}\n', ["line 1", "not a recorded reply: text"]),
            ('{"key": "k", "text": 3}\n', ["line 1", "not a recorded reply: text"]),
            ('{"key": "k", "text": "a"}\n\n{"key": "k", "text": "b"}\n', ["line 3", "already"]),
        ],
    )
    def test_a_broken_recording_is_found_before_the_first_turn(
        self, text: str | None, parts: list[str], tmp_path: Path
    ) -> None:
        path = tmp_path / "r.jsonl"
        if text is not None:
            path.write_text(text)
        (problem,) = ReplayLLM(path=path).check()
        assert all(part in problem for part in [str(path), *parts])
        with pytest.raises(DataError):
            ReplayLLM(path=path).complete(FIRST)


def test_the_hash_of_a_prompt_never_changes() -> None:
    """Recordings are kept in repositories: a release that changes this makes them worthless."""
    prompt = Prompt(
        "answer",
        (Message("user", "Größe? 🐕"),),
        sampling={"top_p": 0.5, "max_tokens": 3},
        attempt=2,
    )
    assert recording.compute_prompt_key(prompt) == "d6d2474ce8c715a92c16baaed3f415cf"


class Asking(toys.QuotingGenerator):
    """One call a turn."""

    def __init__(self, llm: Any) -> None:
        self.llm = llm

    def generate(self, question: Any, evidence: Any) -> Answer:
        return Answer(self.llm.complete(make_prompt(question.text)).text)


class TestRecorder:
    def run(self, folder: Path, recorder: Recorder, store: Store) -> None:
        llm = toys.EchoLLM()
        llm.fingerprint = "f"
        remember(llm, store)
        this = Run(folder, {}, 2, 6)
        talks = [toys.talk(name, "one?", "two?", "one?") for name in ("a", "b")]
        for record in ConversationWorkers(
            toys.pipeline(generator=Asking(llm)), talks, Settings(workers=1)
        ).records():
            recorder.convrag_turn_finished(run=this, record=record)

    def test_each_reply_is_there_once_also_one_that_is_reused(self, tmp_path: Path) -> None:
        store = Store(tmp_path / "store")
        for path in (tmp_path / "1.jsonl", tmp_path / "2.jsonl"):
            with open_atomically(path) as file:
                recorder = Recorder(file)
                self.run(tmp_path, recorder, store)
            assert sorted(path.parent.glob("*.jsonl*")) == sorted(path.parent.glob("*.jsonl"))
            assert len(recording.read_recording(path)) == recorder.count == 2
        assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()

    def test_a_run_that_fails_leaves_what_was_there(self, tmp_path: Path) -> None:
        path = write(tmp_path / "r.jsonl", (FIRST, REPLY))
        before = path.read_bytes()

        def fail() -> None:
            with open_atomically(path) as file:
                self.run(tmp_path, Recorder(file), Store(tmp_path / "store"))
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fail()
        assert path.read_bytes() == before
        assert [found.name for found in tmp_path.glob(".*")] == []

    def test_a_place_that_cannot_be_written_is_found_at_once(self, tmp_path: Path) -> None:
        task = RecordTask(path=Path("/proc/nowhere/r.jsonl"), store=Store(tmp_path))
        with pytest.raises(
            ConfigError, match=r"task\.path=/proc/nowhere/r\.jsonl cannot be written"
        ):
            task.execute(compose(), tmp_path)

    def test_a_damaged_store_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        task = RecordTask(
            path=tmp_path / "r.jsonl", store=Store(tmp_path), damaged_store=tmp_path / "old.sqlite"
        )
        with pytest.raises(
            ConfigError, match=r"task\.damaged_store=.*old\.sqlite: there is no such file"
        ):
            task.execute(compose(), tmp_path)


def test_replayed_calls_spend_nothing(tmp_path: Path) -> None:
    llm = ReplayLLM(path=write(tmp_path / "r.jsonl", (FIRST, REPLY)))
    llm.fingerprint = "f"
    remember(llm, Store(tmp_path / "store"))
    meter = UsageMeter()
    with meter.measure_stage("generator"):
        llm.complete(FIRST)
    usage = meter.usage["generator"]
    assert (usage.calls, usage.prompt_tokens, usage.spent_usd, usage.unpriced) == (1, 7, 0.0, 0)


ARGUMENTS = (
    "limit=2",
    "rewriter=full_history",
    "generator=direct",
    "generator.refuse=0",
    "tracker=none",
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    done = convrag(*ARGUMENTS, "task=record", "task.path=replies.jsonl", folder=folder)
    assert done.returncode == 0, done.stderr
    assert "replies: replies.jsonl" in done.stdout
    return folder


class TestCommand:
    """task=record, and llm=replay in a folder with no store."""

    def test_a_run_from_the_recording_is_the_same(self, recorded: Path, tmp_path: Path) -> None:
        done = convrag(
            *ARGUMENTS, "llm=replay", f"llm.path={recorded / 'replies.jsonl'}", folder=tmp_path
        )
        assert done.returncode == 0, done.stderr
        assert "no model was asked" in " ".join(
            done.stdout.split()
        )  # lines are broken at the width
        (theirs,), (ours,) = run_folders(recorded), run_folders(tmp_path)
        for name in ("datasets/default.jsonl", "run.trec"):
            assert (theirs / name).read_bytes() == (ours / name).read_bytes()

    def test_recording_again_asks_nothing_and_writes_the_same(self, recorded: Path) -> None:
        before = (recorded / "replies.jsonl").read_bytes()
        done = convrag(*ARGUMENTS, "task=record", "task.path=replies.jsonl", folder=recorded)
        assert "calls: 0 made" in done.stdout
        assert (recorded / "replies.jsonl").read_bytes() == before

    def test_what_was_not_recorded_fails_and_says_so(self, recorded: Path, tmp_path: Path) -> None:
        done = convrag(
            *ARGUMENTS,
            "limit=3",
            "llm=replay",
            f"llm.path={recorded / 'replies.jsonl'}",
            folder=tmp_path,
        )
        assert done.returncode == 3, done.stderr
        (run,) = run_folders(tmp_path)
        records = [
            json.loads(line)
            for line in (run / "intermediate/default.jsonl").read_text("utf-8").splitlines()
        ]
        missed = [record["error"] for record in records if record["error"]]
        assert missed
        assert all("has no reply to this prompt (task 'answer'" in error for error in missed)

    def test_mistakes(self, tmp_path: Path) -> None:
        nowhere = convrag("llm=replay", "llm.path=gone.jsonl", folder=tmp_path)
        assert (nowhere.returncode, "gone.jsonl" in nowhere.stderr) == (2, True)
        without = convrag("task=record", folder=tmp_path)
        assert (without.returncode, "task.path" in without.stderr) == (2, True)
        grid = convrag(
            "-m",
            "rewriter=none,last_n",
            "task=record",
            "task.path=r.jsonl",
            "limit=1",
            "tracker=none",
            folder=tmp_path,
        )
        assert grid.returncode == 1
        assert "one run at a time" in grid.stderr
        assert not list(tmp_path.glob("*.jsonl"))
