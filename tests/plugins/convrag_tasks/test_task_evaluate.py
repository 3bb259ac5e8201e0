import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from convrag import (
    Conversation,
    ConvragError,
    DataError,
    Hit,
    Passage,
    Query,
    Store,
    Turn,
    TurnRecord,
)
from convrag.config.compose import compose
from convrag.run.records import from_json, to_json
from convrag.sdk.data.inspectorraget import read_marked_answers
from convrag.sdk.data.trec import encode_id, format_trec_lines
from convrag.testing import TaskContract
from convrag.turn.wiring import Wiring
from convrag_datasets.jsonl import JsonlDataset
from convrag_replay.retriever import RunRetriever
from convrag_tasks.evaluate import EvaluateTask
from convrag_tasks.prediction_files import read_answers, read_trec_run
from convrag_tasks.prediction_records import add_passage_texts, make_records
from convrag_tasks.predictions import find_missing, read_predictions
from convrag_tasks.run_records import read_dataset_turns
from fixtures import SHARED
from tasks import run_task


class TestContract(TaskContract):
    def make(self) -> EvaluateTask:
        return EvaluateTask(run=Path("run.trec"))


def write(path: Path, *rows: object) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def data(tmp_path: Path) -> list[str]:
    """Overrides that choose a data set of three turns, two of them with qrels and two with answers."""
    turns = [
        {"question": "What?", "answer": "Red."},
        {"question": "And?", "answer": "Green."},
        {"question": "So?"},
    ]
    conversations = write(tmp_path / "talks.jsonl", {"id": "c", "turns": turns})
    corpus = write(tmp_path / "corpus.jsonl", *({"_id": i, "text": f"Text of {i}."} for i in "abc"))
    qrels = write(
        tmp_path / "qrels.tsv", "query-id\tcorpus-id\tscore", "c<::>1\ta\t1", "c<::>3\tc\t1"
    )
    files = {"conversations": conversations, "corpus": corpus, "qrels": qrels}
    return ["dataset=jsonl", *(f"dataset.{name}={path}" for name, path in files.items())]


def dataset(data: list[str]) -> JsonlDataset:
    given = dict(override.removeprefix("dataset.").split("=", 1) for override in data[1:])
    return JsonlDataset(**{name: Path(path) for name, path in given.items()})


def convrag(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_task([*arguments, "tracker=none"], folder)


def metrics(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "out/metrics.json").read_text(encoding="utf-8"))


RUN = ["c<::>1 Q0 b 1 2.0 x", "c<::>1 Q0 a 2 1.0 x"]


