"""metrics=judge and task=agreement: rubrics, judges, and their agreement with people."""

import json
import subprocess
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from convrag import LLM, ConfigError, DataError, Dataset, LLMError, Measurement, Report, TurnRecord
from convrag.api.answers import Answer
from convrag.api.completions import Prompt
from convrag.api.conversations import Conversation, Turn
from convrag.api.errors import RunStopped
from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.passages import Passage
from convrag.sdk.data.inspectorraget import read_marked_answers
from convrag.testing import MetricsContract, TaskContract
from convrag_judging.agreement import measure_agreement
from convrag_judging.agreement_task import AgreementTask
from convrag_judging.correlation import kendall_tau_b
from convrag_judging.judge import JudgeMetrics
from convrag_judging.krippendorff import krippendorff_alpha
from convrag_judging.rating_files import group_ratings, read_ratings
from convrag_judging.rubric import read_rubric, rubric_path
from fixtures import SHARED
from tasks import run_task
from toys import Says

NA = None
# K. Krippendorff, Computing Krippendorff's alpha-reliability: example C, four observers of twelve
# units.
FOUR = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NA, NA, NA],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NA, 3],
    [NA, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NA],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NA],
]


def units(observers: list[list[Any]]) -> list[list[float]]:
    return [
        [float(value) for value in unit if value is not None]
        for unit in zip(*observers, strict=True)
    ]


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_four_observers(level: Any, published: float) -> None:
    found = krippendorff_alpha(units(FOUR), level)
    assert found is not None
    assert round(found, 3) == published


VALUES = st.lists(st.lists(st.integers(1, 5).map(float), max_size=4), max_size=8)


@given(VALUES, st.sampled_from(["nominal", "interval"]))
def test_alpha_is_one_minus_observed_over_expected_disagreement(
    judged: list[list[float]], level: Any
) -> None:
    """By its first definition: the mean difference of pairs within units over that of all pairs."""

    def difference(a: float, b: float) -> float:
        return float(a != b) if level == "nominal" else (a - b) ** 2

    pairable = [unit for unit in judged if len(unit) > 1]
    everything = [value for unit in pairable for value in unit]
    expected = [difference(a, b) for a, b in combinations(everything, 2)]
    assume(sum(expected) > 0)
    observed = sum(
        2 * sum(difference(a, b) for a, b in combinations(unit, 2)) / (len(unit) - 1)
        for unit in pairable
    ) / len(everything)
    assert krippendorff_alpha(judged, level) == pytest.approx(
        1 - observed / (sum(expected) / len(expected))
    )


@given(VALUES, st.randoms(use_true_random=False))
def test_ordinal_alpha_depends_on_ranks_and_not_on_annotators(
    judged: list[list[float]], random: Any
) -> None:
    shuffled = [random.sample(unit, len(unit)) for unit in judged]
    random.shuffle(shuffled)
    stretched = [[value**3 for value in unit] for unit in shuffled]
    found, again = krippendorff_alpha(judged, "ordinal"), krippendorff_alpha(stretched, "ordinal")
    assert (found is None) == (again is None)
    assert found is None or found == pytest.approx(again)


