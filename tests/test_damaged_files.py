"""Every damaged file ends in one message that names it, or is survived; nothing that is written then holds NaN."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from convrag.api.errors import ConvragError
from convrag.config.compose import compose
from convrag.sdk.jsonl import read_lines
from convrag.store.json_text import parse_json
from convrag.turn.conversations import Conversations
from convrag.turn.wiring import Wiring
from damaged_files import damage_json, damage_table
from toys import pipeline

pytestmark = pytest.mark.slow

CONVERSATIONS = [
    {"id": "c", "turns": [{"id": "c<::>1", "question": "What is red?", "answer": "A rose.", "kind": "easy"}]},
    {"id": "d", "messages": [{"role": "user", "content": "What is blue?"}, {"role": "assistant", "content": "Sky."}]},
]
CORPUS = [
    {"_id": "p", "text": "A rose is red.", "title": "Rose", "url": "http://x", "metadata": {"year": 1}},
    {"_id": "q", "text": "The sky is blue."},
]
QRELS = "query-id\tcorpus-id\tscore\nc<::>1\tp\t1\n"
REFERENCE = {
    "conversation_id": "c",
    "task_id": "c<::>1",
    "Collection": "mt-rag-clapnq-elser",
    "input": [{"speaker": "user", "text": "What is red?"}],
    "targets": [{"speaker": "agent", "text": "A rose."}],
    "contexts": [{"document_id": "p", "text": "A rose is red.", "title": "Rose"}],
    "Answerability": ["ANSWERABLE"],
    "Question Type": ["Factoid"],
}
NUGGETS = [{"turn_id": "c<::>1", "nuggets": [{"text": "a rose", "importance": "vital"}]}]
LABELS = [{"turn_id": "c<::>1", "importance": ["vital"], "assignment": ["support"], "words": 3}]
PREDICTION = {
    "task_id": "c<::>1",
    "predictions": [{"text": "A rose."}],
    "contexts": [{"document_id": "p", "text": "A rose is red.", "score": 2.0}],
}
RATINGS = [{"turn_id": f"c<::>{n}", "criterion": "good", "score": n, "annotator": "ann"} for n in (1, 2, 3)]


class Damaged:
    """Files that a command reads, in a folder; one of them is damaged, and the command executed in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("conversations.jsonl", *CONVERSATIONS)
        self.write("corpus.jsonl", *CORPUS)
        (folder / "qrels.tsv").write_text(QRELS, encoding="utf-8")
        files = {"conversations": "conversations.jsonl", "corpus": "corpus.jsonl", "qrels": "qrels.tsv"}
        self.dataset = ["dataset=jsonl", *(f"dataset.{name}={folder / file}" for name, file in files.items())]

    def write(self, name: str, *rows: Any, indent: int | None = None) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(row, indent=indent)}\n" for row in rows), encoding="utf-8")
        return path

    def command(self, *overrides: str) -> Callable[[], int]:
        """A command over the data set, composed once."""
        plain = ["rewriter=none", "generator=none", "tracker=none", f"store.path={self.folder / 'store'}"]
        config = compose(*plain, *overrides)
        out = self.folder / "out"
        out.mkdir(exist_ok=True)  # as Hydra does

        def execute() -> int:
            return int(Wiring(config).get("task").execute(config, out))

        return execute

    def run(self) -> Path:
        """The folder of a finished run with answers."""
        folder = self.folder / "run"
        config = compose(*self.dataset, "tracker=none", "metrics=[ranking,answers]", f"store.path={folder}.store")
        assert Wiring(config).get("task").execute(config, folder) == 0
        return folder


def find_misread(path: Path, damage: Iterable[tuple[str, bytes]], execute: Callable[[], int]) -> dict[str, str]:
    """Damage that ended in anything but a result or a message that names a file of the user's: name -> what happened.

    It may be another file, or the folder: a qrels file names turns that the damaged conversations lack.

    The command must end well on the file as it is, and what is tried must be of more than six kinds. Every third
    kind is tried; all of them with CONVRAG_THOROUGH=1.
    """
    sound = path.read_bytes()
    assert execute() == 0
    misread, tried, refused = {}, 0, 0
    for name, data in islice(damage, 0, None, 1 if os.environ.get("CONVRAG_THOROUGH") else 3):
        tried += 1
        path.write_bytes(data)
        try:
            status = execute()
            if status not in (0, 1, 3):
                misread[name] = f"status {status}"
            misread |= {f"{name}: {file}": "NaN" for file in _list_files_with_nan(path.parent / "out")}
        except ConvragError as error:
            refused += 1
            if str(path.parents[1]) not in str(error):
                misread[name] = f"the message names no file: {error}"
        except Exception as error:
            misread[name] = repr(error)
    path.write_bytes(sound)
    assert tried > 6
    assert refused
    return misread


