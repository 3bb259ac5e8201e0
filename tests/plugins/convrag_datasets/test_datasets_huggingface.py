import sys
from pathlib import Path
from typing import Any

import pytest

from convrag.api.conversations import Turn
from convrag.api.errors import ConfigError, DataError, UnknownName
from convrag.api.passages import Passage
from convrag.config.compose import compose
from convrag.testing import DatasetContract
from convrag.turn.wiring import Wiring
from convrag_datasets.huggingface import HuggingfaceDataset

pyarrow = pytest.importorskip("pyarrow")


def parquet(path: Path, *rows: dict[str, Any]) -> Path:
    import pyarrow.parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Turns in two splits as the hub has them, and a corpus in a folder of its own."""
    folder = tmp_path / "talks"
    parquet(
        folder / "data" / "test-00000-of-00002.parquet",
        {
            "conversation_id": 1,
            "turn": 2,
            "prompt": "And blue?",
            "answer": None,
            "relevant": ["p2"],
            "kind": "easy",
        },
        {
            "conversation_id": 1,
            "turn": 1,
            "prompt": "Red?",
            "answer": "A rose.",
            "relevant": [],
            "kind": "hard",
        },
    )
    parquet(
        folder / "data" / "test-00001-of-00002.parquet",
        {"conversation_id": 2, "turn": 1, "prompt": "Tea?"},
    )
    parquet(
        folder / "data" / "train-00000-of-00001.parquet",
        {"conversation_id": 3, "turn": 1, "prompt": "Train?"},
    )
    (folder / "README.md").write_text("---\n---\n")
    (folder / "dataset_infos.json").write_text("{}")
    corpus = [{"_id": f"p{n}", "title": "", "text": f"text {n}"} for n in (1, 2)]
    parquet(folder / "passages" / "corpus.parquet", *corpus)
    return folder


class TestContract(DatasetContract):
    @pytest.fixture(autouse=True)
    def _folder(self, folder: Path) -> None:
        self.folder = folder

    def make(self) -> HuggingfaceDataset:
        given = {"name": str(self.folder), "subset": "data", "columns": {"question": "prompt"}}
        return HuggingfaceDataset(**given, corpus=str(self.folder / "passages"))


def test_a_turn_a_row(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)  # pyarrow is enough
    given = [f"dataset.name={folder}", "dataset.subset=data", "dataset.columns={question: prompt}"]
    given += [f"dataset.corpus={folder}/passages", "dataset.labels=[kind]"]
    dataset = Wiring(compose("dataset=huggingface", *given)).get("dataset")
    assert list(dataset.check()) == []
    first, second = dataset.conversations()
    assert first.turns == (
        Turn("1<::>1", "Red?", "A rose.", labels={"kind": "hard"}),
        Turn("1<::>2", "And blue?", labels={"kind": "easy"}),
    )
    assert (second.id, second.turns[0].question) == ("2", "Tea?")
    assert dataset.qrels() == {"1<::>2": {"p2": 1}}
    assert list(dataset.corpus("default")) == [Passage("p1", "text 1"), Passage("p2", "text 2")]


def test_conversations_and_single_questions(tmp_path: Path) -> None:
    share = [{"from": "human", "value": "Why?"}, {"from": "gpt", "value": "So."}]
    talks = parquet(tmp_path / "a.parquet", {"conversations": share})
    (talk,) = HuggingfaceDataset(
        name=str(talks), columns={"messages": "conversations"}
    ).conversations()
    assert (talk.id, talk.turns) == ("1", (Turn("1<::>1", "Why?", "So."),))
    columns = parquet(
        tmp_path / "b.parquet", {"id": "x", "messages": {"role": ["user"], "content": ["Why?"]}}
    )
    (talk,) = HuggingfaceDataset(name=str(columns)).conversations()
    assert (talk.id, talk.turns) == ("x", (Turn("x<::>1", "Why?"),))
    (tmp_path / "c.jsonl").write_text(
        '{"question": "a?", "answer": "A"}\n{"question": "b?", "relevant": [3]}\n'
    )
    dataset = HuggingfaceDataset(name=str(tmp_path / "c.jsonl"))
    assert [(each.id, each.turns[0].id) for each in dataset.conversations()] == [
        ("1", "1"),
        ("2", "2"),
    ]
    assert dataset.qrels() == {"2": {"3": 1}}


def test_splits(folder: Path, tmp_path: Path) -> None:
    def ask(split: str, name: Path = folder / "data") -> list[str]:
        dataset = HuggingfaceDataset(name=str(name), split=split, columns={"question": "prompt"})
        return [turn.question for each in dataset.conversations() for turn in each.turns]

    assert ask("train") == ["Train?"]
    with pytest.raises(
        UnknownName, match=r"dataset\.split 'validation' does not exist\. Choose from: test, train"
    ):
        ask("validation")
    parquet(tmp_path / "dev" / "part.parquet", {"conversation_id": 1, "prompt": "Dev?"})
    assert (
        ask("validation", tmp_path / "dev")
        == ask("test", tmp_path / "dev" / "part.parquet")
        == ["Dev?"]
    )


def test_what_is_wrong_is_said(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"dataset\.name is empty"):
        HuggingfaceDataset(name=" ")
    with pytest.raises(DataError, match=r"nowhere: there is no such folder"):
        list(HuggingfaceDataset(name=str(tmp_path / "nowhere")).conversations())
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        DataError,
        match=r"empty: there is no file of rows \(.jsonl, .json, .csv, .tsv, .parquet\)",
    ):
        list(HuggingfaceDataset(name=str(tmp_path / "empty")).conversations())
    (tmp_path / "c.jsonl").write_text('{"question": "a?", "relevant": {"x": 1}}\n')
    with pytest.raises(
        DataError, match=r"c\.jsonl, line 1: 'relevant' must be a list of passage ids"
    ):
        list(HuggingfaceDataset(name=str(tmp_path / "c.jsonl")).conversations())
    with pytest.raises(
        DataError, match=r"test-00000-of-00002\.parquet: row 1: there is no 'question'"
    ):
        list(HuggingfaceDataset(name=str(folder / "data")).conversations())


@pytest.mark.parametrize(
    "name", ["test-00001-of-00003.parquet", "test-00001-of-00003-ab12.parquet"]
)
def test_a_missing_part_of_a_table_is_an_error(tmp_path: Path, name: str) -> None:
    parquet(tmp_path / "talks" / name, {"question": "Red?"})
    parquet(tmp_path / "talks" / name.replace("00001-", "00000-"), {"question": "Blue?"})
    (problem,) = HuggingfaceDataset(name=str(tmp_path / "talks")).check()
    assert "talks: 1 of 3 parts of test are missing, number 2 for instance" in problem
    parquet(tmp_path / "talks" / "test-00002-of-00003.parquet", {"question": "Tea?"})
    assert list(HuggingfaceDataset(name=str(tmp_path / "talks")).check()) == []
