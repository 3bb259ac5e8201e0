"""A record as plain data: what JSON can hold, and back; what has another form is named."""

import json
from dataclasses import replace
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from convrag import (
    Answer,
    Completion,
    Evidence,
    EvidenceItem,
    Hit,
    Message,
    Passage,
    Prompt,
    Query,
    Rewrite,
)
from convrag.api.answers import PassageSpan, Support
from convrag.api.records import TurnRecord, Usage

PASSAGE = Passage("p", "Green tea.", "Tea", "http://x", {"page": 3})
RECORD = TurnRecord(
    conversation_id="c",
    turn_id="c<::>1",
    domain="tea",
    number=1,
    original_query="hot?",
    queries=(Query("Is tea hot?", 0.5, "c<::>1", "tea"),),
    hits=(Hit(PASSAGE, 1.5),),
    evidence=Evidence(
        (
            EvidenceItem(1, PASSAGE, "see above", hint=True),
            EvidenceItem(2, Passage("q", "Milk."), "Milk."),
        )
    ),
    answer=Answer("Yes [1].", ("p",), support=(Support(0, 3, (PassageSpan("p", 0, 5),)),)),
    trace={"rewriter": {"gate": "short"}},
    timings={"rewriter": 0.25},
    usage={"rewriter": Usage(1, 2, 3)},
    fallbacks={"reranker": "tired"},
    error="",
    labels={"kind": "easy"},
    reference="80 degrees.",
    gold={"p": 2},
    prompt=(Message("system", "Be brief."), Message("user", "hot?")),
    attempt=1,
    replies=((Prompt("answer", (Message("user", "hot?"),)), Completion("Yes.", 3, 1)),),
)


def test_a_record_comes_back_from_its_fields() -> None:
    fields = json.loads(json.dumps(RECORD.to_dict()))
    assert fields["prompt"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hot?"},
    ]
    assert (fields["gold"], fields["reference"], fields["attempt"]) == ({"p": 2}, "80 degrees.", 1)
    assert TurnRecord.from_dict(fields) == replace(RECORD, replies=())
    assert TurnRecord.from_dict(RECORD.to_dict(replies=True)) == RECORD


def test_what_stages_leave_in_a_trace_is_plain() -> None:
    looped: dict[str, Any] = {}
    looped["self"] = looped
    trace = {
        "rewriter": {
            "scores": np.array([0.5, nan]),
            3: np.int64(4),
            "sets": {"b", "a"},
            "record": Usage(),
            "x": looped,
        }
    }
    record = replace(RECORD, trace=trace, hits=(Hit(PASSAGE, inf),), labels={"n": np.float32(0.5)})
    fields = record.to_dict()
    assert json.loads(json.dumps(fields, allow_nan=False)) == fields
    assert fields["trace"]["rewriter"]["scores"] == [0.5, None]
    assert fields["trace"]["rewriter"]["sets"] == ["a", "b"]
    assert str(TurnRecord.from_dict(fields).hits[0].score) == "nan"


def test_lines_of_former_versions_are_read() -> None:
    fields = RECORD.to_dict()
    for name in ("reference", "gold", "prompt", "attempt", "support"):
        del fields[name]
    assert TurnRecord.from_dict(fields | {"something": "else"}).gold == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"contexts": 3}, "contexts: Input should be a valid"),
        (
            {"contexts": [{"id": "p", "score": "x"}]},
            r"contexts\.0\.score: Input should be a valid number",
        ),
        ({"turn": None}, "turn: Input should be a valid integer"),
        ({"gold": {"p": "x"}}, r"gold\.p: Input should be a valid integer"),
        ({"prompt": [{"role": "user"}]}, r"prompt\.0\.content: Field required"),
        ({"replies": [[{}, {}]]}, "replies: 'messages'"),
        (
            {"replies": [[{"messages": [["user", "x"]], "task": "t", "odd": 1}, {}]]},
            "replies: .*odd",
        ),
    ],
)
def test_what_has_another_form_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TurnRecord.from_dict(RECORD.to_dict() | changes)
    with pytest.raises(ValueError, match="dictionary or an instance"):
        TurnRecord.from_dict([])


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\u202e&lt; '\""


