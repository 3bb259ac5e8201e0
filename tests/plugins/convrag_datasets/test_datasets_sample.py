import pytest

from convrag.api.errors import ConvragError
from convrag.testing import DatasetContract
from convrag_datasets.jsonl import SampleDataset


@pytest.fixture(scope="module")
def sample() -> SampleDataset:
    return SampleDataset()


class TestContract(DatasetContract):
    def make(self) -> SampleDataset:
        return SampleDataset()


def test_it_is_whole(sample):
    assert list(sample.check()) == []
    assert sample.domains() == ("default",)
    assert {conversation.domain for conversation in sample.conversations()} == {"default"}


def test_its_size(sample):
    conversations = list(sample.conversations())
    assert len(conversations) >= 6
    assert all(4 <= len(conversation.turns) <= 8 for conversation in conversations)
    assert len(list(sample.corpus("default"))) >= 80


def test_all_judged_passages_are_in_the_corpus(sample):
    ids = {passage.id for passage in sample.corpus("default")}
    assert sample.qrels()
    for turn, grades in sample.qrels().items():
        assert ids.issuperset(grades), turn
        assert max(grades.values()) > 0, turn


def test_it_has_answers_and_an_unanswerable_question(sample):
    turns = [turn for conversation in sample.conversations() for turn in conversation.turns]
    assert all(turn.answer for turn in turns)
    unanswerable = [turn for turn in turns if turn.labels["answerability"] == "UNANSWERABLE"]
    assert unanswerable
    assert not any(turn.id in sample.qrels() for turn in unanswerable)


def test_reading_again_gives_the_same(sample):
    again = SampleDataset()
    assert list(again.conversations()) == list(sample.conversations())
    assert list(again.corpus("default")) == list(sample.corpus("default"))
    assert again.corpus_fingerprint("default") == sample.corpus_fingerprint("default") != ""
    assert again.content_hash() == sample.content_hash() != ""


def test_another_domain_is_refused(sample):
    with pytest.raises(ConvragError, match="Choose from: default"):
        sample.corpus("moon")
