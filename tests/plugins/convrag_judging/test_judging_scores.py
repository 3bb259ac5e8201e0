"""Nugget scores: their definitions, spellings of labels, and files of labels and nuggets."""

import json
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from convrag.api.errors import ConfigError, DataError
from convrag.testing import TaskContract
from convrag_judging import scores
from convrag_judging.nugget_files import read_nugget_labels, read_nuggets
from convrag_judging.nugget_labels import parse_assignment, parse_importance
from convrag_judging.nugget_scores import LabelPairs
from convrag_judging.score_nuggets_task import ScoreNuggetsTask
from tasks import run_task

IMPORTANCE = st.sampled_from(["vital", "okay"])
ASSIGNMENT = st.sampled_from(["support", "partial", "none"])
PAIRS = st.lists(st.tuples(IMPORTANCE, ASSIGNMENT), max_size=30)


def by_hand(pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    """The definitions of TREC RAG, in exact numbers."""
    credit = {"support": Fraction(1), "partial": Fraction(1, 2), "none": Fraction(0)}
    strict = {"support": Fraction(1), "partial": Fraction(0), "none": Fraction(0)}
    weight = {"vital": Fraction(1), "okay": Fraction(1, 2)}

    def mean(
        table: dict[str, Fraction], chosen: Sequence[tuple[str, str]], weighted: bool = False
    ) -> float:
        weights = [weight[importance] if weighted else Fraction(1) for importance, _ in chosen]
        values = [w * table[label] for w, (_, label) in zip(weights, chosen, strict=True)]
        return float(sum(values) / sum(weights)) if chosen else 0.0

    vital = [pair for pair in pairs if pair[0] == "vital"]
    return {
        "strict_vital": mean(strict, vital),
        "vital": mean(credit, vital),
        "strict_all": mean(strict, pairs),
        "all": mean(credit, pairs),
        "weighted": mean(credit, pairs, weighted=True),
    }


@given(PAIRS)
def test_the_scores_are_those_of_the_definition(pairs: list[tuple[str, str]]) -> None:
    found = scores([importance for importance, _ in pairs], [label for _, label in pairs])
    assert list(found) == ["strict_vital", "vital", "strict_all", "all", "weighted"]
    assert found == pytest.approx(by_hand(pairs), abs=1e-12)


@given(PAIRS, st.lists(IMPORTANCE, max_size=3), st.lists(ASSIGNMENT, max_size=3))
def test_lists_of_unequal_length_pair_up(
    pairs: list[Any], more: list[str], others: list[str]
) -> None:
    importance = [importance for importance, _ in pairs] + more
    assignment = [label for _, label in pairs] + others
    labels = LabelPairs.from_labels(importance, assignment)
    assert labels.unpaired == abs(len(more) - len(others))
    assert len(labels.pairs) == len(pairs) + min(len(more), len(others))


def test_a_worked_example() -> None:
    importance = ["vital", "vital", "vital", "okay", "okay"]
    assignment = ["support", "partial_support", "not_support", "support", "partial_support"]
    assert scores(importance, assignment) == {
        "strict_vital": 1 / 3,
        "vital": 1.5 / 3,
        "strict_all": 2 / 5,
        "all": 3 / 5,
        "weighted": (1.5 + 0.5 * 1.5) / (3 + 0.5 * 2),
    }


def test_scores_without_vital_nuggets_and_without_nuggets() -> None:
    expected = {"strict_vital": 0.0, "vital": 0.0, "strict_all": 1.0, "all": 1.0, "weighted": 1.0}
    assert scores(["okay"], ["support"]) == expected
    assert set(scores([], []).values()) == {0.0}


@pytest.mark.parametrize(
    ("label", "meaning"),
    [
        ("support", "support"),
        ("Support", "support"),
        ("FULL_SUPPORT", "support"),
        (" Supported.", "support"),
        ("partial", "partial"),
        ("Partial Support", "partial"),
        ("partial_support", "partial"),
        ("Partially-Supported", "partial"),
        ("none", "none"),
        ("not_support", "none"),
        ("No Support", "none"),
        ("no_support", "none"),
        ("Unsupported", "none"),
        ("failed", None),
        ("", None),
        ("support or not", None),
    ],
)
def test_labels_of_support(label: str, meaning: str | None) -> None:
    assert parse_assignment(label) == meaning


@pytest.mark.parametrize(
    ("label", "meaning"), [("VITAL", "vital"), ("Okay", "okay"), ("ok", "okay"), ("failed", None)]
)
def test_labels_of_importance(label: str, meaning: str | None) -> None:
    assert parse_importance(label) == meaning


def test_unknown_labels_earn_nothing_and_are_counted() -> None:
    labels = LabelPairs.from_labels(["vital", "failed", "vital"], ["failed", "support", "support"])
    assert labels.unknown == 2
    assert labels.compute_scores()["strict_vital"] == 1 / 2
    assert labels.compute_scores()["strict_all"] == 2 / 3


def write(path: Path, *rows: Any) -> Path:
    path.write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows),
        encoding="utf-8",
    )
    return path


