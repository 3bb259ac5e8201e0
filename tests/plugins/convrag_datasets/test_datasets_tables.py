import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from convrag import DataError, Passage, Turn
from convrag.config.compose import compose
from convrag.testing import DatasetContract
from convrag.turn.wiring import Wiring
from convrag_datasets.jsonl import JsonlDataset

TURNS = 'conversation_id,question,answer,kind\nc,"What, is\n""red""?",A rose.,easy\nc,And blue?,,\n7,=1+1,2,\n'
PASSAGES = "id\ttext\ttitle\tyear\np1\tA rose is red.\tRose\t1999\np2\tThe sky.\t\t\n"


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


class TestContract(DatasetContract):
    @pytest.fixture(autouse=True)
    def _files(self, tmp_path: Path) -> None:
        self.files = {
            "conversations": write(tmp_path / "turns.csv", TURNS),
            "corpus": write(tmp_path / "corpus.tsv", PASSAGES),
        }

    def make(self) -> JsonlDataset:
        return JsonlDataset(**self.files)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_turn_a_row(tmp_path: Path, end: str) -> None:
    path = write(tmp_path / "turns.csv", "\ufeff" + TURNS.replace("\n", end))
    first, second = JsonlDataset(conversations=path).conversations()
    red = f'What, is{end}"red"?'
    assert first.turns == (
        Turn("c<::>1", red, "A rose.", labels={"kind": "easy"}),
        Turn("c<::>2", "And blue?"),
    )
    assert second.turns == (Turn("7<::>1", "=1+1", "2"),)


def test_turns_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    rows = "conversation_id,turn,id,question\nc,2,,b\nd,1,own,x\nc,1,,a\n"
    first, second = JsonlDataset(conversations=write(tmp_path / "t.csv", rows)).conversations()
    assert [(turn.id, turn.question) for turn in first.turns] == [("c<::>1", "a"), ("c<::>2", "b")]
    assert second.turns[0].id == "own"


def test_a_message_a_row(tmp_path: Path) -> None:
    rows = (
        "conversation_id\trole\tcontent\nc\tuser\ta?\nd\thuman\tx?\nc\tassistant\tb.\nc\tuser\tc?\n"
    )
    first, second = JsonlDataset(conversations=write(tmp_path / "m.tsv", rows)).conversations()
    assert [(turn.question, turn.answer) for turn in first.turns] == [("a?", "b."), ("c?", "")]
    assert second.turns == (Turn("d<::>1", "x?"),)


def test_a_corpus_and_queries(tmp_path: Path) -> None:
    dataset = JsonlDataset(
        queries=write(tmp_path / "q.csv", "id,text\nc<::>1,Red?\n9,Blue?\n"),
        corpus=write(tmp_path / "c.tsv", PASSAGES),
        qrels=write(tmp_path / "qrels.tsv", "9\tp1\t1\n"),
    )
    assert list(dataset.check()) == []
    assert [conversation.id for conversation in dataset.conversations()] == ["c", "9"]
    assert list(dataset.corpus("default")) == [
        Passage(
            "p1", "A rose is red.", "Rose", metadata={"year": "1999", "fields": {"year": 1999}}
        ),
        Passage("p2", "The sky."),
    ]


