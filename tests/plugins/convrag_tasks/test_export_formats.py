"""RAGAS, DeepEval, BEIR, SemEval's subtasks, and the tag of TREC runs."""

import csv
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from omegaconf import DictConfig

from convrag import (
    Answer,
    ConfigError,
    DataError,
    Evidence,
    EvidenceItem,
    Hit,
    Passage,
    Query,
    Turn,
    TurnRecord,
)
from convrag.config.compose import compose
from convrag.run.records import to_json
from convrag.turn.wiring import Wiring
from convrag_datasets.beir import BeirDataset
from convrag_tasks.export import ExportTask
from convrag_tasks.export_csv import format_csv_lines
from convrag_tasks.export_samples import (
    format_deepeval_conversations,
    format_ragas_conversations,
)

CONVERSATION = {
    "id": "c",
    "turns": [
        {"question": "What is red?", "answer": "A rose.", "kind": "easy"},
        {"question": "And blue?", "answer": "The sky.\nThe sea."},
        {"question": "And green?"},
    ],
}
CORPUS = [
    {"_id": "p", "text": "A rose is red.", "title": "Rose"},
    {"_id": "q", "text": "The sky is blue.", "url": "u"},
]
QRELS = "query-id\tcorpus-id\tscore\nc<::>1\tp\t2\nc<::>1\tq\t0\nc<::>2\tq\t1\n"


