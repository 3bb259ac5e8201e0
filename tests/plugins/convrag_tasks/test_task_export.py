import csv
import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from convrag import Answer, Conversation, Evidence, EvidenceItem, Hit, Passage, Turn, TurnRecord
from convrag.api.errors import ConfigError, ConvragError, UnknownName
from convrag.config.compose import compose
from convrag.run.records import to_json
from convrag.testing import TaskContract
from convrag.turn.wiring import Wiring
from convrag_tasks.export import ExportTask
from convrag_tasks.export_csv import format_csv_lines
from convrag_tasks.export_inspectorraget import format_inspector_lines
from convrag_tasks.export_mtrag import format_mtrag_lines
from convrag_tasks.run_records import DatasetTurn


class TestContract(TaskContract):
    def make(self) -> ExportTask:
        return ExportTask(records=Path("run"), path=Path("out.jsonl"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small run of the sample."""
    folder = tmp_path_factory.mktemp("run") / "first"
    execute("limit=2", "metrics=[answers,ranking]", "report=false", folder=folder)
    return folder


def execute(*arguments: str, folder: Path) -> str:
    """Carry out a task in this process, and return what it has printed."""
    config = compose(*arguments, "tracker=none", f"store.path={folder.parent / 'store'}")
    out = io.StringIO()
    with redirect_stdout(out):
        assert Wiring(config).get("task").execute(config, folder) == 0
    return out.getvalue()


def export(run: Path, path: Path, *arguments: str) -> str:
    said = execute(
        "task=export", f"task.records={run}", f"task.path={path}", *arguments, folder=path.parent
    )
    assert f"Written: {path}" in said
    return path.read_text(encoding="utf-8")


def complaints(task: dict[str, Any]) -> Iterator[str]:
    """What MTRAG's format checker has against a line of task C, by its rules, in words of our own."""
    kinds = {
        "task_id": str,
        "Collection": str,
        "input": list,
        "contexts": list,
        "predictions": list,
    }
    yield from (name for name, kind in kinds.items() if not isinstance(task.get(name), kind))
    if len(task["contexts"]) > 10:
        yield "too many contexts"
    for context in task["contexts"]:
        if not isinstance(context.get("document_id"), str) or type(context.get("score")) not in (
            int,
            float,
        ):
            yield f"context {context}"
    if not all(isinstance(prediction.get("text"), str) for prediction in task["predictions"]):
        yield "predictions"


def test_mtrags_checker_would_accept_what_is_written(run: Path, tmp_path: Path) -> None:
    tasks = [json.loads(line) for line in export(run, tmp_path / "out.jsonl").splitlines()]
    assert [complaint for task in tasks for complaint in complaints(task)] == []
    ids = [
        json.loads(line)["turn_id"]
        for line in (run / "intermediate/default.jsonl").read_text("utf-8").splitlines()
    ]
    assert [task["task_id"] for task in tasks] == ids
    second = tasks[1]
    assert [message["speaker"] for message in second["input"]] == ["user", "agent", "user"]
    assert second["input"][1]["text"] == tasks[0]["targets"][0]["text"]
    assert second["Answerability"] == ["ANSWERABLE"]
    assert second["turn"] == "2"
    assert len(second["contexts"]) == 5
    assert all(context["text"] for context in second["contexts"])
    ranked = [
        json.loads(line)
        for line in export(run, tmp_path / "a.jsonl", "task.contexts=hits").splitlines()
    ]
    assert len(ranked[1]["contexts"]) == 10


def test_what_was_written_scores_like_the_run(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "out.jsonl", "task.contexts=hits")
    chosen = ["metrics=[answers,ranking]", "task.missing=skip"]
    execute(
        "task=evaluate",
        f"task.answers={tmp_path / 'out.jsonl'}",
        *chosen,
        folder=tmp_path / "again",
    )
    before, after = (
        json.loads((folder / "metrics.json").read_text("utf-8"))["overall"]
        for folder in (run, tmp_path / "again")
    )
    del before["K-precision"], after["K-precision"]  # of all ten passages now
    assert after == before


def turn(
    number: int, *ids: str, domain: str = "clapnq", scores: bool = True
) -> tuple[TurnRecord, DatasetTurn]:
    hits = tuple(Hit(Passage(id_, f"text {id_}"), 1.0) for id_ in ids)
    items = tuple(EvidenceItem(n, hit.passage, hit.passage.text) for n, hit in enumerate(hits, 1))
    turn = Turn(
        f"c<::>{number}",
        "Q",
        "",
        labels={"question_type": ["Factoid", "Summarization"], "mood": "calm"},
    )
    record = TurnRecord(
        "c",
        turn.id,
        domain,
        number,
        "Q",
        hits=hits if scores else (),
        evidence=Evidence(items),
        answer=Answer("A"),
    )
    return record, DatasetTurn(Conversation("c", (turn,) * number, domain), number, turn)


def test_contexts_fall_strictly_and_are_ten_at_most() -> None:
    record, place = turn(1, *"abcdefghijkl")
    (line,) = format_mtrag_lines([record], {record.turn_id: place}, "evidence")
    task = json.loads(line)
    scores = [context["score"] for context in task["contexts"]]
    assert len(scores) == 10
    assert scores == sorted(set(scores), reverse=True)
    assert task["Collection"] == "mt-rag-clapnq-elser-512-100-20240503"
    assert task["Question Type"] == ["Factoid", "Summarization"]
    assert task["mood"] == ["calm"]
    assert task["targets"] == []


def test_inspectorraget_would_load_what_is_written(run: Path, tmp_path: Path) -> None:
    document = json.loads(export(run, tmp_path / "out.json", "task.format=inspectorraget"))
    keys = {"name", "models", "metrics", "documents", "filters", "tasks", "evaluations"}
    assert document.keys() == keys
    assert all({"model_id", "name", "owner"} <= model.keys() for model in document["models"])
    for metric in document["metrics"]:
        assert metric["author"] == "algorithm"
        assert metric["type"] == (
            "text" if metric["name"].startswith(("R@", "nDCG@")) else "numerical"
        )
    numbers = [metric["name"] for metric in document["metrics"] if metric["type"] == "numerical"]
    for metric in document["metrics"]:
        if metric["name"] in numbers:
            low, high, step = metric["range"]
            values = [
                each["annotations"][metric["name"]]["convrag"]["value"]
                for each in document["evaluations"]
            ]
            assert low <= min(values) <= max(values) <= high
            assert step > 0
    assert len(document["evaluations"]) == len(document["tasks"]) * len(document["models"])
    known = {passage["document_id"] for passage in document["documents"]}
    for task in document["tasks"]:
        assert task["task_type"] == "rag"
        assert {context["document_id"] for context in task["contexts"]} <= known
        assert task["input"][-1]["speaker"] == "user"
        assert task["targets"][0]["text"]
        assert all(name in task for name in document["filters"])


def folder_of(path: Path, *records: TurnRecord, **scores: float) -> Path:
    (path / "intermediate").mkdir(parents=True)
    lines = "".join(f"{to_json(record)}\n" for record in records)
    (path / "intermediate/default.jsonl").write_text(lines, encoding="utf-8")
    place = {"conversation_id": "c", "domain": "default", "turn": 1}
    rows = [{"turn_id": record.turn_id, **place, "scores": scores} for record in records[:1]]
    (path / "scores.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8"
    )
    return path


def test_several_runs_are_several_models(tmp_path: Path) -> None:
    (first, here), (second, there) = turn(1, "a"), turn(2, "b")
    turns = {first.turn_id: here, second.turn_id: there}
    folders = [
        folder_of(tmp_path / side / "run", first, second, F1=0.5, BLEU=20.0)
        for side in ("left", "right")
    ]
    said: list[str] = []
    document = json.loads(*format_inspector_lines(folders, turns, [], said))
    assert [model["model_id"] for model in document["models"]] == ["run", "run (2)"]
    assert len(document["evaluations"]) == 4
    assert {metric["type"] for metric in document["metrics"]} == {"text"}
    assert "F1, BLEU" in said[0]
    chosen = json.loads(*format_inspector_lines(folders, turns, ["BLEU"], said))
    assert [task["task_id"] for task in chosen["tasks"]] == [first.turn_id]
    assert [(metric["type"], metric["range"]) for metric in chosen["metrics"]] == [
        ("numerical", [0.0, 20.0, 2.0])
    ]
    assert [each["document_id"] for each in chosen["documents"]] == ["a"]
    with pytest.raises(UnknownName, match="BLUE"):
        format_inspector_lines(folders, turns, ["BLUE"], said)


def test_csv_has_a_row_for_each_turn(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "out.csv", "task.format=csv")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    lines = (run / "scores.jsonl").read_text("utf-8").splitlines()
    scores = {row["turn_id"]: row["scores"] for row in map(json.loads, lines)}
    for row in rows:
        for name, value in scores[row["turn_id"]].items():
            assert float(row[name]) == value
    assert rows[0]["question"] == "why does the moon have phases"
    assert rows[0]["answerability"] == "ANSWERABLE"
    assert None not in rows[0]


def test_trec_is_the_run_that_was_written(run: Path, tmp_path: Path) -> None:
    assert export(run, tmp_path / "out.trec", "task.format=trec") == (run / "run.trec").read_text(
        encoding="utf-8"
    )


def test_mistakes_are_said(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ends in \.jsonl"):
        ExportTask(records=run, path=Path("out.json"))
    with pytest.raises(ConfigError, match=r"task\.format=inspectorraget"):
        ExportTask(records=run, path=Path("out.jsonl"), compare=[run])
    (tmp_path / "q.jsonl").write_text('{"_id": "x<::>1", "text": "?"}\n', encoding="utf-8")
    other = ["dataset=jsonl", f"dataset.queries={tmp_path / 'q.jsonl'}"]
    wrong = {
        "not the folder of a finished run": [f"task.records={tmp_path}", "task.path=x.jsonl"],
        "the data set has no turn": [f"task.records={run}", "task.path=x.jsonl", *other],
        "cannot be written": [f"task.records={run}", "task.path=/proc/nowhere/x.jsonl"],
    }
    for message, arguments in wrong.items():
        with pytest.raises(ConvragError, match=message):
            execute("task=export", *arguments, folder=tmp_path)
    assert not (tmp_path / "x.jsonl").exists()


@pytest.mark.parametrize(
    "text", ["First line\nSecond line", "a\rb", "a\r\nb", "a,b", 'a "b"', "", " a", "=1+1"]
)
def test_a_field_with_any_sign_is_one_field(text: str) -> None:
    """On Python 3.11, an answer of two lines was two rows: line ends were not quoted."""
    given = TurnRecord("c", "c<::>1", "d", 1, "?", answer=Answer(text), labels={"kind": text})
    lines = format_csv_lines([given, given], {"c<::>1": {"m": 0.5}})
    rows = list(csv.DictReader(io.StringIO("".join(lines), newline="")))
    assert [(row["answer"], row["kind"], row["m"]) for row in rows] == [(text, text, "0.5")] * 2
