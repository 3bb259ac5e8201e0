import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from convrag import Passage, UnknownName
from convrag.testing import DatasetContract
from convrag_datasets.beir import BeirDataset


def write(path: Path, *rows: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows),
        encoding="utf-8",
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two questions that stand alone, and a conversation; test judges one of each, train the other."""
    folder = tmp_path / "nfcorpus"
    write(
        folder / "corpus.jsonl",
        {"_id": "MED-1", "title": "T", "text": "x", "metadata": {"url": "http://x"}},
    )
    queries = [("PLAIN-1", "a?"), ("PLAIN-2", "b?"), ("c<::>1", "c?"), ("c<::>2", "d?")]
    write(
        folder / "queries.jsonl",
        *({"_id": name, "text": text, "metadata": {}} for name, text in queries),
    )
    write(
        folder / "qrels" / "test.tsv",
        "query-id\tcorpus-id\tscore",
        "PLAIN-1\tMED-1\t2",
        "c<::>2\tMED-1\t0",
    )
    write(folder / "qrels" / "train.tsv", "query-id\tcorpus-id\tscore", "PLAIN-2\tMED-1\t1")
    return folder


class TestContract(DatasetContract):
    @pytest.fixture(autouse=True)
    def _folder(self, folder: Path) -> None:
        self.folder = folder

    def make(self) -> BeirDataset:
        return BeirDataset(path=self.folder)


def test_the_questions_are_those_that_the_split_judges(folder: Path) -> None:
    dataset = BeirDataset(path=folder)
    assert list(dataset.check()) == []
    assert dataset.domains() == ("nfcorpus",)
    turns = {each.id: [turn.question for turn in each.turns] for each in dataset.conversations()}
    assert turns == {"PLAIN-1": ["a?"], "c": ["c?", "d?"]}
    assert dataset.qrels() == {"PLAIN-1": {"MED-1": 2}, "c<::>2": {"MED-1": 0}}
    assert list(dataset.corpus("nfcorpus")) == [
        Passage("MED-1", "x", "T", metadata={"url": "http://x"})
    ]
    (other,) = BeirDataset(path=folder, split="train").conversations()
    assert other.id == "PLAIN-2"


def test_files_may_be_packed(folder: Path) -> None:
    before = BeirDataset(path=folder).content_hash()
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
        packed = folder / f"{name}.gz"
        packed.write_bytes(gzip.compress((folder / name).read_bytes()))
        (folder / name).unlink()
    dataset = BeirDataset(path=folder)
    assert list(dataset.check()) == []
    assert len(list(dataset.conversations())) == 2
    assert dataset.content_hash() != before


def test_what_is_missing_is_said(folder: Path) -> None:
    with pytest.raises(
        UnknownName, match=r"dataset\.split 'dev' does not exist\. Choose from: test, train"
    ):
        list(BeirDataset(path=folder, split="dev").conversations())
    (problem,) = BeirDataset(path=folder / "nowhere").check()
    assert "this folder does not exist" in problem
    for path in (*(folder / "qrels").iterdir(), folder / "corpus.jsonl"):
        path.unlink()
    problems = list(BeirDataset(path=folder).check())
    assert problems == [
        f"{folder}: there is no qrels/test.tsv, as BEIR's layout has it",
        f"{folder}: there is no corpus.jsonl, as BEIR's layout has it",
    ]


def test_judgements_of_no_question(folder: Path) -> None:
    write(folder / "qrels" / "test.tsv", "PLAIN-1\tMED-1\t1", "x\tMED-1\t1")
    (problem,) = BeirDataset(path=folder).check()
    assert "line 2: 1 of 2 judged turns are in no conversation, for instance 'x'" in problem
