from pathlib import Path

import pytest

from convrag_datasets.qrecc import QreccDataset
from published_sets import PublishedContract, write_json

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
        "Context": ["What are the pros of electric cars?", "They are quiet.", "Tell me more about Tesla", "A company."],
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
    assert [(turn.id, turn.answer) for turn in conversation.history] == [("74_1", "They are quiet.")]
    assert [turn.id for turn in conversation.turns] == ["74_2", "74_3"]
    assert conversation.turns[1].labels == {"answerability": "UNANSWERABLE", "source": "trec"}
    assert dataset.rewrites() == {
        "manual": {"74_2": "Tell me more about Tesla the car company.", "74_3": "Who founded Tesla?"}
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
    assert "it holds no qrecc_test.json or scai-qrecc21-test-turns.json" in message
