"""task=calibrate_answerability, and what generator=drafts makes of its file."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from convrag import ConfigError, DataError, Evidence, EvidenceItem, Passage, TurnRecord
from convrag.run.records import to_json
from convrag.testing import TaskContract
from convrag_drafts.answerability import Calibration, Weight, decide
from convrag_drafts.calibrate_task import CalibrateAnswerabilityTask
from convrag_drafts.calibration import (
    LabelledTurn,
    choose_threshold,
    decide_other_half,
    fit,
    measure,
    read_calibration,
    read_turns,
)
from convrag_drafts.evidence_spans import MarkedSpans

Output = pytest.CaptureFixture[str]


def make_record(
    conversation: int, number: int, label: Any, score: float | None = 1.0, decision: str = "answerable", **features: Any
) -> TurnRecord:
    known = {"verdict": 1.0, "coverage": 0.5, "passages": 0.5, **features} | ({} if score is None else {"score": score})
    trace = {"generator": {"answerability": {"decision": decision, "probability": None, **known}}}
    labels = {} if label is None else {"answerability": label}
    return TurnRecord(f"c{conversation}", f"c{conversation}-{number}", "d", number, "?", trace=trace, labels=labels)


def make_records() -> list[TurnRecord]:
    """Forty conversations: a question can be answered where the best passage has a score of about 5 and more."""
    chance = random.Random(1)
    records = []
    for conversation in range(40):
        for number in range(1, 6):
            score = chance.uniform(0, 10)
            label = "ANSWERABLE" if score + chance.gauss(0, 0.7) > 5 else "UNANSWERABLE"
            noise = chance.random()
            records.append(make_record(conversation, number, [label], score, coverage=noise, passages=noise))
    return records


def write_run(folder: Path, records: list[TurnRecord]) -> Path:
    (folder / "intermediate").mkdir(parents=True)
    lines = map(to_json, records)
    (folder / "intermediate" / "d.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def calibrate(path: Path, *runs: Path) -> int:
    return CalibrateAnswerabilityTask(records=list(runs), path=path).execute(OmegaConf.create(), path.parent)


class TestCalibrateContract(TaskContract):
    def make(self) -> CalibrateAnswerabilityTask:
        return CalibrateAnswerabilityTask(records=[Path("run")], path=Path("file.json"))


def test_what_tells_the_turns_apart_is_learnt(tmp_path: Path, capsys: Output) -> None:
    records = make_records()
    path = tmp_path / "made" / "file.json"
    assert calibrate(path, write_run(tmp_path / "a", records[:100]), write_run(tmp_path / "b", records[100:])) == 0
    said = capsys.readouterr().out
    assert "as it was decided in these runs: 100.0% of the answerable and 0.0% of the unanswerable turns right" in said
    assert f"Calibration: {path}" in said
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["tested"]["other_half"]["balanced"] > 0.85
    assert data["turns"] == 200
    weights = {name: abs(each["weight"]) for name, each in data["features"].items()}
    assert max(weights, key=weights.__getitem__) == "score"
    assert weights["verdict"] == 0, "it is the same in all turns"
    calibration = read_calibration(path)
    evidence = [Evidence((EvidenceItem(1, Passage("p", "x"), "x", score=score),)) for score in (1.0, 9.0)]
    decided = [decide("x", each, MarkedSpans(verdict="part"), calibration) for each in evidence]
    assert [each.answerability for each in decided] == ["unanswerable", "partial"]
    assert [each.probability is not None and each.probability > 0.5 for each in decided] == [False, True]


def test_halves_share_no_conversation_and_figures_are_of_the_other_one() -> None:
    turns = read_turns(make_records())
    found = decide_other_half(turns)
    assert found is not None
    tested, decided = found
    assert sorted(tested, key=str) == sorted(turns, key=str)
    begins = [n for n in range(1, 200) if tested[n].conversation != tested[n - 1].conversation]
    assert len(begins) == 39, "the turns of a conversation stand together: all of them are in one half"
    one_kind = [turn._replace(answerable=turn.conversation != turns[0].conversation) for turn in turns]
    assert decide_other_half(one_kind) is None
    quality = measure(tested, decided)
    assert quality.turns == 200
    assert quality.balanced == pytest.approx((quality.answerable + quality.unanswerable) / 2)


def test_labels_and_decisions_that_do_not_count_are_left_out() -> None:
    records = [
        make_record(1, 1, "partial"),
        make_record(1, 2, ["UNANSWERABLE", "other"], decision="unanswerable"),
        make_record(1, 3, "CONVERSATIONAL"),
        make_record(1, 4, "UNDERSPECIFIED"),
        make_record(1, 5, None),
        make_record(1, 6, []),
        make_record(1, 7, "ANSWERABLE", decision="conversational"),
        make_record(1, 8, "ANSWERABLE", decision="unknown"),
        TurnRecord("c", "c-9", "d", 9, "?", labels={"answerability": "ANSWERABLE"}),
        replace(make_record(1, 9, "ANSWERABLE"), trace={"generator": {"answerability": 3}}),
    ]
    assert [(turn.answerable, turn.decided) for turn in read_turns(records)] == [(True, True), (False, False)]


def test_a_feature_that_some_turns_lack_is_not_learnt_from() -> None:
    labels = ["ANSWERABLE" if n % 2 else "UNANSWERABLE" for n in range(9)]
    turns = read_turns(make_record(n, 1, label, n if n else None) for n, label in enumerate(labels))
    assert sorted(fit(turns).weights) == ["coverage", "passages", "verdict"]


def test_where_a_feature_of_the_calibration_is_not_known_the_verdict_decides() -> None:
    calibration = Calibration({"score": Weight(0.0, 1.0, 1.0)}, 0.0, 0.5)
    evidence = Evidence((EvidenceItem(1, Passage("p", "x"), "x"),))
    decision = decide("x", evidence, MarkedSpans(verdict="full"), calibration)
    assert (decision.answerability, decision.probability) == ("unanswerable", None), "there is no span"
    assert calibration.compute_probability({"score": -1e9}) == pytest.approx(0.0)
    assert calibration.compute_probability({"score": 1e9}) == 1.0


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([make_record(n, 1, "ANSWERABLE") for n in range(9)], "9 answerable and 0 unanswerable turns"),
        ([make_record(n, 1, None) for n in range(9)], "0 answerable and 0 unanswerable turns"),
        ([make_record(1, n, "UNANSWERABLE" if n == 1 else "PARTIAL") for n in range(9)], "8 answerable and 1 unan"),
    ],
)
def test_too_few_labels_are_a_mistake(records: list[TurnRecord], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        calibrate(tmp_path / "file.json", write_run(tmp_path / "run", records))
    assert not (tmp_path / "file.json").exists()


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder of a finished run"):
        calibrate(tmp_path / "file.json", tmp_path)
    with pytest.raises(ConfigError, match=r"task\.records is empty"):
        CalibrateAnswerabilityTask(records=[], path=Path("x"))


def test_where_a_half_has_one_kind_nothing_is_said_of_other_conversations(tmp_path: Path, capsys: Output) -> None:
    records = [make_record(1, n, "UNANSWERABLE" if n % 2 else "ANSWERABLE", n) for n in range(1, 9)]
    assert calibrate(tmp_path / "file.json", write_run(tmp_path / "run", records)) == 0
    assert "Not tested on other conversations" in capsys.readouterr().out
    assert list(json.loads((tmp_path / "file.json").read_text())["tested"]) == ["without"]


GOOD = {"features": {"score": {"mean": 0, "scale": 1, "weight": 2}}, "intercept": 0, "threshold": 0.5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "make one with task=calibrate_answerability"),
        ("{}", "'features'"),
        (json.dumps({**GOOD, "threshold": "high"}), "'high' is no number"),
        (json.dumps({**GOOD, "threshold": True}), "True is no number"),
        (json.dumps({**GOOD, "intercept": float("nan")}), "nan is no number"),
        (json.dumps({**GOOD, "features": {"score": {"mean": 0, "scale": 0, "weight": 1}}}), "scale must be above 0"),
        (json.dumps({**GOOD, "features": {"mood": {"mean": 0, "scale": 1, "weight": 1}}}), "nobody knows: mood"),
    ],
)
def test_a_file_that_is_no_calibration_is_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message) as raised:
        read_calibration(path)
    assert str(path) in str(raised.value)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_calibration(tmp_path / "none.json")


def test_equal_turns_have_a_threshold() -> None:
    turns = [LabelledTurn(str(n), {"coverage": 0.5}, True, bool(n % 2)) for n in range(6)]
    assert 0 <= fit(turns).threshold <= 1


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.25, 0.5, 0.9]), st.booleans()), min_size=2, max_size=12))
def test_no_threshold_is_better(turns: list[tuple[float, bool]]) -> None:
    probabilities, labels = zip(*turns, strict=True)
    assume(len(set(labels)) == 2)

    def balance(cut: float) -> float:
        right = [[(p >= cut) == label for p, label in turns if label == kind] for kind in (True, False)]
        return sum(sum(own) / len(own) for own in right)

    found = balance(choose_threshold(probabilities, labels))
    assert found == pytest.approx(max(map(balance, (0.0, 0.1, 0.22, 0.3, 0.7, 1.0))))