def test_a_notebook_shows_hostile_text_as_text() -> None:
    passage = Passage(HOSTILE, HOSTILE, HOSTILE, "javascript:alert(1)")
    record = TurnRecord(
        HOSTILE,
        HOSTILE,
        HOSTILE,
        1,
        HOSTILE,
        queries=(Query(HOSTILE),),
        hits=(Hit(passage, 1.0),) * 2,
        evidence=Evidence(tuple(EvidenceItem(n, passage, HOSTILE * 100) for n in range(30))),
        answer=Answer(HOSTILE, (HOSTILE,)),
        timings={HOSTILE: 0.5},
        fallbacks={HOSTILE: HOSTILE},
        error=HOSTILE,
    )
    page = record._repr_html_()
    assert "<script" not in page
    assert "<img" not in page
    assert "javascript:" not in page
    assert not set(page) & {"\x1b", "\u202e"}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "&amp;lt;" in page
    assert len(page) < 100_000


def test_a_notebook_shows_the_turn() -> None:
    page = RECORD._repr_html_()
    for text in (
        "hot?",
        "Yes [1].",
        "Is tea hot?",
        "reranker fell back",
        "tired",
        "2 passages; 1 retrieved",
    ):
        assert text in page
    assert "cited" in page


def test_a_notebook_says_which_passages_are_relevant() -> None:
    items = tuple(EvidenceItem(n, Passage(name, name), name) for n, name in enumerate("abc", 1))
    record = replace(
        RECORD,
        evidence=Evidence(items),
        answer=Answer("A.", ("a", "b")),
        gold={"a": 2, "b": 0, "z": 1},
    )
    page = record._repr_html_()
    assert page.count(">relevant, cited</td>") == page.count(">cited</td>") == 1
    alone = replace(record, evidence=Evidence(items[:1]))
    assert "1 passage; 1 retrieved" in alone._repr_html_()


def test_a_notebook_marks_what_the_answer_rests_on() -> None:
    passage = Passage("p", "<b>Tea</b> & milk. Hot.\nCold.", "Tea")
    spans = [
        PassageSpan("p", 19, 23),
        PassageSpan("p", 3, 6),
        PassageSpan("p", 5, 12),
        PassageSpan("p", 24, 9999),
    ]
    shown = (EvidenceItem(1, passage, passage.content), EvidenceItem(2, passage, "Tea, cut"))
    answer = Answer("Yes.", ("p",), support=(Support(0, 4, tuple(spans)),))
    page = replace(RECORD, evidence=Evidence(shown), answer=answer)._repr_html_()
    marked = "Tea<br>&lt;b&gt;<mark>Tea</mark><mark>&lt;/b&gt; &amp;</mark> milk. <mark>Hot.</mark><br><mark>Cold.</mark>"
    assert f">{marked}</td>" in page
    assert ">Tea, cut</td>" in page
    long = Passage("p", "tea " * 1000)
    cut = replace(
        RECORD, evidence=Evidence((EvidenceItem(1, long, long.text),)), answer=answer
    )._repr_html_()
    assert cut.count("tea") == 500
    assert "…" in cut


LEAVE = Passage(
    "leave.md#2",
    "Ten weeks.",
    "Leave",
    metadata={"document": "leave.md", "start": 9, "end": 19, "place": "leave.md, 'Leave'"},
)


def test_a_passage_that_was_shown_and_not_found_keeps_its_place_in_its_document() -> None:
    record = replace(RECORD, evidence=Evidence((EvidenceItem(1, LEAVE, LEAVE.text),)), hits=())
    (item,) = TurnRecord.from_dict(json.loads(json.dumps(record.to_dict()))).evidence.items
    assert item.passage == LEAVE
    assert item.passage.place == "leave.md, 'Leave'"


def test_a_notebook_shows_a_rewrite() -> None:
    queries = (Query("green tea"), Query(HOSTILE, 0.5, search="dense", source="themes"))
    page = Rewrite(queries, {HOSTILE: 3})._repr_html_()
    for text in ("green tea", "0.5", "dense", "themes", "Trace"):
        assert text in page
    assert "Fell back" not in page
    assert "<script" not in page
    assert "Fell back" in Rewrite.of("tea", fallback=HOSTILE)._repr_html_()


def test_a_notebook_shows_evidence() -> None:
    passage = Passage("tea", "Green tea.", HOSTILE)
    items = [EvidenceItem(n, passage, HOSTILE, hint=n == 2) for n in range(1, 13)]
    page = Evidence(tuple(items), {"saved": HOSTILE})._repr_html_()
    assert "12 passages, the first 10" in page
    assert ">[10]</td>" in page
    assert ">[11]</td>" not in page
    assert page.count(">hint</td>") == 1
    assert "<script" not in page
    assert "0 passages" in Evidence()._repr_html_()
