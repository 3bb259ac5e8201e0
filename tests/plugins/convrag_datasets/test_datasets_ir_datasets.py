"""The real library, with collections over local files: nothing is downloaded."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from commands import run_convrag
from convrag import DataError, Passage, Turn, UnknownName
from convrag.testing import DatasetContract
from convrag_datasets.ir_datasets import IrDatasetsDataset

_MANUAL = "manual_rewritten_utterance"
_AUTOMATIC = "automatic_rewritten_utterance"


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The library, which makes its folder when it is imported, in a folder of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IR_DATASETS_HOME", str(tmp_path_factory.mktemp("ir_datasets")))
        yield pytest.importorskip("ir_datasets")


@pytest.fixture
def toy(library: Any, tmp_path: Path) -> Iterator[str]:
    """A collection of local files, made with the library's own function."""
    (tmp_path / "docs.tsv").write_text("p1\tA rose is red.\np2\tThe sky.\n")
    (tmp_path / "queries.tsv").write_text("1\tRed?\n2\tBlue?\n")
    (tmp_path / "qrels").write_text("1 0 p1 2\n2 0 p2 0\n9 0 p1 1\n")
    collection = library.create_dataset(
        docs_tsv=tmp_path / "docs.tsv",
        queries_tsv=tmp_path / "queries.tsv",
        qrels_trec=tmp_path / "qrels",
    )
    yield from _register(library, "toy", collection)


def _register(library: Any, name: str, collection: Any) -> Iterator[str]:
    library.registry.register(name, collection)
    yield name
    del library.registry._registered[name]


def _make_topics(library: Any, path: Path, kind: str, topics: list[Any]) -> Any:
    """A collection of topics in the library's own reader of CAsT's files."""
    from ir_datasets.datasets import trec_cast

    path.write_text(json.dumps(topics))
    download = library.util.LocalDownload(path)
    return library.Dataset(trec_cast.CastQueries(download, getattr(trec_cast, kind)))


class TestContract(DatasetContract):
    """A published collection, with its files where the library would have put them."""

    @pytest.fixture(autouse=True)
    def _files(self, library: Any) -> None:
        folder = library.util.home_path() / "antique"
        (folder / "test").mkdir(parents=True, exist_ok=True)
        (folder / "collection.tsv").write_text("p1\tA rose is red.\np2\tThe sky.\n")
        (folder / "test" / "queries.txt").write_text("1\tRed?\n2\tBlue?\n")
        (folder / "test" / "qrels").write_text("1 0 p1 2\n")

    def make(self) -> IrDatasetsDataset:
        return IrDatasetsDataset(id="antique/test")


def test_queries_are_conversations_of_one_question(toy: str) -> None:
    dataset = IrDatasetsDataset(id=toy)
    assert list(dataset.check()) == []
    assert [(each.id, each.turns) for each in dataset.conversations()] == [
        ("1", (Turn("1", "Red?"),)),
        ("2", (Turn("2", "Blue?"),)),
    ]
    assert dataset.qrels() == {"1": {"p1": 2}, "2": {"p2": 0}}
    assert dataset.note() == "Judged queries of 'toy' without a question: 1."
    assert list(dataset.corpus("default")) == [
        Passage("p1", "A rose is red."),
        Passage("p2", "The sky."),
    ]
    with pytest.raises(UnknownName):
        list(dataset.corpus("other"))


def test_topics_of_cast_are_conversations(library: Any, tmp_path: Path) -> None:
    turn = {_AUTOMATIC: "Is the rose red?", _MANUAL: "", "manual_canonical_result_id": "MARCO_1"}
    turns = [
        {"number": 1, "raw_utterance": "Red?", **turn},
        {"number": 2, "raw_utterance": "And it?", **turn, _MANUAL: "And the sky?"},
    ]
    topics = [{"number": 81, "turn": turns}, {"number": 82, "turn": turns[:1]}]
    collection = _make_topics(library, tmp_path / "t.json", "Cast2020Query", topics)
    for name in _register(library, "cast-toy", collection):
        dataset = IrDatasetsDataset(id=name)
        assert list(dataset.check()) == []
        first, second = dataset.conversations()
        assert (first.id, second.id) == ("81", "82")
        assert first.turns == (
            Turn("81_1", "Red?", labels={"provenance": ["MARCO_1"]}),
            Turn("81_2", "And it?", labels={"provenance": ["MARCO_1"]}),
        )
        assert dataset.rewrites()["manual"] == {"81_2": "And the sky?"}
        assert set(dataset.rewrites()["automatic"]) == {"81_1", "81_2", "82_1"}
        assert list(dataset.corpus("default")) == []


