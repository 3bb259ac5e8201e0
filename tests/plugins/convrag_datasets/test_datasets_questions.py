"""dataset=questions: questions over the passages of another data set."""

import inspect
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from convrag import ConfigError, Dataset
from convrag.sdk.data.question_sets import QuestionSet
from convrag.store.fingerprint import hash_text
from convrag.testing import DatasetContract
from convrag_datasets.borrowed_corpus import BorrowedCorpusDataset
from convrag_datasets.questions import QuestionsDataset
from question_toys import Notes, note
from toys import Corpora

JUDGED = {"c1<::>1": "red#1", "c1<::>2": "red#2"}


def write_set(folder: Path, judged: Mapping[str, str] = JUDGED, domain: str = "default") -> Path:
    """A question set over two notes."""
    turns = [
        {"question": f"Question {number}?", "answer": "Yes."}
        for number in range(1, len(judged) + 1)
    ]
    (folder / "conversations.jsonl").write_text(json.dumps({"id": "c1", "turns": turns}) + "\n")
    rows = [f"{turn}\t{passage}\t1\n" for turn, passage in judged.items()]
    (folder / "qrels.tsv").write_text("".join(["query-id\tcorpus-id\tscore\n", *rows]))
    corpus = Notes(documents={"red": 2, "green": 1})
    texts = {
        each.id: hash_text(each.text).hex()
        for each in corpus.corpus(domain)
        if each.id in judged.values()
    }
    QuestionSet({domain: corpus.corpus_fingerprint(domain)}, {domain: texts}, {"c1": domain}).write(
        folder
    )
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_set(tmp_path)


class TestContract(DatasetContract):
    @pytest.fixture(autouse=True)
    def _write(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.folder = write_set(tmp_path_factory.mktemp("questions"))

    def make(self) -> QuestionsDataset:
        return QuestionsDataset(path=self.folder, corpus=Notes(documents={"red": 2, "green": 1}))


def test_the_corpus_is_that_of_the_other_data_set(folder: Path) -> None:
    corpus = Notes(documents={"red": 2, "green": 1})
    data = QuestionsDataset(path=folder, corpus=corpus)
    assert list(data.check()) == []
    assert data.corpus_fingerprint("default") == corpus.corpus_fingerprint("default"), (
        "they share one index"
    )
    assert [passage.id for passage in data.corpus("default")] == ["red#1", "red#2", "green#1"]
    assert data.qrels() == {turn: {passage: 1} for turn, passage in JUDGED.items()}
    assert data.note() == ""


def test_every_method_of_data_sets_is_passed_on() -> None:
    """A method that is new in Dataset would otherwise answer for this wrapper, and not for its
    corpus.
    """
    inherited = {
        name for name, _ in inspect.getmembers(Dataset, inspect.isfunction) if name in vars(Dataset)
    }
    assert {name for name in inherited if not name.startswith("_")} <= {
        *vars(QuestionsDataset),
        *vars(BorrowedCorpusDataset),
    }


def test_a_passage_that_has_another_id_is_found_by_its_text(folder: Path) -> None:
    first, second = note("red", 1), replace(note("red", 2), id="red#3")
    data = QuestionsDataset(
        path=folder, corpus=Corpora(default=[first, replace(note("green", 7), id="red#2"), second])
    )
    assert list(data.check()) == []
    assert data.qrels() == {"c1<::>1": {"red#1": 1}, "c1<::>2": {"red#3": 1}}
    assert data.note() == "1 of 2 judged passages have new ids since the questions were written"


def test_a_judged_passage_that_is_gone_is_told(folder: Path) -> None:
    edited = replace(note("red", 2), text="Something else by now.")
    (problem,) = QuestionsDataset(
        path=folder, corpus=Corpora(default=[note("red", 1), edited])
    ).check()
    assert problem.startswith(
        f"{folder}: 1 of 2 judged passages are no longer in the corpus, 'red#2' for instance"
    )
    assert "Write the questions again (task=questions" in problem


def test_a_data_set_must_be_named(folder: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"dataset\.corpus=documents dataset\.corpus\.path=FOLDER"
    ):
        QuestionsDataset(path=folder)


def test_a_domain_that_the_corpus_lacks_is_told(tmp_path: Path) -> None:
    write_set(tmp_path, domain="other")
    (problem, *_) = QuestionsDataset(path=tmp_path, corpus=Notes(documents={"red": 2})).check()
    assert "'c1' is about 'other', and the corpus of this data set is default" in problem


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "this is no folder that task=questions has written: it has no questions.json"),
        ("{", "questions.json: this file is damaged"),
        ('{"corpora": 3}', "questions.json: this file is damaged"),
        (
            '{"corpora": {}, "passages": {"a": {"b": 3}}, "conversations": {}}',
            "questions.json: this file is damaged",
        ),
    ],
)
def test_a_broken_manifest_is_named(text: str | None, told: str, folder: Path) -> None:
    (folder / "questions.json").unlink()
    if text is not None:
        (folder / "questions.json").write_text(text)
    (problem,) = QuestionsDataset(path=folder, corpus=Notes(documents={"red": 2})).check()
    assert told in problem
    assert str(folder) in problem


def test_the_standalone_questions_are_its_rewrites(folder: Path) -> None:
    data = QuestionsDataset(path=folder, corpus=Notes(documents={"red": 2, "green": 1}))
    assert data.rewrites() == {}
    rows = [
        {"_id": "c1<::>2", "text": "Question 2 of the red room?"},
        {"_id": "deleted<::>1", "text": "Gone?"},
    ]
    (folder / "rewrites.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert data.rewrites() == {"standalone": {"c1<::>2": "Question 2 of the red room?"}}


def test_an_edited_question_is_read_as_it_is_now(folder: Path) -> None:
    path = folder / "conversations.jsonl"
    path.write_text(path.read_text().replace("Question 2?", "And number 2?"))
    data = QuestionsDataset(path=folder, corpus=Notes(documents={"red": 2, "green": 1}))
    assert [turn.question for each in data.conversations() for turn in each.turns] == [
        "Question 1?",
        "And number 2?",
    ]