def _list_files_with_nan(folder: Path) -> Iterator[str]:
    for file in (folder / "metrics.json", folder / "scores.jsonl"):
        if file.is_file():
            texts = [file.read_text()] if file.suffix == ".json" else [line.text for line in read_lines(file)]
            try:
                for text in texts:
                    parse_json(text)
            except ValueError:
                yield file.name


@pytest.fixture
def damaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Damaged:
    return Damaged(tmp_path)


@pytest.mark.parametrize("name", ["conversations.jsonl", "corpus.jsonl", "qrels.tsv"])
def test_files_of_a_data_set(damaged: Damaged, name: str) -> None:
    rows = {"conversations.jsonl": CONVERSATIONS, "corpus.jsonl": CORPUS}.get(name)
    damage = damage_json(rows) if rows else damage_table(QRELS)
    execute = damaged.command(*damaged.dataset, "metrics=[ranking,answers]")
    assert find_misread(damaged.folder / name, damage, execute) == {}


def test_queries(damaged: Damaged) -> None:
    rows = [{"_id": "c<::>1", "text": "|user|: What is red?"}, {"_id": "c<::>2", "text": "And blue?"}]
    path = damaged.write("queries.jsonl", *rows)
    execute = damaged.command("dataset=jsonl", f"dataset.queries={path}", *damaged.dataset[2:], "metrics=[ranking]")
    assert find_misread(path, damage_json(rows), execute) == {}


@pytest.mark.parametrize("name", ["reference.jsonl", "clapnq_questions.jsonl", "dev.tsv", "clapnq.jsonl"])
def test_files_of_mtrag(damaged: Damaged, name: str) -> None:
    queries = [{"_id": "c<::>1", "text": "|user|: What is red?"}]
    files = {
        "reference.jsonl": damaged.write("mtrag/mtrag-human/generation_tasks/reference.jsonl", REFERENCE),
        "clapnq_questions.jsonl": damaged.write(
            "mtrag/mtrag-human/retrieval_tasks/clapnq/clapnq_questions.jsonl", *queries
        ),
        "clapnq.jsonl": damaged.write("mtrag/corpora/passage_level/clapnq.jsonl", *CORPUS),
        "dev.tsv": damaged.write("mtrag/mtrag-human/retrieval_tasks/clapnq/qrels/dev.tsv"),
    }
    files["dev.tsv"].write_text(QRELS, encoding="utf-8")
    if name == "clapnq_questions.jsonl":
        files["reference.jsonl"].unlink()
    rows = {"reference.jsonl": [REFERENCE], "clapnq_questions.jsonl": queries, "clapnq.jsonl": CORPUS}.get(name)
    damage = damage_json(rows) if rows else damage_table(QRELS)
    execute = damaged.command("dataset=mtrag", f"dataset.path={damaged.folder / 'mtrag'}", "metrics=[ranking]")
    assert find_misread(files[name], damage, execute) == {}


def test_tasks_of_a_submission(damaged: Damaged) -> None:
    run = damaged.run()
    path = damaged.write("tasks.jsonl", REFERENCE)
    export = ["task=export", f"task.records={run}", f"task.path={damaged.folder}/x.jsonl"]
    execute = damaged.command(*export, "task.subtask=reference", f"task.tasks={path}", *damaged.dataset)
    assert find_misread(path, damage_json([REFERENCE], every=30), execute) == {}


def test_trec_runs(damaged: Damaged) -> None:
    text = "c<::>1 Q0 q 1 2.0 tag\nc<::>1 Q0 p 2 1.0 tag\n"
    path = damaged.folder / "given.trec"
    path.write_text(text, encoding="utf-8")
    execute = damaged.command("task=evaluate", f"task.run={path}", *damaged.dataset, "metrics=[ranking]")
    assert find_misread(path, damage_table(text), execute) == {}
    execute = damaged.command("retriever=run", f"retriever.path={path}", *damaged.dataset, "metrics=[ranking]")
    assert find_misread(path, damage_table(text), execute) == {}


@pytest.mark.parametrize(
    "row",
    [
        PREDICTION,
        {"turn_id": "c<::>1", "answer": "A rose.", "contexts": [{"id": "p", "text": "red", "score": 1}]},
        {"_id": "c<::>1", "text": "|user|: What is red?", "agent_response": "A rose."},
    ],
    ids=["mtrag", "plain", "datasets"],
)
def test_answers(damaged: Damaged, row: dict[str, Any]) -> None:
    path = damaged.write("answers.jsonl", row)
    execute = damaged.command(
        "task=evaluate", f"task.answers={path}", *damaged.dataset, "metrics=[answers,ranking,answerability]"
    )
    assert find_misread(path, damage_json([row]), execute) == {}