def test_a_trec_run_is_scored_and_what_it_lacks_is_said(data: list[str], tmp_path: Path) -> None:
    run = write(tmp_path / "run.trec", *RUN)
    done = convrag(
        "task=evaluate", f"task.run={run}", *data, "metrics=[ranking,answers]", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert metrics(tmp_path)["overall"]["R@1"] == 0.0
    assert (
        metrics(tmp_path)["overall"]["R@3"] == 0.5
    )  # a system that finds nothing must not score better
    assert (
        "token_F1" not in metrics(tmp_path)["overall"]
    )  # no answers were given: they are not wrong ones
    assert "1 turns with qrels have no ranking in the files" in done.stdout
    assert "1 turns with qrels" in (tmp_path / "out/summary.md").read_text(encoding="utf-8")
    assert "generator" not in (tmp_path / "out/summary.md").read_text(encoding="utf-8")
    assert "count as 0 (task.missing=skip leaves them out" in done.stdout
    done = convrag("task=evaluate", f"task.run={run}", *data, "task.missing=skip", folder=tmp_path)
    assert metrics(tmp_path)["overall"]["R@3"] == 1.0
    assert "are left out of the means" in done.stdout


@pytest.mark.parametrize("form", ["{}\t{}\t{}", "{} 0 {} {}"])
def test_ids_with_blanks_come_back_from_a_run(
    form: str, tmp_path: Path, convrag_store: Store
) -> None:
    """`my file 0` and `my_file 0` were one id in run.trec, and neither was found in the qrels."""
    ids = ["my file 0", "my_file 0", "https://a.org/b%20c", "50%\u00a0off"]
    code = str if "\t" in form else encode_id
    qrels = write(
        tmp_path / "qrels",
        *(form.format(code("a c<::>1"), code(name), n) for n, name in enumerate(ids)),
    )
    talks = write(tmp_path / "talks.jsonl", {"id": "a c", "turns": [{"question": "What?"}]})
    corpus = write(tmp_path / "corpus.jsonl", *({"_id": name, "text": f"{name}!"} for name in ids))
    data = JsonlDataset(conversations=talks, qrels=qrels, corpus=corpus)
    assert list(data.qrels()["a c<::>1"]) == ids
    hits = tuple(Hit(Passage(name, ""), 9.0 - n) for n, name in enumerate(ids))
    record = TurnRecord("a c", "a c<::>1", "default", 1, "What?", hits=hits)
    ours = write(tmp_path / "run.trec", *format_trec_lines(record))
    theirs = write(
        tmp_path / "theirs.trec",
        *(line.replace("%2520", "%20") for line in format_trec_lines(record)),
    )
    for run in (ours, theirs):
        found = read_trec_run(run, known=data.qrels()["a c<::>1"])[0]["a c<::>1"]
        replayed = RunRetriever(path=run, dataset=data, store=convrag_store).retrieve(
            [Query("", turn_id="a c<::>1")], 9
        )
        assert [hit.passage.id for hit in found] == ids
        assert [hit.passage.text for hit in replayed] == [f"{name}!" for name in ids]


@pytest.mark.parametrize(
    "row",
    [
        {
            "task_id": "c<::>1",
            "predictions": [{"text": "Red"}],
            "contexts": [{"document_id": "a", "score": 1}],
        },
        {"task_id": "c::1", "predictions": [{"text": "Red"}, {"text": "other"}], "contexts": []},
        {"turn_id": "c<::>1", "answer": "red!"},
        {"_id": "c<::>1", "text": "|user|: What is it?", "agent_response": "The red."},
    ],
)
def test_answers_are_read_in_every_form(
    row: dict[str, Any], data: list[str], tmp_path: Path
) -> None:
    answers = write(tmp_path / "answers.jsonl", row)
    turns = read_dataset_turns(dataset(data))
    given = read_predictions(None, answers, turns, skip=False)
    (record,) = make_records(given, turns, {}, 5)
    assert record.turn_id == "c<::>1"
    assert record.answer.text.lower().strip("the .!") == "red"
    assert record.rewritten_query == ("What is it?" if "_id" in row else "What?")
    assert ("ranking" in record.trace["evaluate"]["given"]) == ("contexts" in row)
    assert find_missing(given, turns, dataset(data).qrels())["answer"] == ["c<::>2"]


def test_answers_alone_are_scored_and_their_contexts_are_a_ranking(
    data: list[str], tmp_path: Path
) -> None:
    contexts = [{"document_id": "b", "score": 1}, {"document_id": "a", "score": 2.5}]
    row = {"task_id": "c<::>1", "predictions": [{"text": "Red"}], "contexts": contexts}
    answers = write(tmp_path / "answers.jsonl", row)
    done = convrag(
        "task=evaluate",
        f"task.answers={answers}",
        "task.missing=skip",
        *data,
        "metrics=[answers,ranking]",
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    overall = metrics(tmp_path)["overall"]
    assert (overall["token_F1"], overall["R@1"]) == (1.0, 1.0)
    assert "1 turns with a reference answer have no answer" in done.stdout


def test_a_run_and_answers_come_together(data: list[str], tmp_path: Path) -> None:
    run = write(tmp_path / "run.trec", *RUN, "c<::>2 Q0 c 1 1.0 x")
    answers = write(
        tmp_path / "answers.jsonl",
        {"turn_id": "c<::>1", "answer": "Text of b [1]. Text of a [2][3]."},
    )
    given = read_predictions(run, answers, read_dataset_turns(dataset(data)), skip=False)
    records = add_passage_texts(
        make_records(given, read_dataset_turns(dataset(data)), {}, 2), dataset(data)
    )
    assert [record.turn_id for record in records] == ["c<::>1", "c<::>2"]
    assert [item.text for item in records[0].evidence.items] == ["Text of b.", "Text of a."]
    assert records[0].trace == {"evaluate": {"given": ["ranking", "answer", "evidence"]}}
    assert records[1].trace == {"evaluate": {"given": ["ranking"]}}
    assert records[1].evidence.items == ()
    chosen = "metrics=[ranking,answers,grounding]"
    done = convrag(
        "task=evaluate",
        f"task.run={run}",
        f"task.answers={answers}",
        *data,
        chosen,
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert metrics(tmp_path)["overall"]["existing_citations"] == pytest.approx(2 / 3)
    assert "the first 5 passages of the run stand for what they were given" in done.stdout


def test_contexts_that_were_not_retrieved_keep_their_texts(data: list[str], tmp_path: Path) -> None:
    context = {"document_id": "mine", "text": "Red or green."}
    run = write(tmp_path / "run.trec", *RUN)
    answers = write(
        tmp_path / "a.jsonl",
        {"task_id": "c<::>1", "predictions": [{"text": "Red"}], "contexts": [context]},
    )
    given = read_predictions(run, answers, read_dataset_turns(dataset(data)), skip=False)
    (record,) = make_records(given, read_dataset_turns(dataset(data)), {}, 2)
    assert [item.passage.text for item in from_json(to_json(record)).evidence.items] == [
        "Red or green."
    ]
    assert [hit.passage.id for hit in from_json(to_json(record)).hits] == ["b", "a"]


def test_relevant_passages_stand_for_contexts_that_nobody_named(
    data: list[str], tmp_path: Path
) -> None:
    class Relevant(JsonlDataset):
        def conversations(self) -> Any:
            from convrag.api.passages import Passage

            yield Conversation("c", (Turn("c<::>1", "What?", "Red.", (Passage("a", "Red."),)),))

    relevant = Relevant(conversations=tmp_path / "talks.jsonl")
    answers = write(tmp_path / "answers.jsonl", {"turn_id": "c<::>1", "answer": "Red"})
    given = read_predictions(None, answers, read_dataset_turns(relevant), skip=False)
    (record,) = make_records(given, read_dataset_turns(relevant), {}, 5)
    assert [item.passage.id for item in record.evidence.items] == ["a"]
    assert record.trace == {
        "evaluate": {"given": ["answer"]}
    }  # for nobody knows what its marks would mean
    assert find_missing(given, read_dataset_turns(relevant), {}) == {"answer": []}


def test_the_order_is_trec_evals(tmp_path: Path) -> None:
    run = write(
        tmp_path / "r.trec",
        "t Q0 a 1 1.0 x",
        "t Q0 c 9 1.00000001 x",
        "t Q0 b 2 1 x",
        "t Q0 d 3 2e0 x",
    )
    rankings, _ = read_trec_run(run)
    assert [hit.passage.id for hit in rankings["t"]] == ["d", "c", "b", "a"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("c<::>1 Q0 a 1 1.0", "six columns"),
        ("c<::>1 Q0 a 1 high x", "'high' is no number"),
        ("c<::>1 Q0 a 1 nan x", "no place in an order"),
        ("c<::>1 Q0 b 3 0.5 x", "ranked twice"),
        ("d<::>1 Q0 b 3 0.5 x", "no turn 'd<::>1'; it has 1 of the 2 turns"),
    ],
)
def test_broken_runs_are_said_with_their_line(
    line: str, message: str, data: list[str], tmp_path: Path
) -> None:
    run = write(tmp_path / "run.trec", *RUN, "", line)
    with pytest.raises(DataError, match=message) as raised:
        read_predictions(run, None, read_dataset_turns(dataset(data)), skip=False)
    assert raised.value.line == 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "this is not JSON"),
        ("[]", "must be a JSON object, not a list"),
        ({"text": "x"}, "this is not an answer .*: task_id: Field required"),
        ({"turn_id": "c<::>1"}, "this is not an answer"),
        ({"turn_id": "c<::>1", "answer": 3}, "answer: Input should be a valid string"),
        ({"answer": "x"}, "task_id: Field required"),
        ({"task_id": "c<::>1", "predictions": []}, "predictions: List should have at least 1 item"),
        ({"task_id": "c<::>1", "predictions": [{}]}, "predictions.0.text: Field required"),
        (
            {"task_id": "c<::>1", "predictions": [{"text": "x"}], "contexts": {}},
            "contexts: Input should be a valid array",
        ),
        (
            {"turn_id": "c<::>1", "answer": "x", "contexts": [{"id": "a", "score": "1"}]},
            "contexts.0.score: Input should be a valid number",
        ),
        (
            {"turn_id": "c<::>1", "answer": "x", "contexts": [{"text": "a"}]},
            "contexts.0.document_id: Field required",
        ),
        ({"turn_id": "c<::>2", "answer": "x"}, "has an answer already"),
    ],
)
def test_broken_answers_are_said_with_their_line(
    line: object, message: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "answers.jsonl", {"turn_id": "c<::>2", "answer": "x\u2028y"}, "", line)
    with pytest.raises(DataError, match=message) as raised:
        read_answers(path)
    assert raised.value.line == 3


