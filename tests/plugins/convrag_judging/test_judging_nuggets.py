"""metrics=nuggets: nuggets created, labelled and assigned by models, files of nuggets, and unusable
replies.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from convrag import LLM, ConfigError, Dataset, LLMError, Measurement, Report, Store, TurnRecord
from convrag.api.answers import Answer
from convrag.api.completions import Completion, Prompt
from convrag.api.conversations import Conversation, Turn
from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.passages import Passage
from convrag.config.compose import compose
from convrag.testing import MetricsContract
from convrag_datasets.jsonl import SampleDataset
from convrag_judging.nuggets import NuggetMetrics
from tasks import run_task

FACTS = [f"fact number {n} about tea" for n in range(1, 26)]


class Scripted(LLM):
    """Replies by task; a reply is a text, or made from the prompt. Keeps the prompts."""

    def __init__(self, **replies: str | Callable[[Prompt], str]) -> None:
        self.replies = replies
        self.prompts: list[Prompt] = []
        self._lock = threading.Lock()

    def complete(self, prompt: Prompt) -> Completion:
        with self._lock:
            self.prompts.append(prompt)
        reply = self.replies[prompt.task]
        return Completion(
            reply if isinstance(reply, str) else reply(prompt),
            10,
            5,
            cost_usd=0.5,
            model="scripted",
        )

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def asked(self, task: str) -> list[Prompt]:
        return [prompt for prompt in self.prompts if prompt.task == task]


def vital_first(prompt: Prompt) -> str:
    """The first nugget of each batch is vital."""
    return json.dumps({"labels": ["vital"] + ["okay"] * (len(prompt.inputs["nuggets"]) - 1)})


def literal(prompt: Prompt) -> str:
    """Support is what stands in the answer literally."""
    inputs = prompt.inputs
    return json.dumps(
        {
            "labels": [
                "support" if text in inputs["answer"] else "none" for text in inputs["nuggets"]
            ]
        }
    )


def listed(*facts: str) -> str:
    return json.dumps({"nuggets": list(facts)})


def reading(prompt: Prompt) -> str:
    """The texts of the passages are the facts."""
    return listed(*prompt.inputs["nuggets"], *(each["text"] for each in prompt.inputs["passages"]))


def model(**replies: Any) -> Scripted:
    return Scripted(
        **{"nuggetise": reading, "importance": vital_first, "assign": literal, **replies}
    )


class Talks(Dataset):
    """A conversation of two turns; the first has passages of its own, the second qrels, a third nothing."""

    def __init__(self, passages: int = 3) -> None:
        self.passages = tuple(Passage(f"p{n}", FACTS[n]) for n in range(passages))

    def conversations(self) -> Iterator[Conversation]:
        first = Turn("t<::>1", "Why tea?", "For reasons.", self.passages)
        second = Turn("t<::>2", "And how?", "Well.")
        yield Conversation("t", (first, second, Turn("t<::>3", "Bye!", "Bye.")))

    def corpus(self, domain: str) -> Iterator[Passage]:
        yield from (Passage(f"c{n}", FACTS[20 + n], title="Tea") for n in range(4))

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        return {"t<::>2": {"c2": 1, "c0": 2, "c3": 0}}


def record(number: int, answer: str = "", **fields: Any) -> TurnRecord:
    return TurnRecord(
        "t", f"t<::>{number}", "default", number, "?", answer=Answer(answer), **fields
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def metric(store: Store, llm: LLM, dataset: Dataset | None = None, **options: Any) -> NuggetMetrics:
    return NuggetMetrics(llm=llm, dataset=dataset or Talks(), store=store, **options)


class TestNuggetMetricsContract(MetricsContract):
    @pytest.fixture(autouse=True)
    def _store(self, tmp_path: Path) -> None:
        self.store = Store(tmp_path)

    def make(self) -> NuggetMetrics:
        return metric(self.store, model())


def test_a_turn_from_passages_to_scores(store: Store) -> None:
    llm = model()
    values = metric(store, llm).measure([record(1, f"It says {FACTS[0]} [1], and {FACTS[2]} [2].")])
    assert values == {
        "t<::>1": {
            "nuggets_strict_vital": 1.0,
            "nuggets_vital": 1.0,
            "nuggets_strict_all": 2 / 3,
            "nuggets_all": 2 / 3,
            "nuggets_weighted": (1 + 0.5) / (1 + 1),
            "nuggets_count": 3.0,
            "nuggets_words": 13.0,
        }
    }
    assert [prompt.task for prompt in llm.prompts] == ["nuggetise", "importance", "assign"]


def test_passages_come_in_windows_and_nuggets_in_batches(store: Store) -> None:
    llm = model()
    metric(store, llm, Talks(passages=23)).measure([record(1, "nothing")])
    windows = llm.asked("nuggetise")
    assert [len(prompt.inputs["passages"]) for prompt in windows] == [10, 10, 3]
    assert [prompt.inputs["nuggets"] for prompt in windows] == [[], FACTS[:10], FACTS[:20]]
    for task in ("importance", "assign"):
        assert [len(prompt.inputs["nuggets"]) for prompt in llm.asked(task)] == [10, 10, 3]


def test_the_qrels_name_the_passages_of_a_turn_that_has_none(store: Store) -> None:
    llm = model()
    metric(store, llm).measure([record(2, "x")])
    (prompt,) = llm.asked("nuggetise")
    assert [passage["text"] for passage in prompt.inputs["passages"]] == [FACTS[20], FACTS[22]]
    assert prompt.inputs["passages"][0]["title"] == "Tea"
    assert prompt.inputs["history"] == [{"user": "Why tea?", "assistant": "For reasons."}]
    assert "Why tea?" in prompt.messages[-1].content
    assert prompt.inputs["question"] == "And how?"


def test_nuggets_from_the_evidence(store: Store) -> None:
    hint = EvidenceItem(2, Passage("f", "full text"), "see above", hint=True)
    evidence = Evidence((EvidenceItem(1, Passage("e", "shown text"), "shown text"), hint, hint))
    llm = model()
    stage = metric(store, llm, passages="evidence")
    assert "do not compare systems" in stage.note()
    assert list(
        stage.measure([record(1, "shown text", evidence=evidence), record(2, "no evidence")])
    ) == ["t<::>1"]
    assert [each["text"] for each in llm.asked("nuggetise")[0].inputs["passages"]] == [
        "shown text",
        "full text",
    ]


def test_a_longer_answer_is_truncated_before_it_is_judged(store: Store) -> None:
    llm = model()
    answer = f"Well [1]. {FACTS[0]}. {FACTS[1]}."
    values = metric(store, llm, max_words=6).measure([record(1, answer)])["t<::>1"]
    assert llm.asked("assign")[0].inputs["answer"] == f"Well. {FACTS[0]}."
    assert (values["nuggets_words"], values["nuggets_strict_all"]) == (6.0, 1 / 3)
    assert (
        metric(store, model()).measure([record(1, answer)])["t<::>1"]["nuggets_strict_all"] == 2 / 3
    )


def test_an_empty_answer_scores_0_without_a_call(store: Store) -> None:
    llm = model()
    values = metric(store, llm).measure([record(1, "", error="generator: down")])["t<::>1"]
    assert values["nuggets_all"] == values["nuggets_words"] == 0.0
    assert not llm.asked("assign")


def test_turns_without_answers_are_not_judged(store: Store) -> None:
    """task=evaluate of a ranking has no answers."""
    stage = metric(store, model())
    assert stage.measure([record(1, trace={"evaluate": {"given": ["ranking"]}})]) == {}


def report_of(measured: Measurement) -> Report:
    assert measured.report is not None
    assert measured.report.title == "judging"
    return measured.report


def test_turns_with_too_few_nuggets_are_left_out_and_counted(store: Store, tmp_path: Path) -> None:
    records = [
        record(1, "x", trace={"generator": {"nuggets": [{"text": "one"}]}}),
        record(2, "x"),
        record(3, "x"),
    ]
    stage = metric(store, model(), min_nuggets=2)
    measured = stage.measure(records)
    assert list(measured) == ["t<::>2"]
    report = report_of(measured)
    assert (
        "Nuggets: 2 of 3 turns left out: 1 rest on fewer than 2 nuggets, 1 have no passages"
        in report.lines[1]
    )
    expected = {"few": 1, "no_passages": 1, "no_nuggets": 0, "not_judged": 0}
    assert report.numbers["nuggets"]["left_out"] == expected
    assert list(metric(store, model()).measure(records)) == ["t<::>1", "t<::>2"]
    assert list(metric(store, model(), min_nuggets=1).measure(records)) == ["t<::>1", "t<::>2"]


def test_several_assessors_are_averaged(store: Store, tmp_path: Path) -> None:
    strict = model(
        assign=lambda prompt: json.dumps({"labels": ["none"] * len(prompt.inputs["nuggets"])})
    )
    kind = model(
        importance=lambda prompt: json.dumps({"labels": ["vital"] * len(prompt.inputs["nuggets"])}),
        assign=lambda prompt: json.dumps({"labels": ["support"] * len(prompt.inputs["nuggets"])}),
    )
    stage = metric(store, model(), second_llm=strict, third_llm=kind)
    measured = stage.measure([record(1, FACTS[0])])
    values = measured["t<::>1"]
    assert values["nuggets_strict_vital"] == pytest.approx((1 + 0 + 1) / 3)
    assert values["nuggets_strict_all"] == pytest.approx((1 / 3 + 0 + 1) / 3)
    assert not strict.asked("nuggetise")
    assert not kind.asked("nuggetise")
    report = report_of(measured)
    assessors = report.numbers["nuggets"]["assessors"]
    assert [assessors[name]["strict_vital"] for name in ("llm", "second_llm", "third_llm")] == [
        1,
        0,
        1,
    ]
    assert "third_llm 1.000 (3.0 nuggets a turn, 3.0 vital)" in report.lines[1]


# Unusable replies
# --------------------------------------------------------------------------------------------


def test_an_unreadable_reply_is_asked_for_again_with_the_error(store: Store) -> None:
    replies = iter(['{"labels": ["vital"]}', '{"labels": ["Vital", "OK", "okay"]}'])
    llm = model(importance=lambda prompt: next(replies))
    values = metric(store, llm).measure([record(1, FACTS[0])])["t<::>1"]
    assert values["nuggets_strict_vital"] == 1.0
    assert "there must be 3 labels, not 1" in llm.asked("importance")[1].messages[-1].content


def test_nuggets_without_a_label_are_left_out(store: Store, tmp_path: Path) -> None:
    stage = metric(store, model(assign='{"labels": ["support", "perhaps"]}'))
    measured = stage.measure([record(1, "x")])
    values = measured["t<::>1"]
    assert (values["nuggets_count"], values["nuggets_strict_all"]) == (1.0, 1.0)
    report = report_of(measured)
    assert report.numbers["nuggets"]["labels"]["left_open"] == 2
    assert report.numbers["nuggets"]["unusable_replies"] == 1
    assert any(
        "1 replies could not be used as they were, and 2 labels are missing" in line
        for line in report.lines
    )


def test_a_turn_without_nuggets_or_a_judgement_is_left_out(store: Store) -> None:
    def down(prompt: Prompt) -> str:
        raise LLMError("the server is down")

    for reason, llm in {
        "no_nuggets": model(nuggetise=listed()),
        "not_judged": model(assign=down),
    }.items():
        measured = metric(store, llm).measure([record(1, "x")])
        assert measured == {}
        assert report_of(measured).numbers["nuggets"]["left_out"][reason] == 1
    assert "the server is down" in report_of(measured).lines[-1]


@pytest.mark.parametrize("reply", ["I am sorry.", '{"nuggets": []}', '{"nuggets": "none"}'])
def test_an_unreadable_or_empty_reply_leaves_the_nuggets_as_they_are(
    store: Store, reply: str
) -> None:
    llm = model(nuggetise=lambda prompt: reply if prompt.inputs["nuggets"] else reading(prompt))
    values = metric(store, llm, Talks(passages=12)).measure([record(1, "x")])
    assert values["t<::>1"]["nuggets_count"] == 10.0


def test_nuggets_beyond_the_limits_are_dropped(store: Store) -> None:
    long = " ".join(["word"] * 13)
    many = [long, "", "One fact", "one  fact", *(f"fact {n}" for n in range(40))]
    llm = model(nuggetise=listed(*many))
    metric(store, llm).measure([record(1, "x")])
    complaints = [prompt.messages[-1].content for prompt in llm.asked("nuggetise")]
    assert len(complaints) == 2
    assert "at most 30 nuggets" in complaints[1]
    nuggets = [text for prompt in llm.asked("assign") for text in prompt.inputs["nuggets"]]
    assert nuggets == ["One fact", *(f"fact {n}" for n in range(29))]


# Files, options, the whole run
# ---------------------------------------------------------------------------------------


def test_nuggets_from_a_file_are_not_created_or_labelled_again(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "n.jsonl"
    nuggets = [{"text": FACTS[0], "importance": "Vital"}, {"text": FACTS[1], "importance": "okay"}]
    path.write_text(
        json.dumps({"qid": "t<::>3", "query": "?", "nuggets": nuggets}), encoding="utf-8"
    )
    llm = Scripted(assign=literal)
    stage = metric(store, llm, nuggets=path)
    assert (
        stage.measure([record(3, FACTS[0]), record(1, "x")])["t<::>3"]["nuggets_weighted"]
        == 1 / 1.5
    )
    assert [prompt.task for prompt in llm.prompts] == ["assign"]


def test_judgements_of_turns_that_the_run_lacks_are_counted(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    rows = [
        {"turn_id": name, "importance": ["vital"], "assignment": ["support"]}
        for name in ("t<::>1", "u", "v")
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    stage = metric(store, Scripted(), judgements=[path])
    values = stage.measure([record(1, "four words it has"), record(2, "x")])
    assert values["t<::>1"]["nuggets_words"] == 4.0
    report = report_of(values)
    assert report.numbers["nuggets"]["not_in_run"] == 2
    assert report.numbers["nuggets"]["left_out"]["not_judged"] == 1
    assert "2 of 3 turns that files judge are not in this run" in report.lines[-1]
    assert report.files == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"judgements": [Path("x")], "max_words": 9},
            r"metrics\.nuggets\.max_words is for answers that are still",
        ),
        (
            {"judgements": [Path("x")], "nuggets": Path("y")},
            r"metrics\.nuggets\.nuggets is for answers",
        ),
    ],
)
def test_invalid_options(store: Store, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        metric(store, model(), **options)


class Bare(Dataset):
    def conversations(self) -> Iterator[Conversation]:
        yield Conversation("t", (Turn("t<::>1", "Why?"),))


def test_check_reports_that_there_are_no_passages(store: Store) -> None:
    (problem,) = metric(store, model(), Bare()).check()
    assert "metrics.nuggets.passages=evidence" in problem
    assert list(metric(store, model(), Bare(), passages="evidence").check()) == []


def test_check_reports_qrels_without_a_corpus(store: Store) -> None:
    class Judged(Bare):
        def qrels(self) -> Mapping[str, Mapping[str, int]]:
            return {"t<::>1": {"p": 1}}

    assert "neither reference passages nor qrels with a corpus" in next(
        iter(metric(store, model(), Judged()).check())
    )


def test_a_rule_based_model_must_have_rules_for_the_tasks(store: Store) -> None:
    class Rules(Scripted):
        tasks = frozenset({"assign"})

    (problem,) = metric(store, Rules()).check()
    assert "no rule for nuggetise, importance" in problem


def test_a_custom_prompt_is_used_and_fingerprinted(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "own.jinja"
    path.write_text("Facts of {{ question }}, please.", encoding="utf-8")
    llm = model()
    stage = metric(store, llm, nuggetise_prompt=path)
    assert stage.prompt_templates[0].hash != metric(store, llm).prompt_templates[0].hash
    stage.measure([record(1, "x")])
    assert llm.asked("nuggetise")[0].messages[-1].content == "Facts of Why tea?, please."


NUGGETS = {
    f"nuggets_{name}"
    for name in ("strict_vital", "vital", "strict_all", "all", "weighted", "count")
}


def run_sample(here: Path, *overrides: str) -> Any:
    from convrag.run.runner import run_experiment

    chosen = ["metrics=[nuggets]", "tracker=none", "limit=2", "history=gold", *overrides]
    _, summary = run_experiment(compose(*chosen), here / "run")
    return summary


def test_labels_in_a_file_score_a_run_its_records_and_alone_alike(here: Path) -> None:
    turns = [turn.id for each in islice(SampleDataset().conversations(), 2) for turn in each.turns]
    labels = [
        {"importance": ["vital", "okay"], "assignment": ["support", "partial"], "assessor": who}
        for who in "ab"
    ]
    rows = [{"turn_id": turn, **row} for turn in turns for row in labels]
    (here / "given.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    summary = run_sample(here, "metrics.nuggets.judgements=[given.jsonl]")
    assert summary.overall["nuggets_strict_vital"] == 1
    assert set(summary.reports["judging"]["nuggets"]["assessors"]) == {"a", "b"}
    assert "V_strict" in (here / "run" / "summary.md").read_text(encoding="utf-8")
    given = "judgements=[given.jsonl]"
    evaluating = [
        "task=evaluate",
        "task.records=run",
        "metrics=[nuggets]",
        f"metrics.nuggets.{given}",
    ]
    for name, arguments in {
        "evaluated": evaluating,
        "alone": ["task=score_nuggets", f"task.{given}"],
    }.items():
        done = run_task([*arguments, "tracker=none", f"hydra.run.dir={name}"], here)
        assert (done.returncode, done.stderr) == (0, "")
    written = [
        (here / name / "metrics.json").read_text("utf-8") for name in ("run", "evaluated", "alone")
    ]
    run, *others = (
        {k: v for k, v in json.loads(each)["overall"].items() if k in NUGGETS} for each in written
    )
    assert len(run) == len(NUGGETS)
    assert others == [run, run]