@pytest.mark.parametrize("task", ["evaluate", "csv", "trec", "mtrag", "ragas"])
def test_records_of_a_run(damaged: Damaged, task: str) -> None:
    run = damaged.run()
    path = run / "intermediate/default.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    scored = ["task=evaluate", "metrics=[ranking,answers,answerability,grounding,rewrites]", f"task.records={run}"]
    export = ["task=export", f"task.records={run}", f"task.path={damaged.folder}/x.jsonl", f"task.format={task}"]
    execute = damaged.command(*(scored if task == "evaluate" else export), *damaged.dataset)
    assert find_misread(path, damage_json(rows[:1], every=60), execute) == {}


@pytest.mark.parametrize("task", ["task=evaluate", "task=compare"])
def test_metrics_of_a_run(damaged: Damaged, task: str) -> None:
    run = damaged.run()
    row = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    named = f"task.runs=[{run}]" if task == "task=compare" else f"task.records={run}"
    execute = damaged.command(task, named, *damaged.dataset)
    assert find_misread(run / "metrics.json", damage_json([row], indent=2, every=60), execute) == {}


def test_scores_of_a_run(damaged: Damaged) -> None:
    run = damaged.run()
    path = run / "scores.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    execute = damaged.command(
        "task=export", "task.format=csv", f"task.records={run}", f"task.path={run}.out", *damaged.dataset
    )
    assert find_misread(path, damage_json(rows), execute) == {}


def test_nuggets_and_their_labels(damaged: Damaged) -> None:
    run = damaged.run()
    path = damaged.write("nuggets.jsonl", *NUGGETS)
    scored = ["task=evaluate", f"task.records={run}", *damaged.dataset, "metrics=[nuggets]"]
    execute = damaged.command(*scored, f"metrics.nuggets.nuggets={path}")
    assert find_misread(path, damage_json(NUGGETS), execute) == {}
    for rows in (
        LABELS,
        [{"qid": "c<::>1", "nuggets": [{"text": "a", "importance": "vital", "assignment": "support"}]}],
    ):
        path = damaged.write("labels.jsonl", *rows)
        execute = damaged.command(*scored, f"metrics.nuggets.judgements=[{path}]")
        assert find_misread(path, damage_json(rows), execute) == {}
        execute = damaged.command("task=score_nuggets", f"task.judgements=[{path}]")
        assert find_misread(path, damage_json(rows), execute) == {}


def test_ratings_of_judges_and_people(damaged: Damaged) -> None:
    damaged.write("people.jsonl", *RATINGS)
    path = damaged.write("ratings.jsonl", *RATINGS)
    execute = damaged.command(
        "task=agreement", f"task.scores=[{path}]", f"task.human=[{damaged.folder / 'people.jsonl'}]"
    )
    assert {
        name: what
        for name, what in find_misread(path, damage_json(RATINGS), execute).items()
        if "nothing of the same name" not in what and "no turn has both" not in what
    } == {}


def test_recorded_replies(damaged: Damaged) -> None:
    path = damaged.folder / "replies.jsonl"
    chosen = [*damaged.dataset, "generator=direct", "rewriter=full_history", "metrics=[answers]"]
    assert damaged.command(*chosen, "task=record", f"task.path={path}")() == 0
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    execute = damaged.command(*chosen, "llm=replay", f"llm.path={path}")
    assert find_misread(path, damage_json(rows), execute) == {}


def test_rewrites(damaged: Damaged) -> None:
    rows = [
        {"_id": "c<::>1", "text": "|user|: Red?", "queries": [{"text": "Red?", "weight": 1.0}]},
        {"_id": "d<::>1", "text": "|user|: Blue?"},
    ]
    path = damaged.write("rewrites.jsonl", *rows)
    execute = damaged.command(*damaged.dataset, "rewriter=replay", f"rewriter.path={path}", "metrics=[ranking]")
    assert find_misread(path, damage_json(rows), execute) == {}
    execute = damaged.command(*damaged.dataset, "metrics=[rewrites]", f"metrics.rewrites.reference={path}")
    assert find_misread(path, damage_json(rows), execute) == {}


def test_stored_turns(tmp_path: Path) -> None:
    """The record of a turn in the database of conversations, damaged as a line of a file would be."""
    database, path = tmp_path / "c.db", tmp_path / "record.json"
    conversations = Conversations(database)
    pipeline(conversations=conversations).turn("c", "one?")
    row = conversations.records("c")[0].to_dict()
    path.write_text(json.dumps(row), encoding="utf-8")

    def execute() -> int:
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute("UPDATE convrag_turns SET record = ?", [path.read_bytes().decode("utf-8", "replace")])
        return len(Conversations(database).open("c", "default").history) - 1

    assert find_misread(path, damage_json([row]), execute) == {}