def test_turns_of_others_are_left_out_where_asked(data: list[str], tmp_path: Path) -> None:
    turns = read_dataset_turns(dataset(data))
    run = write(tmp_path / "run.trec", *RUN, "d<::>1 Q0 b 3 0.5 x")
    assert read_predictions(run, None, turns, skip=True).unknown == {run: 1}
    only = write(tmp_path / "only.trec", "d<::>1 Q0 b 3 0.5 x")
    with pytest.raises(DataError, match="none of the turns"):
        read_predictions(only, None, turns, skip=True)
    twice = write(
        tmp_path / "a.jsonl",
        {"turn_id": "c<::>1", "answer": "x"},
        {"turn_id": "c::1", "answer": "y"},
    )
    with pytest.raises(DataError, match="occurs twice"):
        read_predictions(None, twice, turns, skip=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], r"task=evaluate needs task\.run="),
        (["task.run=no.trec"], r"no\.trec: there is no such file or folder"),
        (["task.answers=."], r"this folder has no \*\.jsonl file"),
        (["task.records=."], "not the folder of a finished run"),
        (["task.records=.", "task.run=x"], r"task\.records is a whole run"),
        (["task.run=x", "task.missing=no"], r"task\.missing"),
    ],
)
def test_mistakes_are_one_message(arguments: list[str], message: str, here: Path) -> None:
    def evaluate() -> None:
        config = compose("task=evaluate", *arguments)
        Wiring(config).get("task").execute(config, here)

    with pytest.raises(ConvragError, match=message):
        evaluate()


