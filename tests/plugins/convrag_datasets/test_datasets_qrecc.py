from pathlib import Path

import pytest

from convrag import DataError, Passage
from convrag_datasets.qrecc import QreccDataset
from published_sets import PublishedContract, write_json, write_lines

TURNS = [
    {
        "Context": ["What are the pros of electric cars?", "They are quiet."],
        "Question": "Tell me more about Tesla",
        "Rewrite": "Tell me more about Tesla the car company.",
        "Answer": "Tesla is a company.",
        "Answer_URL": "https://en.wikipedia.org/wiki/Tesla,_Inc.",
        "Conversation_no": 74,
        "Turn_no": 2,
        "Conversation_source": "trec",
    },
    {
        "Context": [
            "What are the pros of electric cars?",
            "They are quiet.",
            "Tell me more about Tesla",
            "A company.",
        ],
        "Question": "Who founded it?",
        "Rewrite": "Who founded Tesla?",
        "Answer": "",
        "Answer_URL": "",
        "Conversation_no": 74,
        "Turn_no": 3,
        "Conversation_source": "trec",
    },
]
SHARED_TASK = [
    {
        "Conversation_no": 1,
        "Turn_no": 1,
        "Context": [],
        "Question": "What is tea?",
        "Truth_rewrite": "What is tea?",
        "Truth_answer": "A drink.",
        "Truth_passages": ["https://web.archive.org/web/1/http://tea.org_p0"],
        "Conversation_source": "nq",
    }
]


@pytest.fixture
def folder(tmp_path) -> Path:
    write_json(tmp_path / "qrecc_test.json", TURNS)
    return tmp_path


class TestContract(PublishedContract):
    fixture = "folder"

    def make(self) -> QreccDataset:
        return QreccDataset(path=self.path)


def test_turns_rewrites_and_the_history_before_the_first_turn(folder):
    dataset = QreccDataset(path=folder)
    assert list(dataset.check()) == []
    (conversation,) = dataset.conversations()
    assert [(turn.id, turn.answer) for turn in conversation.history] == [
        ("74_1", "They are quiet.")
    ]
    assert [turn.id for turn in conversation.turns] == ["74_2", "74_3"]
    assert conversation.turns[1].labels == {"answerability": "UNANSWERABLE", "source": "trec"}
    assert dataset.rewrites() == {
        "manual": {
            "74_2": "Tell me more about Tesla the car company.",
            "74_3": "Who founded Tesla?",
        }
    }
    assert dataset.qrels() == {}
    assert "scai-qrecc21-test-turns.json" in dataset.note()


def test_the_shared_task_has_relevant_passages(folder):
    write_json(folder / "scai-qrecc21-test-turns.json", SHARED_TASK)
    dataset = QreccDataset(path=folder)
    assert [each.id for each in dataset.conversations()] == ["1"]
    assert dataset.qrels() == {"1_1": {"https://web.archive.org/web/1/http://tea.org_p0": 1}}
    assert dataset.note() == ""


def test_a_folder_without_the_files(tmp_path):
    (message,) = QreccDataset(path=tmp_path).check()
    assert (
        "it holds no qrecc_test.json or scai-qrecc21-test-turns.json; dataset.path must be a copy of github.com/apple"
        in message
    )


def test_the_unpacked_passages_are_a_folder_of_files(folder):
    archive = folder / "collection-paragraph"
    write_lines(archive / "wayback" / "b.jsonl", {"id": "http://b.org_p0", "contents": "Tea."})
    write_lines(
        archive / "commoncrawl" / "a.jsonl",
        {"id": "http://a.org_p0", "contents": "Moon."},
        {"id": "http://a.org_p1", "contents": ""},
    )
    (archive / "README.md").write_text("About the passages.")
    dataset = QreccDataset(path=folder, corpus=archive)
    assert list(dataset.check()) == []
    assert list(dataset.corpus("default")) == [
        Passage("http://a.org_p0", "Moon."),
        Passage("http://a.org_p1", ""),
        Passage("http://b.org_p0", "Tea."),
    ]
    before = (dataset.corpus_fingerprint("default"), dataset.content_hash())
    write_lines(archive / "wayback" / "b.jsonl", {"id": "http://b.org_p0", "contents": "Coffee."})
    changed = QreccDataset(path=folder, corpus=archive)
    assert changed.corpus_fingerprint("default") != before[0]
    assert changed.content_hash() != before[1]


def test_a_file_of_passages_as_other_sets_have_it(folder):
    file = write_lines(folder / "mine.jsonl", {"_id": "p", "text": "Tea.", "title": "T"})
    dataset = QreccDataset(path=folder, corpus=file)
    assert list(dataset.corpus("default")) == [Passage("p", "Tea.", "T")]


def test_a_corpus_without_passages(folder):
    (folder / "empty").mkdir()
    (message,) = QreccDataset(path=folder, corpus=folder / "empty").check()
    assert "empty: this folder holds no .jsonl files of passages" in message
    write_lines(folder / "empty" / "a.jsonl", {"id": "x", "contents": "a"})
    write_lines(folder / "empty" / "b.jsonl", {"id": "x", "contents": "b"})
    with pytest.raises(DataError, match=r"b\.jsonl, line 1: the passage id 'x' occurs twice"):
        list(QreccDataset(path=folder, corpus=folder / "empty").corpus("default"))
