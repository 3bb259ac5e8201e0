"""task=compare_answers: the answers of runs at equal length."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from convrag import Answer, ConfigError, Metrics, TurnRecord
from convrag.testing import TaskContract
from convrag_ginger.compare_answers import CompareAnswersTask, compare_pair
from tasks import run_task


class Words(Metrics):
    """Counts words, and those that are "tea"."""

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        texts = {record.turn_id: record.answer.text.split() for record in records}
        return {turn: {"words": len(words), "tea": words.count("tea")} for turn, words in texts.items()}


class TestTaskContract(TaskContract):
    def make(self) -> CompareAnswersTask:
        return CompareAnswersTask(records=[Path("one"), Path("other")])


def run(*answers: str) -> dict[str, TurnRecord]:
    ids = [f"c{n}<::>1" for n in range(len(answers))]
    return {
        id_: TurnRecord(f"c{n}", id_, "default", 1, "?", answer=Answer(text))
        for n, (id_, text) in enumerate(zip(ids, answers, strict=True))
    }


def test_each_pair_is_cut_to_the_shorter() -> None:
    """The longer answer of each pair has no advantage: they stay three words, and one."""
    ours, theirs = run("water [1] tea tea tea tea", "tea"), run("tea tea [2] milk", "milk tea tea")
    rows, stopped = compare_pair("a", "b", ours, theirs, {"words": Words()})
    assert not stopped
    (row,) = rows  # of "tea"; the numbers of words are equal
    assert (row.measure, row.turns, row.mean, row.other_mean, row.difference) == ("tea", 2, 1.5, 1.0, 0.5)


def test_the_difference_has_an_interval() -> None:
    ours = ("tea tea", "tea milk", "tea", "tea", "milk")
    theirs = ("milk", "milk tea", "milk", "tea", "milk tea")
    rows, _ = compare_pair("a", "b", run(*ours), run(*theirs), {"w": Words()})
    assert [(row.measure, row.mean, row.other_mean, row.difference) for row in rows] == [("tea", 0.8, 0.4, 0.4)]
    assert rows[0].interval is not None
    low, high = rows[0].interval
    assert 0 <= low < 0.4 < high <= 1


def test_four_conversations_have_no_interval() -> None:
    rows, _ = compare_pair("a", "b", run(*["tea"] * 4), run(*["milk"] * 4), {"w": Words()})
    assert [(row.difference, row.interval) for row in rows] == [(1.0, None)]


def test_a_metric_that_fails_is_named() -> None:
    class Broken(Metrics):
        def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
            raise ConfigError("no model")

    rows, stopped = compare_pair("a", "b", run("tea"), run("milk"), {"broken": Broken()})
    assert rows == []
    assert "metrics.broken" in stopped
    assert "no model" in stopped


def test_runs_must_have_turns_in_common(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no turn in common"):
        compare_pair("a", "b", run("tea"), {}, {"w": Words()})
    with pytest.raises(ConfigError, match=r"task\.records"):
        CompareAnswersTask(records=[tmp_path])


def test_the_command(here: Path) -> None:
    def call(*arguments: str) -> str:
        done = run_task([*arguments, "tracker=none"], here)
        assert done.returncode == 0, done.stderr
        return done.stdout

    for generator in ("ginger", "baseline"):
        call(f"generator={generator}", f"hydra.run.dir={generator}", "limit=3")
    out = call("task=compare_answers", "task.records=[ginger,baseline]", "metrics=[nuggets]", "hydra.run.dir=out")
    rows = json.loads((here / "out/comparison.json").read_text(encoding="utf-8"))
    assert {(row["one"], row["other"]) for row in rows} == {("ginger", "baseline")}
    assert "nuggets_words" not in {row["measure"] for row in rows}  # they are the same in each pair
    assert "nuggets_all" in out