def test_alpha_that_is_undefined() -> None:
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([[1.0], [2.0]]) is None
    assert krippendorff_alpha([[3.0, 3.0], [3.0, 3.0]]) is None
    assert krippendorff_alpha([[1.0, 1.0], [2.0, 2.0]]) == 1.0


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=12))
def test_tau_b_is_that_of_its_definition(pairs: list[tuple[int, int]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    signs = [((a > c) - (a < c), (b > d) - (b < d)) for (a, b), (c, d) in combinations(pairs, 2)]
    untied = [sum(sign[side] != 0 for sign in signs) for side in (0, 1)]
    found, _ = kendall_tau_b([float(a) for a in first], [float(b) for b in second])
    if not all(untied):
        assert found is None
    else:
        assert found == pytest.approx(sum(a * b for a, b in signs) / (untied[0] * untied[1]) ** 0.5)


def test_agreement_of_a_judge_with_two_people() -> None:
    human = {"a": {"x": 1.0, "y": 2.0}, "b": {"x": 3.0, "y": 3.0}, "c": {"x": 5.0}, "d": {"x": 1.0}}
    scores = {"a": {"judge": 2.0}, "b": {"judge": 4.0}, "c": {"judge": 5.0}, "e": {"judge": 1.0}}
    found = measure_agreement(scores, human, "interval")
    assert (found.turns, found.annotators, found.tau_b) == (3, 2, pytest.approx(1.0))
    assert found.alpha_humans == krippendorff_alpha([[1.0, 2.0], [3.0, 3.0], [5.0]], "interval")
    assert found.alpha == krippendorff_alpha(
        [[1.0, 2.0, 2.0], [3.0, 3.0, 4.0], [5.0, 5.0]], "interval"
    )
    assert "over 3 turns with scores of 2 annotators" in found.describe("faithfulness")


# The judge
# -----------------------------------------------------------------------------------------------------------

CRITERIA = ("faithfulness", "appropriateness", "completeness")


def reply(*scores: Any, reason: str = "because") -> str:
    return json.dumps({"reason": reason, "scores": dict(zip(CRITERIA, scores, strict=False))})


class Talk(Dataset):
    def conversations(self) -> Iterator[Conversation]:
        yield Conversation(
            "t",
            (Turn("t<::>1", "Why tea?", "It is warm."), Turn("t<::>2", "And how?", "In a pot.")),
        )


def record(number: int, answer: str = "", **fields: Any) -> TurnRecord:
    return TurnRecord(
        "t", f"t<::>{number}", "default", number, "?", answer=Answer(answer), **fields
    )


def judge(llm: LLM, **options: Any) -> JudgeMetrics:
    return JudgeMetrics(llm=llm, dataset=Talk(), workers=1, **options)


def report_of(measured: Measurement) -> Report:
    assert measured.report is not None
    assert measured.report.title == "judging"
    return measured.report


class TestJudgeMetricsContract(MetricsContract):
    def make(self) -> JudgeMetrics:
        return judge(Says(reply(3, 3, 3)))


def test_the_prompt_has_rubric_conversation_passages_and_reference() -> None:
    llm = Says(reply(5, 4, 2))
    evidence = Evidence(
        (EvidenceItem(1, Passage("p", "Pots are hot.", title="Pots"), "Pots are hot."),)
    )
    values = judge(llm).measure([record(2, "In a hot pot [1].", evidence=evidence)])
    assert values == {"t<::>2": {"faithfulness": 5.0, "appropriateness": 4.0, "completeness": 2.0}}
    system, user = (message.content for message in llm.prompts[0].messages)
    for said in ("from 1 (worst) to 5 (best)", *CRITERIA, '"completeness": 5}'):
        assert said in system
    for said in (
        "Why tea?",
        "It is warm.",
        "And how?",
        "Pots are hot.",
        "In a pot.",
        "In a hot pot [1].",
    ):
        assert said in user


def test_the_reference_answer_can_be_withheld() -> None:
    llm = Says(reply(5, 4, 2))
    judge(llm, reference=False).measure([record(2, "x")])
    assert "In a pot." not in llm.prompts[0].messages[-1].content


def test_several_judges_are_averaged_and_compared(tmp_path: Path) -> None:
    first = Says(reply(5, 4, 2), reply(1, 2, 2))
    second = Says(reply(4, 4, 3), reply(2, 2, 2))
    stage = judge(first, second_llm=second)
    values = stage.measure([record(1, "x"), record(2, "y")])
    assert values["t<::>1"] == {"faithfulness": 4.5, "appropriateness": 4.0, "completeness": 2.5}
    numbers = report_of(values).numbers["judge"]
    assert numbers["judges"]["second_llm"]["faithfulness"] == 3.0
    assert numbers["alpha_among_judges"]["appropriateness"] == 1.0
    assert numbers["alpha_among_judges"]["faithfulness"] == krippendorff_alpha(
        [[5.0, 4.0], [1.0, 2.0]]
    )


def test_agreement_with_people_is_in_the_report(tmp_path: Path) -> None:
    path = tmp_path / "people.jsonl"
    rows = [
        {"turn_id": f"t<::>{n}", "criterion": name, "score": score, "annotator": who}
        for n, name, score, who in [
            (1, "faithfulness", 4, "A"),
            (2, "faithfulness", 1, "A"),
            (2, "faithfulness", 2, "B"),
            (1, "humour", 1, "A"),
        ]
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    stage = judge(Says(reply(5, 4, 2), reply(1, 2, 2)), human=[path])
    assert list(stage.check()) == []
    measured = stage.measure([record(1, "x"), record(2, "y")])
    report = report_of(measured)
    found = report.numbers["judge"]["agreement"]["faithfulness"]
    assert (found["turns"], found["annotators"], found["tau_b"]) == (2, 2, pytest.approx(1.0))
    assert found["alpha"] == krippendorff_alpha([[4.0, 5.0], [1.0, 2.0, 1.0]])
    assert any("people scored humour, which nobody judged here" in line for line in report.lines)


def test_written_ratings_can_be_read_back(tmp_path: Path) -> None:
    stage = judge(Says(reply(5, 4, 2), reply(1, 2, 2)), second_llm=Says(reply(3, 3, 3)))
    records = [record(1, "x"), record(2, "y")]
    values = stage.measure(records)
    path = tmp_path / "judgements.jsonl"
    path.write_text(report_of(values).files["judgements.jsonl"], encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[0])["reason"] == "because"
    again = judge(Says(""), judgements=[path])
    assert list(again.check()) == []
    measured = again.measure([*records, record(3, "z")])
    assert measured == values
    report = report_of(measured)
    assert "2 of 3 answers judged by llm, second_llm" in report.lines[0]
    assert report.files == {}


def test_no_answer_gets_the_lowest_score_and_no_call(tmp_path: Path) -> None:
    llm = Says(reply(5, 5, 5))
    stage = judge(llm)
    measured = stage.measure([record(1, " ", error="generator: down")])
    assert measured["t<::>1"] == dict.fromkeys(CRITERIA, 1.0)
    assert not llm.prompts
    assert "1 turns have no answer" in report_of(measured).lines[1]
    measured = stage.measure([record(1, trace={"evaluate": {"given": ["ranking"]}})])
    assert measured == {}


@pytest.mark.parametrize(
    ("replies", "scores", "complaint"),
    [
        (
            [reply(6, 4, 2), reply(5, 4, 2)],
            {"faithfulness": 5.0},
            "faithfulness must be a whole number from 1 to 5: 6",
        ),
        (
            [reply(5, 4), reply(5, 4)],
            {"faithfulness": 5.0, "appropriateness": 4.0},
            "no score for 'completeness'",
        ),
        (
            ['{"faithfulness": 2, "appropriateness": "3", "completeness": {"score": 4}}'],
            {"completeness": 4.0},
            "",
        ),
        (["no"], {}, "there is no JSON in it"),
    ],
)
def test_replies_that_break_the_form(
    replies: list[str], scores: dict[str, float], complaint: str, tmp_path: Path
) -> None:
    llm = Says(*replies)
    stage = judge(llm)
    values = stage.measure([record(1, "x")]).get("t<::>1", {})
    assert scores.items() <= values.items()
    assert bool(values) == bool(scores)
    assert len(llm.prompts) == 1 + bool(complaint)
    assert complaint in llm.prompts[-1].messages[-1].content


def test_asking_again_gives_means_and_the_judges_noise() -> None:
    measured = judge(Says(reply(5, 4, 2), reply(3, 4, 2)), repeat=2).measure([record(1, "x")])
    assert measured["t<::>1"] == {"faithfulness": 4.0, "appropriateness": 4.0, "completeness": 2.0}
    said = "\n".join(report_of(measured).lines)
    assert "faithfulness: asked again, the judge differs from itself on 100% of 1 answers" in said
    assert "completeness: asked again, the judge differs from itself on 0% of 1 answers" in said


@pytest.mark.parametrize("name", ["answer_relevancy", "context_precision", "context_recall"])
def test_measures_by_the_names_of_other_tools(name: str) -> None:
    stage = judge(Says(json.dumps({"reason": "", "scores": {name: 3}})), rubric=Path(name))
    measured = stage.measure([record(1, "x")])
    assert (measured["t<::>1"], list(stage.list_measures())) == ({name: 3.0}, [name])
    assert list(report_of(measured).files) == [f"judgements.{name}.jsonl"]


def test_judges_that_fail_are_counted(tmp_path: Path) -> None:
    def down(prompt: Prompt) -> str:
        raise LLMError("the server is down")

    stage = judge(Says(reply(5, 4, 2)), second_llm=Says(down), third_llm=Says("?"))
    measured = stage.measure([record(1, "x")])
    assert measured["t<::>1"]["faithfulness"] == 5.0
    report = report_of(measured)
    assert report.numbers["judge"]["unusable_replies"] == 2
    assert "2 replies could not be used" in report.lines[1]


def test_a_run_that_must_stop_stops(tmp_path: Path) -> None:
    def spent(prompt: Prompt) -> str:
        raise RunStopped("the cost limit of $1 is reached")

    stage = judge(Says(reply(5, 4, 2), spent))
    measured = stage.measure([record(1, "x")])
    assert report_of(measured)
    with pytest.raises(RunStopped):
        stage.measure([record(1, "x")])


# Files
# ---------------------------------------------------------------------------------------------------------------


def test_the_default_rubric() -> None:
    rubric = read_rubric(rubric_path(None))
    assert (rubric.lowest, rubric.highest, rubric.names) == (1, 5, CRITERIA)
    assert all(set(criterion.levels) == {1, 3, 5} for criterion in rubric.criteria)


def test_a_custom_rubric(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "lowest: 0\nhighest: 10\ncriteria:\n  brevity: Is it short?\n", encoding="utf-8"
    )
    llm = Says('{"reason": "", "scores": {"brevity": 9}}')
    stage = judge(llm, rubric=path)
    assert list(stage.check()) == []
    assert stage.measure([record(1, "x")]) == {"t<::>1": {"brevity": 9.0}}
    assert "brevity: Is it short?" in llm.prompts[0].messages[0].content
    before = stage.content_hash()
    path.write_text(
        "lowest: 0\nhighest: 10\ncriteria:\n  brevity: Is it brief?\n", encoding="utf-8"
    )
    assert judge(llm, rubric=path).content_hash() != before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a", "a rubric has lowest, highest and criteria"),
        ("lowest: 5\nhighest: 1", "the second larger than the first"),
        ("lowest: 1\nhighest: many", "whole numbers"),
        ("lowest: 1\nhighest: 5", "criteria must hold at least one"),
        (
            "lowest: 1\nhighest: 5\ncriteria: {a: {levels: {1: x}}}",
            "the criterion 'a' needs a question",
        ),
        (
            "lowest: 1\nhighest: 5\ncriteria: {a: {question: b, levels: {low: x}}}",
            "the levels of 'a'",
        ),
        ("lowest: [", "cannot be read"),
    ],
)
def test_errors_in_a_rubric(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    (problem,) = judge(Says(""), rubric=path).check()
    assert message in problem
    assert "own.yaml" in problem


def test_ratings_by_line_and_by_criterion(tmp_path: Path) -> None:
    path = tmp_path / "Ada.jsonl"
    rows = [
        {"turn_id": 1, "scores": {"a": 1, "b": 2.5}},
        {"qid": "1", "criterion": "a", "score": 3, "annotator": 7},
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert group_ratings(read_ratings([path])) == {
        "a": {"1": {"Ada": 1.0, "7": 3.0}},
        "b": {"1": {"Ada": 2.5}},
    }


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"turn_id": "t", "criterion": "a"}], 'a "criterion" with a "score"'),
        ([{"turn_id": "t", "criterion": "a", "score": "4"}], "not a rating: score"),
        ([{"turn_id": "t", "scores": {"a": float("nan")}}], "NaN is not a JSON number"),
        ([{"turn_id": "t", "criterion": "a", "score": 4}] * 2, "has a score already, in line 1"),
    ],
)
def test_errors_in_a_file_of_ratings(tmp_path: Path, rows: list[Any], message: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_ratings([path])


# The command
# ---------------------------------------------------------------------------------------------------------


def convrag(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_task([*arguments, "tracker=none"], Path.cwd())


def test_spearman_and_its_interval_over_conversations() -> None:
    scores = {f"c{n % 6}<::>{n}": {"judge": float(n)} for n in range(30)}
    human = {turn: {"x": each["judge"] ** 3} for turn, each in scores.items()}
    found = measure_agreement(scores, human)
    assert (found.spearman, found.interval) == (pytest.approx(1.0), pytest.approx((1.0, 1.0)))
    assert (
        measure_agreement(scores, dict(list(human.items())[:4])).interval is None
    )  # four conversations
    noisy = {turn: {"x": float(n * 7 % 10)} for n, turn in enumerate(scores)}
    found = measure_agreement(scores, noisy)
    assert found.interval is not None
    assert found.spearman is not None
    assert found.interval[0] < found.spearman < found.interval[1]


def test_models_must_match_the_files() -> None:
    with pytest.raises(ConfigError, match="names 2 models for 1 files"):
        AgreementTask(scores=[Path("a")], human=[Path("b")], models=["x", "y"])


PUBLISHED = (
    SHARED / "data/mtrag/mtrag-human/evaluations/reference_subset_with_human_evaluations.json"
)


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="needs MTRAG's marks of people")
def test_published_judges_agree_with_people_as_published() -> None:
    human, judges = (
        group_ratings(read_ratings([PUBLISHED])),
        group_ratings(read_ratings([PUBLISHED], "algorithm")),
    )
    answers = [
        each
        for each in read_marked_answers(PUBLISHED)
        if each.model != "reference" and each.passages
    ]
    names = [f"{each.turn_id} ({each.model})" for each in answers]
    scores, marks = (
        {name: table[name] for name in names} for table in (judges["rl_f"], human["faithfulness"])
    )
    found = measure_agreement(scores, marks)
    assert (found.turns, found.annotators, round(found.spearman or 0, 2)) == (158, 7, 0.68)


class TestAgreementContract(TaskContract):
    def make(self) -> AgreementTask:
        return AgreementTask(scores=[Path("a")], human=[Path("b")])


def test_agreement_without_files_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match=r"task\.human is empty"):
        AgreementTask(scores=[Path("a")], human=[])


