"""Judgements of documents in the records of turns: passages of them are relevant."""

from convrag import Hit, Passage, TurnRecord
from convrag.api.conversations import Turn
from convrag.run.truths import add_truth


def cut(number: int, document: str) -> Hit:
    return Hit(Passage(f"{document}#{number}", "", metadata={"document": document}), 1.0)


def test_passages_stand_for_their_judged_document() -> None:
    record = TurnRecord("c", "t", "default", 1, "?", hits=(cut(1, "a.md"), cut(2, "b.md")))
    qrels = {"t": {"a.md": 2, "c.md": 1, "b.md#2": -1}}
    known = add_truth(record, Turn("t", "?"), qrels)
    assert known.gold == {"a.md#1": 2, "c.md": 1, "b.md#2": -1}


def test_a_passage_that_is_judged_itself_keeps_its_grade() -> None:
    record = TurnRecord("c", "t", "default", 1, "?", hits=(cut(1, "a.md"), cut(2, "a.md")))
    known = add_truth(record, Turn("t", "?"), {"t": {"a.md": 2, "a.md#1": 0}})
    assert known.gold == {"a.md#1": 0, "a.md#2": 2}
