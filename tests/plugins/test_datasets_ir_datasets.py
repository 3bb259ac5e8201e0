"""The real library, with data sets that are registered here: nothing is downloaded."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from convrag import Passage, Turn, UnknownName
from convrag.testing import DatasetContract
from convrag_datasets.ir_datasets import IrDatasetsDataset

SHARED = Path(os.environ.get("CONVRAG_SHARED", Path(__file__).parents[3] / "shared"))
CAST = SHARED / "data/cast/2020/2020_manual_evaluation_topics_v1.0.json"


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The library, which makes its folder when it is imported, in a folder of the tests."""
    home = tmp_path_factory.mktemp("ir_datasets")
    before = os.environ.get("IR_DATASETS_HOME")
    os.environ["IR_DATASETS_HOME"] = str(home)
    yield pytest.importorskip("ir_datasets")
    if before is None:
        del os.environ["IR_DATASETS_HOME"]
    else:
        os.environ["IR_DATASETS_HOME"] = before


class _File:
    """A file in the place of a download."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def stream(self) -> Any:
        return self._path.open("rb")

    def path(self, force: bool = True) -> str:
        return str(self._path)


@pytest.fixture
def toy(library: Any, tmp_path: Path) -> Iterator[str]:
    """A data set of the library's own readers, over files."""
    (tmp_path / "docs.tsv").write_text("p1\tA rose is red.\np2\tThe sky.\n")
    (tmp_path / "queries.tsv").write_text("1\tRed?\n2\tBlue?\n")
    (tmp_path / "qrels").write_text("1 0 p1 2\n2 0 p2 0\n9 0 p1 1\n")
    formats = library.formats
    docs = formats.TsvDocs(_File(tmp_path / "docs.tsv"))
    queries = formats.TsvQueries(_File(tmp_path / "queries.tsv"))
    yield from _register(library, "toy", docs, queries, formats.TrecQrels(_File(tmp_path / "qrels"), {}))


@pytest.fixture
def cast(library: Any, tmp_path: Path) -> Iterator[str]:
    """Topics of CAsT 2020, in the library's reader of them."""
    from ir_datasets.datasets.trec_cast import Cast2020Query, CastQueries

    path = tmp_path / "topics.json"
    turn = {"automatic_rewritten_utterance": "", "manual_rewritten_utterance": "", "manual_canonical_result_id": "M"}
    turns = [{"number": n, "raw_utterance": text, **turn} for n, text in ((1, "Red?"), (2, "And it?"))]
    path.write_text(json.dumps([{"number": 81, "turn": turns}, {"number": 82, "turn": turns[:1]}]))
    yield from _register(library, "cast-toy", CastQueries(_File(CAST if CAST.exists() else path), Cast2020Query))


def _register(library: Any, name: str, *parts: Any) -> Iterator[str]:
    library.registry.register(name, library.Dataset(*parts))
    yield name
    del library.registry._registered[name]


class TestContract(DatasetContract):
    """Of a published data set, whose files lie where the library would have downloaded them to."""

    @pytest.fixture(autouse=True)
    def _files(self, library: Any) -> None:
        folder = library.util.home_path() / "antique"
        (folder / "test").mkdir(parents=True, exist_ok=True)
        (folder / "collection.tsv").write_text("p1\tA rose is red.\np2\tThe sky.\n")
        (folder / "test" / "queries.txt").write_text("1\tRed?\n2\tBlue?\n")
        (folder / "test" / "qrels").write_text("1 0 p1 2\n")

    def make(self) -> IrDatasetsDataset:
        return IrDatasetsDataset(id="antique/test")


def test_questions_that_stand_alone(toy: str) -> None:
    dataset = IrDatasetsDataset(id=toy)
    assert list(dataset.check()) == []
    assert [(each.id, each.turns) for each in dataset.conversations()] == [
        ("1", (Turn("1", "Red?"),)),
        ("2", (Turn("2", "Blue?"),)),
    ]
    assert dataset.qrels() == {"1": {"p1": 2}, "2": {"p2": 0}}
    assert list(dataset.corpus("default")) == [Passage("p1", "A rose is red."), Passage("p2", "The sky.")]