NUGGETIZER = {
    "query": "What is Python?",
    "qid": "q1",
    "answer_text": "A language [1]. Made in 1991 [2, 3].",
    "response_length": 6,
    "run_id": "mine",
    "nuggets": [
        {"text": "Python is a language", "importance": "vital", "assignment": "support"},
        {
            "text": "Python was made by van Rossum",
            "importance": "vital",
            "assignment": "not_support",
        },
        {"text": "Python was made in 1991", "importance": "okay", "assignment": "partial_support"},
    ],
}


def test_files_of_the_nuggetizer_and_ours(tmp_path: Path) -> None:
    theirs = write(tmp_path / "gpt.jsonl", NUGGETIZER)
    ours = write(
        tmp_path / "claude.jsonl",
        {
            "turn_id": "q1",
            "importance": ["Vital", "Okay", "okay"],
            "assignment": ["Support", "Support", "None", "None"],
        },
        {"turn_id": 7, "importance": [], "assignment": []},
    )
    found = read_nugget_labels([theirs, ours])
    assert list(found) == ["q1", "7"]
    assert [labels.assessor for labels in found["q1"]] == ["gpt", "claude"]
    assert found["q1"][0].texts[2] == "Python was made in 1991"
    assert found["q1"][0].words == 6
    assert found["q1"][1].words is None


def test_without_a_length_the_words_of_the_answer_are_counted(tmp_path: Path) -> None:
    row = {name: value for name, value in NUGGETIZER.items() if name != "response_length"}
    (labels,) = read_nugget_labels([write(tmp_path / "a.jsonl", row)])["q1"]
    assert labels.words == 5


def test_several_assessors_in_one_file(tmp_path: Path) -> None:
    rows = [
        {"turn_id": "t", "assessor": who, "importance": ["vital"], "assignment": ["support"]}
        for who in "ab"
    ]
    assert [
        labels.assessor for labels in read_nugget_labels([write(tmp_path / "x.jsonl", *rows)])["t"]
    ] == ["a", "b"]


def test_files_of_the_same_name_are_different_assessors(tmp_path: Path) -> None:
    row = {"turn_id": "t", "importance": ["vital"], "assignment": ["support"]}
    paths = [tmp_path / folder / "labels.jsonl" for folder in "ab"]
    for path in paths:
        path.parent.mkdir()
        write(path, row)
    assert [labels.assessor for labels in read_nugget_labels(paths)["t"]] == list(map(str, paths))


@pytest.mark.parametrize(
    ("rows", "line", "message"),
    [
        (["{"], 1, "not JSON"),
        ([{"importance": [], "assignment": []}], 1, "turn_id"),
        ([{"turn_id": "t", "importance": ["vital"]}], 1, 'lists of "importance" and "assignment"'),
        (
            [{"turn_id": "t", "importance": [1], "assignment": ["support"]}],
            1,
            "a line of labels: importance.0: ",
        ),
        ([{"turn_id": "t", "nuggets": [3]}], 1, "a line of labels: nuggets.0"),
        ([NUGGETIZER, "", NUGGETIZER], 3, "was judged by 'x' already"),
        (
            [{"turn_id": "t", "importance": ["vital"], "assignment": ["yes"]}],
            None,
            "no line has an assignment",
        ),
        ([], None, "empty"),
    ],
)
def test_errors_in_a_file_of_labels(
    tmp_path: Path, rows: list[Any], line: int | None, message: str
) -> None:
    with pytest.raises(DataError, match=message) as raised:
        read_nugget_labels([write(tmp_path / "x.jsonl", *rows)])
    assert raised.value.line == line