def test_trees_are_conversations_by_branch(library: Any, tmp_path: Path) -> None:
    def system(number: str, parent: str, response: str) -> dict[str, Any]:
        return {
            "number": number,
            "parent": parent,
            "participant": "System",
            "response": response,
            "provenance": ["MARCO_1"],
        }

    def user(number: str, parent: str | None, text: str) -> dict[str, Any]:
        return {
            "number": number,
            "parent": parent,
            "participant": "User",
            "utterance": text,
            _MANUAL: f"{text} of roses",
        }

    turns = [
        user("1-1", None, "Which colour?"),
        system("1-2", "1-1", "Red."),
        user("1-3", "1-2", "And the smell?"),
        system("1-4", "1-3", "Sweet."),
        user("2-1", "1-2", "And the size?"),
        system("2-2", "2-1", "Small."),
    ]
    topics = [{"number": 132, "turn": turns}]
    collection = _make_topics(library, tmp_path / "t.json", "Cast2022Query", topics)
    for name in _register(library, "cast-tree", collection):
        dataset = IrDatasetsDataset(id=name)
        assert list(dataset.check()) == []
        first, second = dataset.conversations()
        assert (first.id, second.id) == ("132_1-4", "132_2-2")
        assert [(turn.id, turn.answer) for turn in first.turns] == [
            ("132_1-1", "Red."),
            ("132_1-3", "Sweet."),
        ]
        assert [turn.id for turn in second.history] == ["132_1-1"]
        assert [turn.id for turn in second.turns] == ["132_2-1"]
        assert dataset.rewrites()["manual"]["132_2-1"] == "And the size? of roses"


def test_an_unknown_parent_is_an_error_that_names_the_collection(
    library: Any, tmp_path: Path
) -> None:
    turn = {"number": "1-3", "parent": "1-2", "participant": "User", "utterance": "Red?"}
    topics = [{"number": 1, "turn": [turn]}]
    collection = _make_topics(library, tmp_path / "t.json", "Cast2022Query", topics)
    for name in _register(library, "cast-broken", collection):
        with pytest.raises(DataError, match=r"cast-broken.*the parent '1-2' of the turn '1-3'"):
            list(IrDatasetsDataset(id=name).conversations())


def test_a_collection_without_queries_has_passages_alone(library: Any) -> None:
    folder = library.util.home_path() / "antique"
    folder.mkdir(exist_ok=True)
    (folder / "collection.tsv").write_text("p1\tA rose is red.\n")
    dataset = IrDatasetsDataset(id="antique")
    assert list(dataset.check()) == []
    assert list(dataset.conversations()) == []
    assert dataset.qrels() == {}
    assert dataset.content_hash() == ""
    assert list(dataset.corpus("default")) == [Passage("p1", "A rose is red.")]


class _Paper(NamedTuple):
    doc_id: str
    title: str
    abstract: str

    def default_text(self) -> str:
        return f"{self.title} {self.abstract}"


class _Question(NamedTuple):
    query_id: str
    text: str
    answers: tuple[str, ...]


def test_titles_texts_and_answers(library: Any) -> None:
    class Papers(library.formats.BaseDocs):
        def docs_iter(self) -> Iterator[_Paper]:
            return iter(
                [_Paper("d", "Art", "Paint."), _Paper("e", "", "Art"), _Paper("f", "T", "")]
            )

    class Questions(library.formats.BaseQueries):
        def queries_iter(self) -> Iterator[_Question]:
            answers = ("Paint.", "Colour.")
            return iter([_Question("1", "What is art?", answers), _Question("2", " ", ())])

    class Judgements(library.formats.BaseQrels):
        def qrels_iter(self) -> Iterator[Any]:
            make = library.formats.GenericQrel
            return iter(
                [make("1", "d", 0), make("1", "d", 2), make("1", "d", 1), make("1", "e", 0)]
            )

    collection = library.Dataset(Papers(), Questions(), Judgements())
    for name in _register(library, "papers", collection):
        dataset = IrDatasetsDataset(id=name)
        assert list(dataset.corpus("default")) == [
            Passage("d", "Paint.", "Art"),
            Passage("e", " Art"),
            Passage("f", "", "T"),
        ]
        (conversation,) = dataset.conversations()
        assert conversation.turns == (Turn("1", "What is art?", "Paint."),)
        assert dataset.qrels() == {"1": {"d": 2, "e": 0}}


