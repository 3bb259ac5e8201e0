from pathlib import Path

import pytest

from convrag.api.errors import DataError, UnknownName
from convrag_datasets.chatrag import _FILES, ChatragDataset
from published_sets import PublishedContract, write_json


def say(role: str, content: str) -> dict:
    return {"role": role, "content": content}


TALK = [say("user", "I moved."), say("assistant", "Report it."), say("user", "Online?")]
CONTEXTS = [
    {"title": "Address", "text": "You can do it online."},
    {"title": "Fees", "text": "It is free."},
]
ITEMS = [
    {
        "messages": TALK,
        "document": "doc1",
        "ctxs": CONTEXTS,
        "ground_truth_ctx": {"title": "Address", "ctx": "You can do it online.", "index": 0},
        "answers": ["Yes.", "You can."],
    },
    {
        "messages": [say("user", "Who am I?")],
        "ctxs": CONTEXTS[1:],
        "answers": ["Sorry. I cannot find the answer based on the context."],
    },
]
LISTED = [
    {
        "messages": TALK,
        "ctxs": [],
        "ground_truth_ctx": [{"title": "a", "ctx": "one"}, {"title": "b", "ctx": "two"}],
        "answers": [12.5],
    }
]


@pytest.fixture
def copy(tmp_path) -> Path:
    write_json(tmp_path / "data" / "doc2dial" / "test.json", ITEMS)
    write_json(tmp_path / "data" / "inscit" / "dev.json", LISTED)
    return tmp_path


class TestContract(PublishedContract):
    def make(self) -> ChatragDataset:
        return ChatragDataset(path=self.path, part="doc2dial+inscit")


def test_the_last_message_is_asked_and_the_others_are_history(copy):
    dataset = ChatragDataset(path=copy, part="doc2dial")
    assert list(dataset.check()) == []
    first, second = dataset.conversations()
    assert (first.id, first.domain) == ("doc2dial_0", "doc2dial")
    assert [(turn.question, turn.answer) for turn in first.history] == [("I moved.", "Report it.")]
    (turn,) = first.turns
    assert (turn.id, turn.question, turn.answer) == ("doc2dial_0", "Online?", "Yes.")
    assert turn.labels == {"answerability": "ANSWERABLE"}
    assert second.turns[0].labels == {"answerability": "UNANSWERABLE"}
    assert second.history == ()


def test_contexts_are_the_corpus_and_ground_truth_is_relevant(copy):
    dataset = ChatragDataset(path=copy, part="doc2dial+inscit")
    passages = list(dataset.corpus("doc2dial"))
    assert [(passage.title, passage.text) for passage in passages] == [
        ("Address", "You can do it online."),
        ("Fees", "It is free."),
    ]
    assert dataset.qrels()["doc2dial_0"] == {passages[0].id: 1}
    assert len(dataset.qrels()["inscit_0"]) == 2
    assert [passage.text for passage in dataset.corpus("inscit")] == ["one", "two"]
    assert [each.turns[0].answer for each in dataset.conversations()][-1] == "12.5"


def test_all_ten_sets_have_a_file():
    assert len({path.split("/")[0] for path in _FILES.values()}) == 10


def test_parts_that_are_not_there(copy):
    with pytest.raises(UnknownName, match="Did you mean 'topiocqa'"):
        ChatragDataset(path=copy, part="topioqa")
    (message,) = ChatragDataset(path=copy, part="quac").check()
    assert "it holds no quac/test.json" in message


def test_an_item_without_a_question(copy):
    write_json(
        copy / "data" / "quac" / "test.json",
        [{"messages": [say("assistant", "Hi")], "answers": ["x"]}],
    )
    with pytest.raises(
        DataError, match=r"\[0\]: 'messages' must end with a question of the user's"
    ):
        list(ChatragDataset(path=copy, part="quac").conversations())