def test_topics_of_cast_are_conversations(cast: str) -> None:
    dataset = IrDatasetsDataset(id=cast)
    assert list(dataset.check()) == []
    first = next(dataset.conversations())
    assert first.id == "81"
    assert [turn.id for turn in first.turns[:2]] == ["81_1", "81_2"]
    assert list(dataset.corpus("default")) == []
    if CAST.exists():
        assert len(list(dataset.conversations())) == 25
        assert first.turns[0].question == "How do you know when your garage door opener is going bad?"


def test_titles_and_texts(library: Any, tmp_path: Path) -> None:
    class Paper(NamedTuple):
        doc_id: str
        title: str
        abstract: str

        def default_text(self) -> str:
            return f"{self.title} {self.abstract}"

    class Papers(library.formats.BaseDocs):
        def docs_iter(self) -> Iterator[Paper]:
            return iter([Paper("d", "T", "a")])

    (tmp_path / "q.tsv").write_text("1\tRed?\n")
    queries = library.formats.TsvQueries(_File(tmp_path / "q.tsv"))
    for name in _register(library, "papers", Papers(), queries):
        dataset = IrDatasetsDataset(id=name)
        assert list(dataset.corpus("default")) == [Passage("d", "T a", "T")]
        assert dataset.qrels() == {}


def test_a_published_corpus_is_known_by_its_id_and_others_by_their_texts(toy: str, tmp_path: Path) -> None:
    first = IrDatasetsDataset(id="beir/scifact/test").corpus_fingerprint("default")
    assert first == IrDatasetsDataset(id="beir/scifact/train").corpus_fingerprint("default")
    assert first != IrDatasetsDataset(id="beir/nfcorpus/test").corpus_fingerprint("default")
    before = IrDatasetsDataset(id=toy).corpus_fingerprint("default")
    (tmp_path / "docs.tsv").write_text("p1\tAnother.\n")
    assert IrDatasetsDataset(id=toy).corpus_fingerprint("default") != before


def test_what_is_wrong_is_said(library: Any, toy: str, tmp_path: Path) -> None:
    with pytest.raises(
        UnknownName, match=r"dataset\.id 'beir/scifakt/test' does not exist\. Did you mean 'beir/scifact/test'"
    ):
        list(IrDatasetsDataset(id="beir/scifakt/test").conversations())
    (problem,) = IrDatasetsDataset(id="trec-cast/v1").check()
    assert "'trec-cast/v1' has no queries; one of its parts may: trec-cast/v1/2019, " in problem
    (tmp_path / "queries.tsv").unlink()
    (problem,) = IrDatasetsDataset(id=toy).check()
    assert "dataset=ir_datasets: 'toy' cannot be read: [Errno 2]" in problem
    assert f"The files belong into {library.util.home_path()} (IR_DATASETS_HOME)" in problem


def test_without_a_network(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be downloaded is one message, in the library's three ways to fail."""
    requests = pytest.importorskip("requests")

    def refuse(*arguments: Any, **given: Any) -> None:
        raise requests.exceptions.ConnectionError(f"no network {'x' * 500}")

    monkeypatch.setattr(requests, "get", refuse)
    monkeypatch.setattr(requests.Session, "request", refuse)
    for name in ("beir/scifact/test", "trec-cast/v1/2020", "vaswani"):
        (problem,) = IrDatasetsDataset(id=name).check()
        assert problem.startswith(f"dataset=ir_datasets: {name!r} cannot be read: ")
        assert len(problem) < 700


def test_trees_are_refused(library: Any, tmp_path: Path) -> None:
    from ir_datasets.datasets.trec_cast import Cast2022Query, CastQueries

    path = tmp_path / "topics.json"
    path.write_text(json.dumps([{"number": 1, "turn": [{"number": "1-1", "participant": "User", "utterance": "a"}]}]))
    for name in _register(library, "cast-tree", CastQueries(_File(path), Cast2022Query)):
        (problem,) = IrDatasetsDataset(id=name).check()
        assert problem == "dataset=ir_datasets: the topics of 'cast-tree' are trees; read their file with dataset=cast"