def test_a_published_corpus_is_identified_by_its_id_and_any_other_by_its_texts(
    toy: str, tmp_path: Path
) -> None:
    first = IrDatasetsDataset(id="beir/scifact/test").corpus_fingerprint("default")
    assert first == IrDatasetsDataset(id="beir/scifact/train").corpus_fingerprint("default")
    assert first != IrDatasetsDataset(id="beir/nfcorpus/test").corpus_fingerprint("default")
    assert IrDatasetsDataset(id="beir/scifact/test").content_hash() == ""
    before = IrDatasetsDataset(id=toy)
    fingerprint, content = before.corpus_fingerprint("default"), before.content_hash()
    (tmp_path / "docs.tsv").write_text("p1\tAnother.\n")
    (tmp_path / "queries.tsv").write_text("1\tAnother?\n")
    after = IrDatasetsDataset(id=toy)
    assert after.corpus_fingerprint("default") != fingerprint
    assert after.content_hash() != content


def test_what_is_wrong_is_said(library: Any, toy: str, tmp_path: Path) -> None:
    with pytest.raises(
        UnknownName,
        match=r"dataset\.id 'beir/scifakt/test' does not exist\. Did you mean 'beir/scifact/test'",
    ):
        list(IrDatasetsDataset(id="beir/scifakt/test").conversations())
    (problem,) = IrDatasetsDataset(id="beir").check()
    assert (
        "'beir' of ir_datasets has no queries and no documents; one of its parts may: " in problem
    )
    (tmp_path / "queries.tsv").unlink()
    (problem,) = IrDatasetsDataset(id=toy).check()
    assert "the collection 'toy' of ir_datasets cannot be read: " in problem
    assert "queries.tsv" in problem
    assert f"The files belong into {library.util.home_path()} (IR_DATASETS_HOME)" in problem
    (tmp_path / "queries.tsv").write_text("")
    (problem,) = IrDatasetsDataset(id=toy).check()
    assert problem == "the collection 'toy' of ir_datasets has no query"


def test_without_a_network(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be downloaded is one message, in the library's three ways to fail."""
    requests = pytest.importorskip("requests")

    def refuse(*arguments: Any, **given: Any) -> None:
        raise requests.exceptions.ConnectionError(f"no network {'x' * 500}")

    monkeypatch.setattr(requests, "get", refuse)
    monkeypatch.setattr(requests.Session, "request", refuse)
    for name in ("beir/scifact/test", "trec-cast/v1/2020", "vaswani"):
        (problem,) = IrDatasetsDataset(id=name).check()
        assert problem.startswith(f"the collection {name!r} of ir_datasets cannot be read: ")
        assert len(problem) < 700


MINE = '''
import ir_datasets
from convrag import hookimpl

collection = ir_datasets.create_dataset("docs.tsv", "queries.tsv", "qrels")
ir_datasets.registry.register("mine", collection)

@hookimpl
def convrag_register(register):
    """Register nothing: the library has the collection."""
'''


def test_a_collection_of_ones_own_in_a_command(toy: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    choices = ["plugins=[mine.py]", "dataset=ir_datasets", "dataset.id=mine"]
    done = run_convrag([*choices, "generator=none", "tracker=none"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "nDCG@5" in done.stdout


class _Article(NamedTuple):
    doc_id: str
    text: str
    author: str
    published: int
    tags: tuple[str, ...]

    def default_text(self) -> str:
        return self.text


def test_other_fields_of_documents_are_fields_of_passages(library: Any) -> None:
    class Articles(library.formats.BaseDocs):
        def docs_iter(self) -> Iterator[_Article]:
            return iter([_Article("a", "Paint.", "Ada", 2023, ("art",))])

    for name in _register(library, "articles", library.Dataset(Articles())):
        (passage,) = IrDatasetsDataset(id=name).corpus("default")
        assert passage.fields == {"author": "Ada", "published": 2023, "tags": ["art"]}