def test_columns_of_any_name_in_a_command(tmp_path: Path) -> None:
    turns = write(tmp_path / "t.csv", "talk,prompt,id\na,Why?,3\n")
    corpus = write(tmp_path / "c.json", json.dumps([{"key": 1, "body": "x", "text": "other"}]))
    given = {
        "conversations": turns,
        "columns": "{conversation_id: talk, question: prompt}",
        "corpus": corpus,
        "corpus_columns": "{id: key, text: body}",
    }
    config = compose("dataset=jsonl", *(f"dataset.{name}={value}" for name, value in given.items()))
    dataset = Wiring(config).get("dataset")
    assert list(dataset.check()) == []
    (conversation,) = dataset.conversations()
    assert (conversation.id, conversation.turns) == ("a", (Turn("3", "Why?"),))
    assert list(dataset.corpus("default")) == [Passage("1", "x")]
    other = JsonlDataset(corpus=corpus, corpus_columns={"id": "key", "text": "text"})
    assert other.corpus_fingerprint("default") != dataset.corpus_fingerprint("default")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no heading: the first row must name the columns"),
        ("conversation_id,question\n", "this file holds no conversations"),
        ("question,question\na,b\n", "line 1: two columns are called 'question'"),
        (
            "conversation_id,question\nc,a,b\n",
            "line 2: there must be 2 columns, as in the heading, not 3",
        ),
        (
            "conversation_id,question\nc,a\n\nc\n",
            "line 4: there must be 2 columns, as in the heading, not 1",
        ),
        (
            'conversation_id,question\nc,"a\n\nb\n',
            "line 2: this is no row of a table: unexpected end of data",
        ),
        (
            'conversation_id,question\nc,"a"b\n',
            "line 2: this is no row of a table: ',' expected after '\"'",
        ),
        ("conversation_id,question\nc,\n", "line 2: there is no 'question'"),
        ("conversation_id,question\nc,  \n", "line 2: question: the text is empty"),
        ("conversation_id,question,turn\nc,a,x\n", "line 2: turn: this must be a whole number"),
        (
            f"conversation_id,question,turn\nc,a,{'9' * 5000}\n",
            "line 2: turn: this must be a whole number",
        ),
        ("conversation_id,question,turn\nc,a,0\n", "line 2: 'turn' must be the number of the turn"),
        (
            "conversation_id,question,turn\nc,a,1\nc,b,1\n",
            "line 3: the turn id 'c<::>1' occurs twice (first in line 2)",
        ),
        (
            "conversation_id,question,id\nc,a,x\nd,b,x\n",
            "line 3: the turn id 'x' occurs twice (first in line 2)",
        ),
        (
            "conversation_id,role,content\nc,boss,a\n",
            "line 2: the role must be user or assistant, not 'boss'",
        ),
        (
            "conversation_id,role,content\nc,assistant,a\n",
            "line 2: no user speaks in the conversation 'c'",
        ),
        (
            "name,text\nc,a\n",
            "line 2: there is no 'id'; it has name, text. Other names: dataset.columns, ",
        ),
        ("conversation_id,question\nc,a\x00b\udce4\n", "): save it as UTF-8"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    (problem,) = JsonlDataset(conversations=path).check()
    assert str(path) in problem
    assert message in problem


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "talk,prompt\na,Why?\n")
    (problem,) = JsonlDataset(conversations=path, columns={"question": "promt"}).check()
    assert problem == f"{path}: there is no column 'promt'; the columns are talk, prompt"


def test_parquet(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]
    talks = parquet(tmp_path / "t.parquet", [{"id": 7, "messages": messages}])
    when = datetime(2020, 1, 2)
    rows = [
        {
            "id": 1,
            "text": "x",
            "when": when,
            "price": Decimal("1.5"),
            "bad": float("nan"),
            "raw": b"\xff",
        }
    ]
    dataset = JsonlDataset(conversations=talks, corpus=parquet(tmp_path / "c.parquet", rows))
    assert list(dataset.check()) == []
    (conversation,) = dataset.conversations()
    assert conversation.turns == (Turn("7<::>1", "Why?", "So."),)
    (passage,) = dataset.corpus("default")
    assert passage.metadata == {
        "when": "2020-01-02T00:00:00",
        "price": 1.5,
        "bad": None,
        "raw": None,
        "fields": {"when": "2020-01-02", "price": 1.5},
    }


def test_bad_rows_of_parquet(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]
    path = parquet(tmp_path / "c.parquet", rows)
    with pytest.raises(
        DataError, match=r"c\.parquet: row 2: the passage id 'a' occurs twice \(first in row 1\)"
    ):
        list(JsonlDataset(corpus=path).corpus("default"))
    (problem,) = JsonlDataset(corpus=path, corpus_columns={"text": "body"}).check()
    assert problem == f"{path}: there is no column 'body'; the columns are id, text"
    data = path.read_bytes()
    for damaged in (b"", b"PAR1", data[: len(data) // 2], data[:-8] + b"\xff" * 8, b"x" * 1000):
        path.write_bytes(damaged)
        (problem,) = JsonlDataset(corpus=path).check()
        assert problem.startswith(f"{path}: this is no Parquet file, or a damaged one: ")


def test_columns_are_fields_and_a_corpus_without_others_is_as_before(tmp_path: Path) -> None:
    rows = "id,text,Product,Year,code,url\n1,a,Tea pot,2023,007,http://x\n2,b,,,,\n"
    first, second = JsonlDataset(corpus=write(tmp_path / "c.csv", rows)).corpus("default")
    assert first.fields == {"product": "Tea pot", "year": 2023, "code": "007"}
    assert second.metadata == {}
    lines = (
        '{"_id": "1", "text": "a", "metadata": {"year": 2023, "tags": ["x"]}, "more": {"a": 1}}\n'
    )
    (passage,) = JsonlDataset(corpus=write(tmp_path / "c.jsonl", lines)).corpus("default")
    assert passage.fields == {"year": 2023, "tags": ["x"]}
    plain = write(tmp_path / "p.jsonl", '{"_id": "1", "text": "a", "id": 7, "url": "http://x"}\n')
    (passage,) = JsonlDataset(corpus=plain).corpus("default")
    assert "fields" not in passage.metadata