def test_the_task_compares_files(here: Path) -> None:
    for name, scores in {"run": [0.1, 0.4, 0.9], "Ada": [1, 3, 3], "Bo": [1, 2, 4]}.items():
        measure = "RB_agg" if name == "run" else "quality"
        rows = [{"turn_id": f"t{n}", "scores": {measure: score}} for n, score in enumerate(scores)]
        Path(f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    files = ["task=agreement", "task.scores=[run.jsonl]", "task.human=[Ada.jsonl,Bo.jsonl]"]
    done = convrag(*files, "task.measure=RB_agg", "hydra.run.dir=out")
    assert (done.returncode, done.stderr) == (0, "")
    written = json.loads((here / "out" / "agreement.json").read_text(encoding="utf-8"))["quality"]
    assert (written["turns"], written["annotators"], written["tau_b"]) == (3, 2, pytest.approx(1.0))
    assert written["alpha_humans"] == krippendorff_alpha([[1.0, 1.0], [3.0, 2.0], [3.0, 4.0]])
    assert "| quality | 1.000 |  | 1.000 |" in done.stdout
    assert "| quality | 1.000 |" in (here / "out" / "agreement.md").read_text(encoding="utf-8")
    done = convrag(*files, "task.measure=RB_ag")
    assert "Did you mean 'RB_agg'?" in done.stderr


def test_a_rule_based_model_cannot_judge(here: Path) -> None:
    done = convrag("metrics=[judge]")
    assert done.returncode == 2
    assert "ExtractiveLLM is not a language model, and has no rule for judge" in done.stderr
    assert "Traceback" not in done.stderr
