"""dataset=jsonl with the corpus of another data set: judgements about documents."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from convrag import ConfigError, Store
from convrag.config.compose import compose, compose_command
from convrag.testing import DatasetContract
from convrag.turn.wiring import Wiring
from convrag_chunkers.sentences import PageChunker
from convrag_datasets.jsonl import JsonlDataset, SampleDataset
from convrag_documents.dataset import DocumentsDataset
from document_files import make_pdf

LEAVE = "# Leave\n\nParental leave lasts fourteen weeks.\n\n# Sick\n\nTell us on the first day.\n"
BOATS = [["Ferries leave at noon."], ["Boats do not.", "They stay."]]
TURNS = [{"question": "How long is parental leave?"}, {"question": "When do ferries leave?"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "leave.md").write_text(LEAVE)
    (tmp_path / "docs" / "boats.pdf").write_bytes(make_pdf(BOATS))
    (tmp_path / "talks.jsonl").write_text(json.dumps({"id": "c", "turns": TURNS}))
    return tmp_path


@pytest.fixture
def make(folder: Path) -> Callable[..., JsonlDataset]:
    """Make the data set with judgements of its two turns, as lines of the file."""

    def build(*judgements: str, with_store: bool = True, **others: Any) -> JsonlDataset:
        store = Store(folder / "store")
        documents = DocumentsDataset(path=folder / "docs", chunker=PageChunker(), store=store)
        if judgements:
            (folder / "qrels.tsv").write_text("".join(f"{line}\n" for line in judgements))
            others["qrels"] = folder / "qrels.tsv"
        talks = folder / "talks.jsonl"
        chosen = store if with_store else None
        return JsonlDataset(conversations=talks, corpus=documents, store=chosen, **others)

    return build


class TestContract(DatasetContract):
    @pytest.fixture(autouse=True)
    def _files(self, make: Callable[..., JsonlDataset]) -> None:
        self.build = make

    def make(self) -> JsonlDataset:
        return self.build("c<::>1\tleave.md#1\t1", "c<::>2\tboats.pdf#page=1\t1")


@pytest.mark.parametrize("with_store", [True, False])
def test_passages_pages_and_documents_can_be_judged(
    make: Callable[..., JsonlDataset], with_store: bool
) -> None:
    dataset = make(
        "c<::>1\tleave.md\t2",
        "c<::>2\tboats.pdf#page=2\t1",
        "c<::>2\tboats.pdf#1\t2",
        with_store=with_store,
    )
    assert list(dataset.check()) == []
    assert dataset.qrels() == {
        "c<::>1": {"leave.md": 2},
        "c<::>2": {"boats.pdf#1": 2, "boats.pdf#2": 1},
    }


def test_a_passage_that_is_judged_keeps_its_grade(make: Callable[..., JsonlDataset]) -> None:
    dataset = make("c<::>2\tboats.pdf#page=1\t2", "c<::>2\tboats.pdf#1\t0")
    assert dataset.qrels() == {"c<::>2": {"boats.pdf#1": 0}}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bots.pdf", "1 of 2 judged ids are in no document of the corpus, 'bots.pdf' for instance"),
        ("leave.md#9", "'leave.md#9' for instance. An id is a document's ('boats.pdf')"),
        ("boats.pdf#page=3", "'boats.pdf#page=3' for instance (boats.pdf has 2 pages)"),
        ("leave.md#page=1", "'leave.md#page=1' for instance (leave.md has 0 pages)"),
    ],
)
def test_an_unknown_id_names_its_line(
    make: Callable[..., JsonlDataset], name: str, message: str
) -> None:
    (problem,) = make(
        "query-id\tcorpus-id\tscore", "c<::>1\tleave.md\t1", f"c<::>2\t{name}\t1"
    ).check()
    assert "qrels.tsv, line 3: " in problem
    assert message in problem


def test_a_page_without_text_is_refused(make: Callable[..., JsonlDataset], folder: Path) -> None:
    (folder / "docs" / "boats.pdf").write_bytes(make_pdf([*BOATS, []]))
    (problem,) = make("c<::>2\tboats.pdf#page=3\t1").check()
    assert "line 1: the page 'boats.pdf#page=3' has no text" in problem


def test_the_domain_must_be_one_of_the_corpus(make: Callable[..., JsonlDataset]) -> None:
    (problem,) = make("c<::>1\tleave.md\t1", domain="handbook").check()
    assert "dataset.domain=handbook: the corpora of dataset.corpus are default" in problem


def test_the_corpus_may_be_any_data_set(folder: Path) -> None:
    dataset = JsonlDataset(conversations=folder / "talks.jsonl", corpus=SampleDataset())
    assert list(dataset.check()) == []
    assert list(dataset.corpus("default")) == list(SampleDataset().corpus("default"))


def test_columns_are_for_files(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"dataset\.corpus_columns is for a file of passages"):
        JsonlDataset(
            conversations=folder / "talks.jsonl",
            corpus=SampleDataset(),
            corpus_columns={"id": "key"},
        )


class TestConfiguration:
    def build(self, *overrides: str, store: Path) -> JsonlDataset:
        config, command = compose_command(
            "dataset=jsonl", *overrides, f"store.path={store}", "tracker=none"
        )
        dataset: JsonlDataset = Wiring(config, command).get("dataset")
        return dataset

    def test_another_data_set_is_chosen_by_its_name(self, folder: Path) -> None:
        dataset = self.build(
            "dataset.corpus=documents",
            f"dataset.corpus.path={folder / 'docs'}",
            f"dataset.conversations={folder / 'talks.jsonl'}",
            store=folder / "store",
        )
        assert isinstance(dataset.corpus_dataset, DocumentsDataset)
        assert {passage.document for passage in dataset.corpus("default")} == {
            "boats.pdf",
            "leave.md",
        }

    @pytest.mark.parametrize("name", ["passages.jsonl", "passages"])
    def test_any_other_value_is_a_file(self, name: str, folder: Path) -> None:
        (folder / "passages.jsonl").write_text('{"_id": "p", "text": "Red."}\n')
        (folder / "passages").symlink_to("passages.jsonl")
        path = folder / name
        dataset = self.build(f"dataset.corpus={path}", store=folder / "store")
        assert [passage.id for passage in dataset.corpus("default")] == ["p"]

    def test_a_file_without_a_suffix_next_to_the_command(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (folder / "passages").write_text('{"_id": "p", "text": "Red."}\n')
        monkeypatch.chdir(folder)
        dataset = self.build("dataset.corpus=passages", store=folder / "store")
        assert [passage.id for passage in dataset.corpus("default")] == ["p"]

    def test_a_value_of_another_type_is_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"dataset\.corpus=\['a', 'b'\]"):
            compose("dataset=jsonl", "dataset.corpus=[a,b]")

    def test_a_parameter_of_the_other_data_set_is_checked(self) -> None:
        with pytest.raises(ConfigError, match=r"dataset\.corpus.*paht"):
            compose("dataset=jsonl", "dataset.corpus=documents", "dataset.corpus.paht=docs")
