import json
import random
import re
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from convrag import Passage, Query
from convrag.api.errors import ConvragError, DataError
from convrag.store.store import Store
from convrag.testing import RetrieverContract
from convrag.testing.samples import passages
from convrag_retrieval.sparse_files import SparseFilesRetriever
from toys import Corpora

QUERIES = [
    {"text": "moon", "vector": {"moon": 2.0, "tide": 0.5}},
    {"_id": "t<::>1", "vector": {"3.5": 1, "?": 4.0}},
]


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def count_words(text: str) -> dict[str, float]:
    return {word: 1.0 * text.lower().count(word) for word in re.findall(r"\w+", text.lower())}


def make(
    folder: Path, rows: Iterable[Mapping[str, Any]], ids: Iterable[str] = ("p1", "p2")
) -> SparseFilesRetriever:
    return SparseFilesRetriever(
        dataset=Corpora(default=[Passage(name, name) for name in ids]),
        store=Store(folder),
        passage_vectors=write(folder / "passages.jsonl", rows),
        query_vectors=write(folder / "queries.jsonl", QUERIES),
    )


class TestContract(RetrieverContract):
    @pytest.fixture(autouse=True)
    def _files(self, tmp_path: Path) -> None:
        calls = [*chain.from_iterable(self.inputs()), *self.odd_inputs()]
        asked = {query.text for each in calls for query in each["queries"]}
        self.folder = tmp_path
        self.rows = [{"id": each.id, "vector": count_words(each.content)} for each in passages()]
        self.queries = [{"text": text, "vector": count_words(text)} for text in asked]

    def make(self) -> SparseFilesRetriever:
        return SparseFilesRetriever(
            dataset=Corpora(default=passages()),
            store=Store(self.folder),
            passage_vectors=write(self.folder / "p.jsonl", self.rows),
            query_vectors=write(self.folder / "q.jsonl", self.queries),
        )


def test_scores_are_products_of_the_vectors(tmp_path: Path) -> None:
    chance = random.Random(3)
    tokens = ["moon", "tide", "3.5", "sea"]
    vectors = {
        f"p{n}": {token: chance.random() for token in chance.sample(tokens, n % 4)}
        for n in range(60)
    }
    rows = [{"id": name, "vector": vector} for name, vector in reversed(vectors.items())]
    stage = make(tmp_path, [*rows, {"id": "elsewhere", "vector": {}}], vectors)
    assert stage.index() == ["default: 60 passages: 60 read"]
    expected = {
        name: 2.0 * each.get("moon", 0) + 0.5 * each.get("tide", 0)
        for name, each in vectors.items()
    }
    hits = stage.retrieve([Query("moon")], 60)
    found = {hit.passage.id: hit.score for hit in hits}
    assert found == pytest.approx(
        {name: score for name, score in expected.items() if score}, rel=1e-6
    )
    (best, *_) = stage.retrieve([Query("whatever", turn_id="t<::>1")], 1)  # by its turn
    assert best.score == pytest.approx(
        max(each.get("3.5", 0) for each in vectors.values()), rel=1e-6
    )
    both = stage.retrieve([Query("moon", 1.0), Query("moon", -0.5)], 60)
    assert [hit.score for hit in both] == pytest.approx([hit.score / 2 for hit in hits])
    assert make(tmp_path, [*rows, {"id": "elsewhere", "vector": {}}], vectors).index() == [
        "default: 60 passages are in the index already"
    ]


def test_a_query_that_the_file_lacks_is_named(tmp_path: Path) -> None:
    stage = make(tmp_path, [{"id": name, "vector": {"moon": 1}} for name in ("p1", "p2")])
    with pytest.raises(
        ConvragError, match=r"queries\.jsonl has no vector for the query 'other' of turn 'x'"
    ):
        stage.retrieve([Query("other", turn_id="x")], 1)
    with pytest.raises(ConvragError, match="no vector"):  # two queries of a turn are not one vector
        stage.retrieve([Query("a", turn_id="t<::>1"), Query("b", turn_id="t<::>1")], 1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1: this is not JSON"),
        ('{"id": "p1"}', "line 1: there is no 'vector'"),
        ('{"vector": {"a": 1}}', "line 1: there is no 'id'"),
        ('{"id": "p1", "vector": {"a": "much"}}', "the weight of 'a' is not a number"),
        ('{"id": "p1", "vector": {"a": 1}}', "there is no vector for the passage 'p2'"),
        ('{"id": "a", "vector": {}}\n{"id": "a", "vector": {}}', "stands in it twice"),
    ],
)
def test_a_broken_file_is_named_with_its_line(line: str, message: str, tmp_path: Path) -> None:
    stage = make(tmp_path, [])
    stage.passage_file.path.write_text(line, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        stage.index()
    assert not list((tmp_path / "indexes").glob("*/tokens.json"))


def test_no_passage_has_a_token(tmp_path: Path) -> None:
    stage = make(tmp_path, [{"id": name, "vector": {}} for name in ("p1", "p2")])
    assert stage.retrieve([Query("moon")], 5) == []