def test_a_partial_run_that_is_scored_again_is_partial(tmp_path: Path) -> None:
    assert convrag("limit=1", "generator=none", folder=tmp_path).returncode == 0
    folder = tmp_path / "first"
    (tmp_path / "out").rename(folder)
    path = folder / "intermediate/default.jsonl"
    first, *others = path.read_text(encoding="utf-8").splitlines()
    failed = json.dumps(
        json.loads(first) | {"error": "generator: no", "contexts": [], "evidence": []}
    )
    path.write_text("\n".join([failed, *others]) + "\n", encoding="utf-8")
    done = convrag("task=evaluate", "task.records=first", folder=tmp_path)
    assert done.returncode == 3, done.stderr
    assert (
        done.stdout.splitlines()[-3] == f"This run is partial: 1 of {1 + len(others)} turns failed."
    )
    exported = convrag(
        "task=export", "task.records=first", "task.format=trec", "task.path=x.trec", folder=tmp_path
    )
    assert "1 of them failed, and have no answer" in exported.stdout
    path.write_text(first + "\n", encoding="utf-8")
    row = json.loads((folder / "metrics.json").read_text()) | {
        "turns": 1,
        "stopped": "the limit is reached",
    }
    (folder / "metrics.json").write_text(json.dumps(row))
    done = convrag("task=evaluate", "task.records=first", folder=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "This run is partial: stopped after 1 turn (the limit is reached)." in done.stdout


def test_a_finished_run_is_scored_again(tmp_path: Path) -> None:
    first = convrag("limit=1", "metrics=[answers]", folder=tmp_path)
    assert first.returncode == 0, first.stderr
    before = metrics(tmp_path)
    (tmp_path / "out").rename(tmp_path / "first")
    done = convrag(
        "task=evaluate", "task.records=first", "metrics=[answers,grounding]", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    after = metrics(tmp_path)
    assert after["overall"] == before["overall"] | {
        name: after["overall"][name] for name in after["overall"]
    }
    assert after["overall"]["cited_sentences"] > 0
    assert sum(usage["calls"] for usage in after["usage"].values()) == 0
    assert sum(usage["reused"] for usage in after["usage"].values()) > 0
    other = convrag(
        "task=evaluate",
        "task.records=first",
        "dataset=jsonl",
        "dataset.queries=q.jsonl",
        folder=tmp_path,
    )
    assert other.returncode == 2
    write(tmp_path / "q.jsonl", {"_id": "x<::>1", "text": "?"})
    other = convrag(
        "task=evaluate",
        "task.records=first",
        "dataset=jsonl",
        "dataset.queries=q.jsonl",
        folder=tmp_path,
    )
    assert "are not in the data set" in other.stderr


def test_a_label_and_a_position_reach_the_record(data: list[str], tmp_path: Path) -> None:
    run = write(tmp_path / "run.trec", "c<::>3 Q0 b 3 0.5 x")
    given = read_predictions(run, None, read_dataset_turns(dataset(data)), skip=False)
    (record,) = make_records(given, read_dataset_turns(dataset(data)), {}, 5)
    assert isinstance(record, TurnRecord)
    assert (record.number, record.original_query, record.conversation_id) == (3, "So?", "c")


PUBLISHED = SHARED / "data/mtrag"
MARKED = "mtrag-human/evaluations/reference_subset_with_human_evaluations.json"


@pytest.mark.skipif(not (PUBLISHED / MARKED).is_file(), reason="needs MTRAG's marks of people")
def test_published_answers_are_a_run_and_have_the_published_rouge(tmp_path: Path) -> None:
    command = [
        "task=evaluate",
        f"task.predictions={PUBLISHED / MARKED}",
        "dataset=mtrag",
        f"dataset.path={PUBLISHED}",
    ]
    command += ["metrics=[answers]", "task.missing=skip", "hydra.run.dir=out"]
    done = convrag(*command, folder=tmp_path)
    assert done.returncode == 2
    assert "choose one with task.model=reference" in done.stderr
    assert convrag(*command, "task.model=gpt-4o", folder=tmp_path).returncode == 0
    rows = map(json.loads, (tmp_path / "out/scores.jsonl").read_text(encoding="utf-8").splitlines())
    found = {row["turn_id"]: row["scores"]["ROUGE-L"] for row in rows}
    answers = [each for each in read_marked_answers(PUBLISHED / MARKED) if each.model == "gpt-4o"]
    assert found == pytest.approx(
        {each.turn_id: each.marks["algorithm"]["RougeL"]["system"] for each in answers}
    )
