from pathlib import Path

import pytest

from convrag import DataError, Passage
from convrag_datasets.topiocqa import TopiocqaDataset
from published_sets import PublishedContract, write_json, write_lines


def row(
    conversation: int, turn: int, topic: str, answer: str = "Yes.", context: list[str] | None = None
) -> dict:
    return {
        "Conversation_no": conversation,
        "Turn_no": turn,
        "Question": f"question {turn}?",
        "Answer": answer,
        "Topic": topic,
        "Topic_section": "Introduction",
        "Rationale": "Because.",
        "is_nq": turn == 1,
        "Context": context or [],
        "Additional_answers": [
            {"Answer": "Indeed.", "Topic": topic, "Topic_section": "", "Rationale": ""}
        ],
        "Gold_passage": {
            "id": f"wiki:{conversation}{turn}",
            "title": f"{topic} [SEP] Orbit",
            "text": f"text {turn}",
        },
    }


ROWS = [
    row(7, 2, "Moon"),
    row(7, 1, "Moon"),
    row(7, 3, "Apollo 11", "UNANSWERABLE"),
    row(8, 1, "Tea"),
]


@pytest.fixture
def copy(tmp_path) -> Path:
    write_lines(tmp_path / "data" / "topiocqa_valid.jsonl", *ROWS)
    write_lines(
        tmp_path / "full_wiki_segments.tsv",
        "id\ttext\ttitle",
        '71\t"The ""Moon"" orbits."\tMoon [SEP] Orbit',
        "72\tplain\tMoon",
    )
    return tmp_path


class TestContract(PublishedContract):
    def make(self) -> TopiocqaDataset:
        return TopiocqaDataset(path=self.path, corpus=self.path / "full_wiki_segments.tsv")


def test_topic_shifts_are_labels(copy):
    dataset = TopiocqaDataset(path=copy)
    assert list(dataset.check()) == []
    moon, tea = dataset.conversations()
    assert [turn.id for turn in moon.turns] == ["7_1", "7_2", "7_3"]
    assert [turn.labels["topic_shift"] for turn in moon.turns] == ["first", "same", "shift"]
    assert [turn.labels["answerability"] for turn in moon.turns] == [
        "ANSWERABLE",
        "ANSWERABLE",
        "UNANSWERABLE",
    ]
    assert moon.turns[2].labels["topic"] == "Apollo 11"
    assert tea.turns[0].passages == (Passage("wiki:81", "text 1", "Tea > Orbit"),)
    assert dataset.qrels()["7_2"] == {"wiki:72": 1}
    assert "full_wiki_segments.tsv" in dataset.explain_missing_corpus("default")


def test_passages_of_the_table(copy):
    dataset = TopiocqaDataset(path=copy, corpus=copy / "full_wiki_segments.tsv")
    assert list(dataset.check()) == []
    assert list(dataset.corpus("default")) == [
        Passage("wiki:71", 'The "Moon" orbits.', "Moon > Orbit"),
        Passage("wiki:72", "plain", "Moon"),
    ]
    (copy / "full_wiki_segments.tsv").write_text("71\tonly two\n")
    (message,) = dataset.check()
    assert "full_wiki_segments.tsv, line 1: there must be three columns" in message


def test_a_json_list_is_read_too_and_a_first_context_is_history(tmp_path):
    write_json(
        tmp_path / "topiocqa_train.json", [row(1, 3, "Tea", context=["q1?", "a1", "q2?", "a2"])]
    )
    (conversation,) = TopiocqaDataset(path=tmp_path, split="train").conversations()
    assert [(turn.id, turn.question, turn.answer) for turn in conversation.history] == [
        ("1_1", "q1?", "a1"),
        ("1_2", "q2?", "a2"),
    ]
    assert [turn.id for turn in conversation.turns] == ["1_3"]


def test_a_turn_that_occurs_twice(tmp_path):
    write_lines(tmp_path / "topiocqa_valid.jsonl", ROWS[0], ROWS[3], ROWS[0])
    with pytest.raises(DataError, match=r"line 3: the turn '7_2' occurs twice"):
        list(TopiocqaDataset(path=tmp_path).conversations())
