import json
from pathlib import Path

import pytest

from convrag import ConfigError, DataError, Passage
from convrag_datasets.ikat import IkatDataset
from published_sets import PublishedContract, write_json, write_lines

NUMBERED = [
    {
        "number": "9-1",
        "title": "Finding a diet",
        "ptkb": {
            "1": "I'm vegetarian.",
            "2": "I have two sisters.",
            "10": "I'm allergic to soybeans.",
        },
        "turns": [
            {
                "turn_id": 1,
                "utterance": "Can you find me a diet?",
                "resolved_utterance": "Can you find a diet for a vegetarian who is allergic to soybeans?",
                "response": "Eat lentils.",
                "ptkb_provenance": [10, 1],
                "response_provenance": [
                    "clueweb22-en0035-25-01897:1",
                    "clueweb22-en0004-30-08099:2",
                ],
            },
            {
                "turn_id": 2,
                "utterance": "Is it healthy?",
                "resolved_utterance": "Is a diet of lentils healthy?",
                "response": "Yes.",
                "ptkb_provenance": [],
                "response_provenance": [],
            },
        ],
    },
    {
        "number": 0,
        "title": "Egypt",
        "ptkb": {},
        "turns": [{"turn_id": 1, "utterance": "When to go?", "response": "In winter."}],
    },
]
LISTED = [
    {
        "number": "1-1",
        "title": "Acid reflux",
        "ptkb": ["I like my local pizzeria.", "I eat dinner late at night."],
        "responses": [
            {
                "turn_id": 1,
                "user_utterance": "Any suggestions?",
                "resolved_utterance": "Any suggestions against acid reflux?",
                "response": "Eat earlier.",
                "relevant_ptkbs": ["I eat dinner late at night."],
                "citations": ["clueweb22-en0034-09-00524:2"],
            }
        ],
    }
]


@pytest.fixture
def clone(tmp_path) -> Path:
    write_json(tmp_path / "2023" / "data" / "2023_test_topics.json", NUMBERED)
    write_lines(
        tmp_path / "2023" / "data" / "2023_test_topics_psg_text.jsonl",
        {
            "doc_id": "clueweb22-en0035-25-01897",
            "passage_id": "1",
            "passage_text": "\nLentils feed.\n",
        },
        {"doc_id": "clueweb22-en0000-00-00000", "passage_id": "0", "passage_text": "Other."},
    )
    write_lines(
        tmp_path / "2023" / "2023-qrels.all-turns.txt", "9-1_1 0 clueweb22-en0035-25-01897:1 3"
    )
    write_json(tmp_path / "2025" / "data" / "2025_test_topics.json", LISTED)
    return tmp_path


class TestContract(PublishedContract):
    fixture = "clone"

    def make(self) -> IkatDataset:
        return IkatDataset(path=self.path, year=2023)


def test_personal_statements_are_the_profile(clone):
    dataset = IkatDataset(path=clone, year=2023)
    assert list(dataset.check()) == []
    first, second = dataset.conversations()
    assert (first.id, second.id) == ("9-1", "0")
    assert first.profile == ("I'm vegetarian.", "I have two sisters.", "I'm allergic to soybeans.")
    assert second.profile == ()
    personal, other = first.turns
    assert personal.id == "9-1_1"
    assert personal.labels["statements"] == ["I'm allergic to soybeans.", "I'm vegetarian."]
    assert [personal.labels["personal"], other.labels["personal"]] == ["yes", "no"]
    assert personal.passages == (Passage("clueweb22-en0035-25-01897:1", "Lentils feed."),)
    assert dataset.rewrites()["resolved"]["9-1_2"] == "Is a diet of lentils healthy?"
    assert dataset.qrels() == {"9-1_1": {"clueweb22-en0035-25-01897:1": 3}}
    assert len(list(dataset.corpus("default"))) == 2


def test_2025_lists_statements_and_citations(clone):
    dataset = IkatDataset(path=clone, year=2025)
    (conversation,) = dataset.conversations()
    assert conversation.profile == ("I like my local pizzeria.", "I eat dinner late at night.")
    (turn,) = conversation.turns
    assert (turn.id, turn.question, turn.answer) == ("1-1_1", "Any suggestions?", "Eat earlier.")
    assert turn.labels == {
        "personal": "yes",
        "statements": ["I eat dinner late at night."],
        "provenance": ["clueweb22-en0034-09-00524:2"],
    }
    assert list(dataset.corpus("default")) == []
    assert "ClueWeb22" in dataset.explain_missing_corpus("default")
    assert "dataset.qrels=FILE" in dataset.note()


def test_a_statement_that_is_not_there(clone):
    broken = json.loads(json.dumps(NUMBERED))
    broken[0]["turns"][0]["ptkb_provenance"] = [1, 77]
    write_json(clone / "2023" / "data" / "2023_test_topics.json", broken)
    with pytest.raises(
        DataError,
        match=r"\[0\]\.turns\[0\]\.ptkb_provenance\[1\]: the user has made no statement '77'",
    ):
        list(IkatDataset(path=clone, year=2023).conversations())


def test_another_year(tmp_path):
    with pytest.raises(ConfigError, match="dataset.year=2022"):
        IkatDataset(path=tmp_path, year=2022)
    (message,) = IkatDataset(path=tmp_path, year=2024).check()
    assert "it holds no 2024_test_topics.json" in message