def make_record(number: int, question: str, query: str, answer: str, **fields: Any) -> TurnRecord:
    rose, sky = Passage("p", "A rose is red.", "Rose"), Passage("q", "The sky is blue.", url="u")
    hits = (Hit(sky, 2.0), Hit(rose, 1.0))
    evidence = Evidence((EvidenceItem(1, sky, sky.text),))
    given = {
        "queries": (Query(query),),
        "hits": hits,
        "evidence": evidence,
        "answer": Answer(answer, ("q",)),
    }
    return TurnRecord("c", f"c<::>{number}", "default", number, question, **{**given, **fields})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run of three turns, of which the last failed."""
    records = [
        make_record(
            1,
            "What is red?",
            "What is red?",
            "Roses. [1]",
            reference="A rose.",
            gold={"p": 2, "q": 0},
        ),
        make_record(
            2,
            "And blue?",
            "What is blue?",
            "Sky,\nsea.",
            reference="The sky.\nThe sea.",
            gold={"q": 1},
        ),
        make_record(3, "And green?", "What is green?", "", error="no reply"),
    ]
    folder = tmp_path / "run"
    (folder / "intermediate").mkdir(parents=True)
    (folder / "intermediate" / "default.jsonl").write_text(
        "".join(f"{to_json(record)}\n" for record in records)
    )
    place = {"conversation_id": "c", "domain": "default", "turn": 1}
    scores = [
        {"turn_id": "c<::>1", "scores": {"F1": 0.5}},
        {"turn_id": "c<::>2", "scores": {"R@5": 1.0}},
    ]
    (folder / "scores.jsonl").write_text("".join(f"{json.dumps(place | row)}\n" for row in scores))
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The data set, as a command names it."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "talks.jsonl").write_text(json.dumps(CONVERSATION))
    (folder / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in CORPUS))
    (folder / "qrels.tsv").write_text(QRELS)
    names = {"conversations": "talks.jsonl", "corpus": "corpus.jsonl", "qrels": "qrels.tsv"}
    return ["dataset=jsonl", *(f"dataset.{name}={folder / file}" for name, file in names.items())]


@cache
def compose_data(*data: str) -> DictConfig:
    return compose(*data, "tracker=none")


@pytest.fixture
def export(run: Path, files: list[str], capsys: pytest.CaptureFixture[str]) -> Callable[..., Path]:
    """Writes the run, or the data set alone, and gives the path."""

    def execute(
        name: str, *given: str, records: bool = True, data: tuple[str, ...] = tuple(files)
    ) -> Path:
        parameters: dict[str, Any] = dict(each.removeprefix("task.").split("=") for each in given)
        if "tasks" in parameters:
            parameters["tasks"] = Path(parameters["tasks"])
        task = ExportTask(path=run.parent / name, records=run if records else None, **parameters)
        assert task.execute(compose_data(*data), run.parent / "out") == 0
        assert f"Written: {task.path}" in capsys.readouterr().out.replace("\n", "")
        return task.path

    return execute


def test_the_task_of_a_command(run: Path, files: list[str]) -> None:
    """Every parameter can be given in a command."""
    given = {"records": run, "path": run.parent / "beir", "format": "beir", "queries": "asked"}
    config = compose(
        "task=export",
        *(f"task.{name}={value}" for name, value in given.items()),
        *files,
        "tracker=none",
    )
    assert Wiring(config).get("task").execute(config, run.parent / "out") == 0
    assert read_lines(run.parent / "beir" / "queries.jsonl")[1]["text"] == "And blue?"


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_sample_of_ragas_for_each_turn(export: Callable[..., Path]) -> None:
    first, second = read_lines(export("a.jsonl", "task.format=ragas"))
    assert first == {
        "user_input": "What is red?",
        "retrieved_contexts": ["The sky is blue."],
        "retrieved_context_ids": ["q"],
        "reference_contexts": ["Rose\nA rose is red."],
        "reference_context_ids": ["p"],
        "response": "Roses. [1]",
        "reference": "A rose.",
    }
    assert second["user_input"] == "What is blue?"
    assert second["reference_context_ids"] == ["q"]
    hits = ("task.format=ragas", "task.queries=asked", "task.contexts=hits")
    _, second = read_lines(export("a.jsonl", *hits))
    assert second["user_input"] == "And blue?"
    assert second["retrieved_context_ids"] == ["q", "p"]


def test_a_sample_of_ragas_for_each_conversation(export: Callable[..., Path]) -> None:
    path = export("a.jsonl", "task.format=ragas", "task.samples=conversations")
    (talk,) = read_lines(path)
    assert talk == {
        "user_input": [
            {"content": "What is red?", "type": "human"},
            {"content": "Roses. [1]", "type": "ai"},
            {"content": "And blue?", "type": "human"},
            {"content": "Sky,\nsea.", "type": "ai"},
        ]
    }


def test_a_test_case_of_deepeval_for_each_turn(export: Callable[..., Path]) -> None:
    first, second = json.loads(export("a.json", "task.format=deepeval").read_text())
    assert first == {
        "name": "c<::>1",
        "input": "What is red?",
        "actual_output": "Roses. [1]",
        "retrieval_context": ["The sky is blue."],
        "expected_output": "A rose.",
        "context": ["Rose\nA rose is red."],
    }
    assert second["input"] == "What is blue?"


def test_a_test_case_of_deepeval_for_each_conversation(export: Callable[..., Path]) -> None:
    path = export("a.json", "task.format=deepeval", "task.samples=conversations")
    (talk,) = json.loads(path.read_text())
    assert talk["name"] == "c"
    assert [turn["role"] for turn in talk["turns"]] == ["user", "assistant"] * 2
    assert talk["turns"][3] == {
        "role": "assistant",
        "content": "Sky,\nsea.",
        "retrieval_context": ["The sky is blue."],
    }


def test_given_history_comes_before_the_turns_that_were_asked() -> None:
    records = [make_record(3, "And green?", "What is green?", "Grass.")]
    histories = {"c": (Turn("c<::>1", "Red?", "A rose."), Turn("c<::>2", "Blue?"))}
    texts = ["Red?", "A rose.", "Blue?", "", "And green?", "Grass."]
    (sample,) = format_ragas_conversations(records, histories)
    assert [message["content"] for message in json.loads(sample)["user_input"]] == texts
    (case,) = json.loads("".join(format_deepeval_conversations(records, histories, "evidence")))
    assert [turn["content"] for turn in case["turns"]] == texts


def test_samples_of_a_run_without_references_need_no_data_set(
    export: Callable[..., Path], run: Path
) -> None:
    path = run / "intermediate" / "default.jsonl"
    path.write_text(f"{to_json(make_record(1, 'Why?', 'Why?', 'So.'))}\n")
    (sample,) = read_lines(export("a.jsonl", "task.format=ragas", data=()))
    assert "reference" not in sample
    assert "reference_contexts" not in sample
    path.write_text(f"{to_json(make_record(1, 'Why?', 'Why?', 'So.', gold={'p': 1}))}\n")
    with pytest.raises(DataError, match="the data set has no turn 'c<::>1'"):
        export("a.jsonl", "task.format=ragas", data=())


@pytest.mark.parametrize("format", ["ragas", "deepeval"])
def test_a_run_whose_turns_all_failed_has_no_samples(
    format: str, export: Callable[..., Path], run: Path
) -> None:
    record = make_record(1, "Why?", "Why?", "", error="no reply")
    (run / "intermediate" / "default.jsonl").write_text(f"{to_json(record)}\n")
    with pytest.raises(DataError, match="every turn of this run failed"):
        export("a.jsonl", f"task.format={format}")
    assert not (run.parent / "a.jsonl").exists()


def test_ragas_and_deepeval_read_the_samples(export: Callable[..., Path]) -> None:
    """Where they are installed; each brings dozens of libraries."""
    schema = pytest.importorskip("ragas.dataset_schema")
    samples = read_lines(export("a.jsonl", "task.format=ragas"))
    assert all(schema.SingleTurnSample(**sample).response for sample in samples)
    cases = pytest.importorskip("deepeval.test_case")
    rows = json.loads(export("a.json", "task.format=deepeval").read_text())
    assert [cases.LLMTestCase(**row).input for row in rows] == ["What is red?", "What is blue?"]


def test_documents_have_a_corpus_and_no_queries(here: Path) -> None:
    (here / "docs").mkdir()
    (here / "docs" / "tea.md").write_text("# Tea\n\nGreen tea wants water of eighty degrees.\n")
    config = compose("dataset=documents", "dataset.path=docs")
    assert ExportTask(path=here / "beir", format="beir").execute(config, here / "out") == 0
    (passage,) = read_lines(here / "beir" / "corpus.jsonl")
    assert (passage["_id"], passage["title"]) == ("tea.md#1", "Tea")
    assert (here / "beir" / "queries.jsonl").read_text() == ""


def test_beir_of_a_run_and_of_a_data_set(export: Callable[..., Path]) -> None:
    folder = export("beir-run", "task.format=beir")
    assert read_lines(folder / "queries.jsonl")[1] == {"_id": "c<::>2", "text": "What is blue?"}
    assert read_lines(folder / "corpus.jsonl")[1] == {
        "_id": "q",
        "title": "",
        "text": "The sky is blue.",
        "url": "u",
    }
    assert (folder / "qrels" / "test.tsv").read_text() == QRELS
    whole = BeirDataset(path=export("beir-data", "task.format=beir", records=False))
    assert list(whole.check()) == []
    (conversation,) = whole.conversations()
    assert [turn.question for turn in conversation.turns] == [
        "What is red?",
        "And blue?",
        "And green?",
    ]
    assert whole.qrels() == {"c<::>1": {"p": 2, "q": 0}, "c<::>2": {"q": 1}}
    assert [passage.title for passage in whole.corpus("beir-data")] == ["Rose", ""]
    again = export(
        "beir-again",
        "task.format=beir",
        records=False,
        data=("dataset=beir", f"dataset.path={whole.path}"),
    )
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
        assert (again / name).read_bytes() == (whole.path / name).read_bytes()


def test_beir_has_no_negative_grades(
    export: Callable[..., Path], files: list[str], tmp_path: Path
) -> None:
    """BEIR hands them to pytrec_eval, which crashes for -2 or less."""
    qrels = tmp_path / "qrels.tsv"
    qrels.write_text("c<::>1\tp\t2\nc<::>1\tq\t-2\n")
    data = (*files[:3], f"dataset.qrels={qrels}")
    folder = export("beir-negative", "task.format=beir", records=False, data=data)
    lines = (folder / "qrels" / "test.tsv").read_text().splitlines()
    assert lines[1:] == ["c<::>1\tp\t2", "c<::>1\tq\t0"]


def test_beir_has_a_folder_for_each_domain(export: Callable[..., Path], tmp_path: Path) -> None:
    root = tmp_path / "clone"
    for domain in ("a", "b"):
        tasks = root / "mtrag-human" / "retrieval_tasks" / domain
        (tasks / "qrels").mkdir(parents=True)
        (tasks / "qrels" / "dev.tsv").write_text(f"{domain}<::>1\tp\t1\n")
        (tasks / f"{domain}_questions.jsonl").write_text(
            json.dumps({"_id": f"{domain}<::>1", "text": "Why?"})
        )
        (root / "corpora" / "passage_level").mkdir(parents=True, exist_ok=True)
        (root / "corpora" / "passage_level" / f"{domain}.jsonl").write_text(json.dumps(CORPUS[0]))
    data = ("dataset=mtrag", f"dataset.path={root}")
    folder = export("both", "task.format=beir", records=False, data=data)
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]
    assert list(BeirDataset(path=folder / "a").check()) == []


def test_a_folder_appears_whole_or_not_at_all(export: Callable[..., Path], run: Path) -> None:
    (run.parent / "full").mkdir()
    (run.parent / "full" / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="full exists: name a folder that is new or empty"):
        export("full", "task.format=beir")
    corpus, queries = run.parent / "corpus.jsonl", run.parent / "queries.jsonl"
    corpus.write_text('{"_id": "p", "text": "x"}\nbroken\n')
    queries.write_text('{"_id": "a", "text": "Why?"}\n')
    data = ("dataset=jsonl", f"dataset.queries={queries}", f"dataset.corpus={corpus}")
    before = set(run.parent.iterdir())
    with pytest.raises(DataError, match=r"corpus\.jsonl, line 2"):
        export("new", "task.format=beir", records=False, data=data)
    assert set(run.parent.iterdir()) == before


TASKS = [
    {
        "conversation_id": "c",
        "task_id": "c<::>2",
        "turn": "2",
        "Collection": "ibmcloud",
        "Answerability": ["X"],
    },
    {"conversation_id": "c", "task_id": "c<::>1", "turn": "1", "Collection": "ibmcloud"},
]


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "reference.jsonl"
    message, passage = (
        {"speaker": "user", "text": "And blue?"},
        {"document_id": "q", "text": "The sky is blue."},
    )
    path.write_text(
        "".join(
            f"{json.dumps({**task, 'input': [message], 'contexts': [passage]})}\n" for task in TASKS
        )
    )
    return path


def test_submissions_to_the_subtasks(export: Callable[..., Path], tasks: Path, capsys: Any) -> None:
    given = ("task.format=mtrag", f"task.tasks={tasks}")
    retrieval = read_lines(export("a.jsonl", *given, "task.subtask=retrieval"))
    assert [line["task_id"] for line in retrieval] == ["c<::>2", "c<::>1"]
    assert [context["document_id"] for context in retrieval[0]["contexts"]] == ["q", "p"]
    assert retrieval[0].keys() == {
        "conversation_id",
        "task_id",
        "turn",
        "Collection",
        "input",
        "contexts",
    }
    reference = read_lines(export("b.jsonl", *given, "task.subtask=reference"))
    assert reference[0]["contexts"] == [
        {"document_id": "q", "text": "The sky is blue.", "score": 1.0}
    ]
    assert reference[0]["predictions"] == [{"text": "Sky,\nsea."}]
    rag = read_lines(export("c.jsonl", *given, "task.subtask=rag"))
    assert [context["document_id"] for context in rag[0]["contexts"]] == ["q"]
    assert rag[1]["predictions"] == [{"text": "Roses. [1]"}]
    for line in (*retrieval, *reference, *rag):
        assert line["Collection"] == "ibmcloud"
        assert all(type(each["score"]) in (int, float) for each in line["contexts"])


def test_subtasks_without_the_file_of_tasks(export: Callable[..., Path]) -> None:
    lines = read_lines(export("a.jsonl", "task.format=mtrag", "task.subtask=rag"))
    assert [line["task_id"] for line in lines] == ["c<::>1", "c<::>2", "c<::>3"]
    assert [message["speaker"] for message in lines[1]["input"]] == ["user", "agent", "user"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this file holds no tasks"),
        ("x\n", "line 1: this is not JSON"),
        ('{"task_id": 3, "input": []}\n', "line 1: this is not a task of MTRAG: task_id: "),
        ('{"task_id": "a"}\n', "line 1: this is not a task of MTRAG: input: "),
        (
            '{"task_id": "a", "input": [], "contexts": [3]}\n',
            "this is not a task of MTRAG: contexts.0",
        ),
        (
            '{"task_id": "a", "input": [], "contexts": [{"document_id": {}}]}\n',
            "line 1: this is not a task of MTRAG: ",
        ),
        ('{"task_id": "a", "input": []}\n' * 2, "line 2: the task 'a' occurs twice"),
        ('{"task_id": "a", "input": []}\n', "the run lacks 1 of 1 tasks, for instance 'a'"),
    ],
)
def test_bad_tasks_are_named(
    export: Callable[..., Path], tasks: Path, text: str, message: str
) -> None:
    tasks.write_text(text)
    with pytest.raises(DataError, match=message):
        export("a.jsonl", "task.format=mtrag", "task.subtask=rag", f"task.tasks={tasks}")
    assert not (tasks.parent / "a.jsonl").exists()


def test_the_tag_of_a_trec_run(export: Callable[..., Path]) -> None:
    lines = export("a.trec", "task.format=trec", "task.tag=mine-1").read_text().splitlines()
    assert lines[0] == "c<::>1 Q0 q 1 2.0 mine-1"
    assert {len(line.split()) for line in lines} == {6}


def test_csv_is_as_rfc_4180_says(export: Callable[..., Path]) -> None:
    path = export("a.csv", "task.format=csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    assert [row["answer"] for row in rows] == ["Roses. [1]", "Sky,\nsea.", ""]
    data = path.read_bytes()
    assert data.endswith(b"\r\n")
    assert data.count(b"\r\n") == 4  # a heading and three rows


@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "+1", "-1", "@x", "\t=1", "\n=1"])
def test_formulas_are_made_harmless_on_request(text: str) -> None:
    record = make_record(1, text, "Why?", f"a {text}", labels={text: text})
    for escaped in (False, True):
        lines = format_csv_lines([record], {"c<::>1": {"m": -0.5}}, escape_formulas=escaped)
        (row,) = csv.DictReader("".join(lines).splitlines(keepends=True))
        shown = f"'{text}" if escaped else text
        assert row["question"] == row[shown] == shown
        assert row["answer"] == f"a {text}"
        assert row["m"] == "-0.5", "a number is not a text"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tag": "x"}, "task.tag is for task.format=trec, not for mtrag"),
        (
            {"queries": "asked"},
            "task.queries is for task.format=ragas or task.format=deepeval or task.format=beir, "
            "not for mtrag",
        ),
        (
            {"samples": "conversations"},
            "task.samples is for task.format=ragas or task.format=deepeval, not for mtrag",
        ),
        (
            {"format": "ragas", "samples": "conversations", "queries": "asked"},
            "task.queries is for task.samples=turns",
        ),
        ({"tasks": Path("x")}, "task.tasks needs task.subtask"),
        ({"format": "trec", "tag": "a b"}, "task.tag='a b': the name of a TREC run has no blanks"),
        ({"format": "trec", "tag": ""}, "the name of a TREC run has no blanks"),
        ({"escape_formulas": True}, "task.escape_formulas is for task.format=csv"),
        ({"format": "csv", "contexts": "hits"}, "task.contexts is for"),
    ],
)
def test_a_parameter_of_another_format_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ExportTask(records=Path("x"), path=Path("a.jsonl"), **given)


def test_a_run_must_be_named(export: Callable[..., Path]) -> None:
    with pytest.raises(
        ConfigError, match=r"this format is of a run: name its folder, task\.records"
    ):
        export("a.jsonl", "task.format=mtrag", records=False)