def test_nuggets_with_importance_and_without(tmp_path: Path) -> None:
    path = write(
        tmp_path / "n.jsonl",
        NUGGETIZER,
        {"turn_id": "t", "nuggets": ["a fact", {"text": "another"}]},
    )
    found = read_nuggets(path)
    assert found["q1"].importance == ("vital", "vital", "okay")
    assert found["t"].texts == ("a fact", "another")
    assert found["t"].importance == ()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{"turn_id": "t", "nuggets": [{"text": "a", "importance": "vital"}, "b"]}],
            "either each nugget",
        ),
        ([{"turn_id": "t", "nuggets": [{"text": "a", "importance": "high"}]}], "vital or okay"),
        ([{"turn_id": "t", "nuggets": [" "]}], "no text"),
        ([NUGGETIZER, NUGGETIZER], "already"),
    ],
)
def test_errors_in_a_file_of_nuggets(tmp_path: Path, rows: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_nuggets(write(tmp_path / "n.jsonl", *rows))


class TestScoreNuggetsContract(TaskContract):
    def make(self) -> ScoreNuggetsTask:
        return ScoreNuggetsTask(judgements=[Path("labels.jsonl")])


def test_the_task_needs_a_file() -> None:
    with pytest.raises(ConfigError, match=r"task\.judgements=\[FILE\]"):
        ScoreNuggetsTask(judgements=[])


def test_published_labels_become_published_scores(here: Path) -> None:
    """Three assessors of 40 topics, with labels in any case and some lists too short: the mean of
    means over topics.
    """
    draw = random.Random(3)
    spelt = {"support": ["support", "Support"], "partial": ["partial_support", "PARTIAL"]}
    spelt["none"] = ["not_support", "None"]
    expected: list[float] = []
    unequal = 0
    for who in ("gpt", "claude", "gemini"):
        rows = []
        for topic in range(40):
            pairs = [
                (draw.choice(["vital", "okay"]), draw.choice(list(spelt)))
                for _ in range(draw.randint(0, 25))
            ]
            importance = [
                importance.title() if draw.random() < 0.5 else importance for importance, _ in pairs
            ]
            assignment = [draw.choice(spelt[label]) for _, label in pairs]
            kept = pairs
            if who == "gemini" and topic % 4 == 0 and pairs:
                kept = pairs[:-1]
                assignment.pop()
                unequal += 1
            rows.append(
                {"qid": f"2024-{topic}", "importance": importance, "assignment": assignment}
            )
            expected.append(by_hand(kept)["strict_vital"])
        write(here / f"{who}.jsonl", *rows)
    files = ",".join(f"{who}.jsonl" for who in ("gpt", "claude", "gemini"))
    arguments = [
        "task=score_nuggets",
        f"task.judgements=[{files}]",
        "tracker=none",
        "hydra.run.dir=out",
    ]
    done = run_task(arguments, here)
    assert (done.returncode, done.stderr) == (0, "")
    written = json.loads((here / "out" / "metrics.json").read_text(encoding="utf-8"))
    assert written["overall"]["nuggets_strict_vital"] == pytest.approx(
        sum(expected) / 120, abs=1e-12
    )
    numbers = written["reports"]["judging"]["nuggets"]
    assert numbers["labels"]["unequal"] == unequal == numbers["labels"]["unpaired"]
    assert numbers["assessors"]["gpt"]["strict_vital"] == pytest.approx(
        sum(expected[:40]) / 40, abs=1e-12
    )
    assert "length of the answers unknown" in done.stdout
