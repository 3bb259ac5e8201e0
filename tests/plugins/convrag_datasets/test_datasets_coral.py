from pathlib import Path

import pytest

from convrag import DataError, Passage
from convrag_datasets.coral import CoralDataset
from published_sets import PublishedContract, write_json, write_lines

CONVERSATION = {
    "conv_id": "Test_a_2",
    "turns": [
        {
            "turn_id": 1,
            "question": "What is tea?",
            "response": "A drink [1].",
            "golden_rewrite": "What is tea?",
            "golden_docs_pids": [6, 8],
            "golden_docs_text": ["Tea is a drink.", "Tea is old."],
        },
        {
            "turn_id": 2,
            "question": "Who drinks it?",
            "response": "Many.",
            "golden_rewrite": "Who drinks tea?",
            "golden_docs_pids": [8],
            "golden_docs_text": ["Tea is old."],
        },
    ],
}


@pytest.fixture
def copy(tmp_path) -> Path:
    write_lines(
        tmp_path / "passage_corpus.json",
        {"ref_id": 6, "ref_string": "Tea is a drink."},
        {"ref_id": 8, "ref_string": "Tea is old."},
    )
    write_json(tmp_path / "test" / "new_test_conversation.json", [CONVERSATION])
    write_lines(tmp_path / "test" / "new_test_qrel.trec", "Test_a_2_1 0 6 1", "Test_a_2_2 0 8 1")
    return tmp_path


class TestContract(PublishedContract):
    def make(self) -> CoralDataset:
        return CoralDataset(path=self.path)


def test_conversations_qrels_rewrites_and_passages(copy):
    dataset = CoralDataset(path=copy)
    assert list(dataset.check()) == []
    (conversation,) = dataset.conversations()
    assert [turn.id for turn in conversation.turns] == ["Test_a_2_1", "Test_a_2_2"]
    assert conversation.turns[0].passages == (
        Passage("6", "Tea is a drink."),
        Passage("8", "Tea is old."),
    )
    assert conversation.turns[1].labels == {"flow": "a"}
    assert dataset.qrels() == {"Test_a_2_1": {"6": 1}, "Test_a_2_2": {"8": 1}}
    assert dataset.rewrites() == {
        "golden": {"Test_a_2_1": "What is tea?", "Test_a_2_2": "Who drinks tea?"}
    }
    assert [passage.id for passage in dataset.corpus("default")] == ["6", "8"]


def test_lines_and_golden_passages_as_qrels(tmp_path):
    write_lines(tmp_path / "train" / "train_conversation.json", CONVERSATION)
    dataset = CoralDataset(path=tmp_path, split="train")
    assert list(dataset.check()) == []
    assert dataset.qrels() == {"Test_a_2_1": {"6": 1, "8": 1}, "Test_a_2_2": {"8": 1}}
    assert list(dataset.corpus("default")) == []
    assert "passage_corpus.json" in dataset.explain_missing_corpus("default")


def test_ids_and_texts_that_do_not_match(tmp_path):
    turn = CONVERSATION["turns"][0] | {"golden_docs_pids": [6]}
    write_json(tmp_path / "test_conversation.json", [CONVERSATION | {"turns": [turn]}])
    with pytest.raises(
        DataError,
        match=r"\[0\]\.turns\[0\]: 'golden_docs_pids' has 1 ids, and 'golden_docs_text' 2",
    ):
        list(CoralDataset(path=tmp_path).conversations())


def test_golden_passages_without_texts_are_found_in_the_corpus(copy):
    turns = [
        {k: v for k, v in turn.items() if k != "golden_docs_text"} for turn in CONVERSATION["turns"]
    ]
    write_json(copy / "test" / "new_test_conversation.json", [CONVERSATION | {"turns": turns}])
    (conversation,) = CoralDataset(path=copy).conversations()
    assert conversation.turns[1].passages == (Passage("8", "Tea is old."),)
    assert conversation.turns[1].labels == {"flow": "a", "provenance": ["8"]}
    (copy / "passage_corpus.json").unlink()
    (conversation,) = CoralDataset(path=copy).conversations()
    assert conversation.turns[1].passages == ()


def test_the_qrels_of_the_first_version_are_a_table(copy):
    (copy / "test" / "new_test_qrel.trec").unlink()
    (copy / "test" / "test_qrel.tsv").write_text("Test_a_2_1\t0\t6\t1\n")
    assert CoralDataset(path=copy).qrels() == {"Test_a_2_1": {"6": 1}}
