"""generator=drafts: spans, the decision, drafts and votes, and what becomes of a turn where a step fails."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convrag import (
    LLM,
    Answer,
    Completion,
    ConfigError,
    DataError,
    Evidence,
    EvidenceItem,
    LLMError,
    Passage,
    Pipeline,
    Prompt,
    Question,
    Turn,
)
from convrag.sdk.errors import RunStopped
from convrag.sdk.types import PassageSpan
from convrag.testing import GeneratorContract
from convrag_drafts.generator import DraftsGenerator

MOON = Passage("moon", "The Moon is 384,400 km away. It has no air.\nIts phases last a month.", "Moon")
MARS = Passage("mars", "Mars is red. Mars is farther away than the Moon.", "Mars")
EVIDENCE = Evidence(tuple(EvidenceItem(n, each, each.content) for n, each in ((4, MOON), (7, MARS))))
QUESTION = Question(
    "How far away?", standalone="How far away is the Moon?", history=(Turn("1", "Is the Moon dry?", "It is. [4]"),)
)

Reply = str | Exception | Callable[[Prompt], str]


def spans(*quotes: tuple[int, str], answered: str = "full", asks: bool = True) -> str:
    return json.dumps(
        {"asks": asks, "answered": answered, "spans": [{"passage": n, "quote": quote} for n, quote in quotes]}
    )


FOUND = spans((4, "The Moon is 384,400 km away."), (7, "Mars is farther away than the Moon"))
REPLIES: dict[str, Reply] = {
    "spans": FOUND,
    "draft_spans": "It is 384,400 km away [1], nearer than Mars. [2] [2]",
    "draft_passages": "384,400 km. [4][9]",
    "choose": '{"better": "tie"}',
    "reply": "You're welcome!",
}


class Scripted(LLM):
    """Replies to each task as it is told; a list is taken one by one, the last one for ever."""

    def __init__(self, **replies: Reply | list[Reply]) -> None:
        self.replies = {**REPLIES, **replies}
        self.prompts: list[Prompt] = []

    @property
    def tasks_asked(self) -> list[str]:
        return [prompt.task for prompt in self.prompts]

    def complete(self, prompt: Prompt) -> Completion:
        planned = self.replies[prompt.task]
        if isinstance(planned, list):
            planned = planned[min(self.tasks_asked.count(prompt.task), len(planned) - 1)]
        self.prompts.append(prompt)
        if isinstance(planned, Exception):
            raise planned
        return Completion(planned if isinstance(planned, str) else planned(prompt), model="scripted")

    def count_tokens(self, text: str) -> int:
        return len(text.split())


def ask(llm: LLM, evidence: Evidence = EVIDENCE, **parameters: Any) -> Answer:
    return DraftsGenerator(llm=llm, **parameters).generate(QUESTION, evidence)


def prefer(source: str) -> Callable[[Prompt], str]:
    """A judge that prefers the draft from the spans or that from the passages, wherever it stands."""
    word = "nearer" if source == "spans" else "384,400 km."

    def choose(prompt: Prompt) -> str:
        return json.dumps({"better": "A" if word in prompt.inputs["first"] else "B"})

    return choose


class TestDraftsContract(GeneratorContract):
    def make(self) -> DraftsGenerator:
        def quote(prompt: Prompt) -> str:
            return spans(
                *((item["number"], (item["text"].splitlines() or [""])[-1]) for item in prompt.inputs["evidence"])
            )

        return DraftsGenerator(llm=Scripted(spans=quote, draft_spans="Tea is hot. [1]", draft_passages="Tea. [1]"))


def test_the_draft_from_spans_cites_passages_and_names_its_spans() -> None:
    llm = Scripted()
    found = ask(llm)
    assert found.text == "It is 384,400 km away [4], nearer than Mars. [7]"
    assert found.citations == ("moon", "mars")
    assert [(found.text[each.start : each.end], each.spans) for each in found.support] == [
        ("It is 384,400 km away", (PassageSpan("moon", 0, 28),)),
        ("nearer than Mars.", (PassageSpan("mars", 13, 47),)),
    ]
    assert llm.tasks_asked == ["spans", "draft_spans", "draft_passages", *["choose"] * 4]
    trace = found.trace
    assert (trace["outcome"], trace["query"], trace["failures"]) == ("answered", "How far away is the Moon?", {})
    assert trace["spans"][0] == {"passage": 4, "start": 0, "end": 28, "text": "The Moon is 384,400 km away."}
    expected = {"decision": "answerable", "verdict": 1.0, "coverage": pytest.approx(2 / 3), "passages": 1.0}
    assert trace["answerability"] == expected
    assert [(each["from"], each["text"], each["chosen"]) for each in trace["drafts"]] == [
        ("spans", found.text, True),
        ("passages", "384,400 km. [4]", False),
    ]
    assert [(vote["criterion"], vote["first"], vote["better"]) for vote in trace["votes"]] == [
        ("support", "spans", "tie"),
        ("support", "passages", "tie"),
        ("completeness", "spans", "tie"),
        ("completeness", "passages", "tie"),
    ]
    json.dumps(trace)


def test_each_prompt_has_what_its_step_needs() -> None:
    llm = Scripted()
    DraftsGenerator(llm=llm).generate(
        Question(QUESTION.text, history=QUESTION.history, standalone=QUESTION.standalone, profile=("I am on Mars.",)),
        EVIDENCE,
    )
    shown = {prompt.task: "\n".join(message.content for message in prompt.messages) for prompt in llm.prompts}
    for task, text in shown.items():
        assert "How far away?" in text, task
        assert "How far away is the Moon?" in text, task
        assert "Is the Moon dry?" in text, task
        assert ("I am on Mars." in text) == (task != "choose"), task
    assert "[4] Moon\nThe Moon is" in shown["spans"]
    assert "[1] (Moon) The Moon is 384,400 km away.\n" in shown["draft_spans"]
    assert "It has no air" not in shown["draft_spans"]
    assert "It has no air" in shown["draft_passages"]
    assert "Answer B:\nIt is 384,400 km away [4]" in shown["choose"]  # the last one: the second order


@pytest.mark.parametrize(
    ("judge", "votes", "chosen", "asked"),
    [
        (prefer("spans"), 4, "spans", 2),  # the two votes that are left could only make it a tie
        (prefer("passages"), 4, "passages", 3),
        (prefer("passages"), 1, "passages", 1),
        (prefer("passages"), 6, "passages", 4),
        ('{"better": "A"}', 4, "spans", 3),  # whatever stands first: 1 to 1, 2 to 1, and one vote is left
        ('{"better": "B"}', 4, "spans", 4),
        ('{"better": "tie"}', 6, "spans", 6),
    ],
)
def test_the_majority_chooses(judge: Reply, votes: int, chosen: str, asked: int) -> None:
    llm = Scripted(choose=judge)
    found = ask(llm, votes=votes)
    assert next(each["from"] for each in found.trace["drafts"] if each["chosen"]) == chosen
    assert bool(found.support) == (chosen == "spans")
    assert found.text.startswith("It is" if chosen == "spans" else "384,400 km. [4]")
    firsts = [prompt.inputs["first"] for prompt in llm.prompts if prompt.task == "choose"]
    assert len(set(firsts)) == min(2, votes)


def test_another_model_may_judge() -> None:
    writer, judge = Scripted(choose=LLMError("unused")), Scripted(choose=prefer("passages"))
    found = ask(writer, judge=judge)
    assert found.text == "384,400 km. [4]"
    assert (set(judge.tasks_asked), "choose" in writer.tasks_asked) == ({"choose"}, False)


def test_equal_drafts_need_no_vote() -> None:
    llm = Scripted(draft_spans="It is far. [1]", draft_passages="It is far. [4]")
    assert ask(llm).text == "It is far. [4]"
    assert "choose" not in llm.tasks_asked


# What is not answered ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply", [spans(answered="none"), spans(answered="full"), spans((4, "no air"), answered="none")]
)
def test_without_evidence_there_is_no_answer(reply: str) -> None:
    llm = Scripted(spans=reply)
    found = ask(llm, unanswerable="No idea.")
    assert (found.text, found.citations, found.support) == ("No idea.", (), ())
    assert found.trace["outcome"] == "unanswerable"
    assert llm.tasks_asked == ["spans"]


def test_a_part_is_answered_as_such() -> None:
    llm = Scripted(spans=spans((4, "It has no air"), answered="part"))
    assert ask(llm).trace["outcome"] == "partial"
    drafts = [prompt for prompt in llm.prompts if prompt.task.startswith("draft")]
    assert all("part" in prompt.messages[0].content for prompt in drafts)
    assert [prompt.inputs["partial"] for prompt in drafts] == [True, True]


def test_where_nothing_is_asked_the_reply_is_a_courtesy() -> None:
    llm = Scripted(spans=spans((4, "It has no air"), asks=False))
    found = ask(llm)
    assert (found.text, found.citations, found.trace["outcome"]) == ("You're welcome!", (), "conversational")
    assert llm.tasks_asked == ["spans", "reply"]


# What models get wrong --------------------------------------------------------------------------------------------


def test_quotations_are_looked_up_and_others_dropped() -> None:
    quotes = [
        (4, "the moon is  384,400 KM away"),
        (4, "It has no air"),
        (4, "has no air"),  # within the one before
        (7, "The Moon is 384,400 km away."),  # of another passage
        (4, "It is made of cheese"),
        (5, "Mars is red."),  # there is no passage 5
        (-1, ""),
    ]
    found = ask(Scripted(spans=spans(*quotes)))
    assert [each["text"] for each in found.trace["spans"]] == ["The Moon is 384,400 km away", "It has no air"]
    assert found.trace["spans_dropped"] == 4
    assert all(MOON.text[each["start"] : each["end"]] == each["text"] for each in found.trace["spans"])


NOTHING_QUOTED = spans((4, "It is made of cheese"))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (LLMError("down"), "down"),
        ("no JSON", "cannot be read"),
        ("", "cannot be read"),
        ('{"answered": "maybe", "spans": []}', "answered"),
        ('{"answered": "full", "spans": [{"quote": "x"}]}', "passage"),
        ('{"answered": "full"}', "spans"),
        (NOTHING_QUOTED, "none of the 1 quotations"),
        (json.dumps({"answered": "full", "spans": [{"passage": 4, "quote": "air"}] * 101}), "100"),
    ],
)
def test_without_spans_the_draft_from_the_passages_is_the_answer(reply: Reply, reason: str) -> None:
    llm = Scripted(spans=reply)
    found = ask(llm)
    assert (found.text, found.citations, found.support) == ("384,400 km. [4]", ("moon",), ())
    assert reason in found.trace["failures"]["spans"]
    assert found.trace["answerability"]["decision"] == "unknown"
    assert found.trace["citations_removed"] == 1
    assert {"draft_spans", "choose"}.isdisjoint(llm.tasks_asked)


@pytest.mark.parametrize("reply", [LLMError("down"), "", " \n", "..."])
def test_a_draft_that_fails_leaves_the_other(reply: Reply) -> None:
    one, other = ask(Scripted(draft_spans=reply)), ask(Scripted(draft_passages=reply))
    assert (one.text, list(one.trace["failures"])) == ("384,400 km. [4]", ["draft from spans"])
    assert (other.text[:5], list(other.trace["failures"])) == ("It is", ["draft from passages"])
    assert one.trace["votes"] == other.trace["votes"] == []
    with pytest.raises(LLMError, match="there is no draft: draft from spans: .*draft from passages"):
        ask(Scripted(draft_spans=reply, draft_passages=reply))


@pytest.mark.parametrize(
    "reply", [LLMError("down"), "", "A is better", '{"better": "C"}', '{"better": 3}', '{"winner": "A"}', '["A"]']
)
def test_a_vote_that_cannot_be_read_is_none(reply: Reply) -> None:
    found = ask(Scripted(choose=reply))
    assert found.text.startswith("It is 384,400 km")
    votes = found.trace["votes"]
    assert [vote["better"] for vote in votes] == [None] * 4
    assert list(found.trace["failures"]) == ["vote 1", "vote 2", "vote 3", "vote 4"]
    once = Scripted(choose=[reply, *[prefer("passages")] * 9])
    assert ask(once).text == "384,400 km. [4]"


def test_a_run_that_must_stop_stops() -> None:
    for task in ("spans", "draft_spans", "choose"):
        with pytest.raises(RunStopped):
            ask(Scripted(**{task: RunStopped("the limit of costs is reached")}))


def test_numbers_that_no_span_has_are_removed() -> None:
    found = ask(Scripted(draft_spans=f"It is far [1, 3][1]. Mars is red. [9] `a[1]` [{'9' * 5000}] [4]"))
    assert found.text == "It is far [4]. Mars is red. `a[1]`"
    assert (found.citations, found.trace["citations_removed"]) == (("moon",), 4)
    assert [found.text[each.start : each.end] for each in found.support] == ["It is far"]


PIECES = st.lists(
    st.sampled_from(["It is far", "[1]", "[2, 3]", "[9]", ". ", "\n- ", "`a[1]`", "Mars", "🙂", "[", "1]", "é "]),
    max_size=12,
)


@settings(max_examples=60)
@given(PIECES, PIECES, st.sampled_from(['{"better": "A"}', '{"better": "B"}', "?"]))
def test_whatever_is_said_citations_and_support_are_of_what_was_shown(one: list, other: list, vote: str) -> None:
    quoted = spans((4, "It has no air"), (4, "The Moon is 384,400 km away"), (7, "Mars is red."))
    llm = Scripted(spans=quoted, draft_spans="".join(one), draft_passages="".join(["Yes", *other]), choose=vote)
    found = ask(llm)
    assert set(found.citations) <= {"moon", "mars"}
    place = 0
    for each in found.support:
        assert place <= each.start < each.end <= len(found.text)
        place = each.end
        for span in each.spans:
            text = {"moon": MOON, "mars": MARS}[span.passage_id].text
            assert text[span.start : span.end] in ("It has no air", "The Moon is 384,400 km away", "Mars is red.")


def test_without_passages_and_with_hints() -> None:
    nothing = ask(Scripted(spans=spans(answered="none")), Evidence())
    assert (nothing.citations, nothing.trace["outcome"]) == ((), "unanswerable")
    hint = Evidence((EvidenceItem(4, MOON, "see above", hint=True),))
    llm = Scripted(spans=spans((4, "It has no air")))
    assert ask(llm, hint).trace["spans"][0]["text"] == "It has no air"
    assert "see above" not in str(llm.prompts)


# Parameters -------------------------------------------------------------------------------------------------------


def test_prompts_that_are_no_folder() -> None:
    with pytest.raises(ConfigError, match="prompts"):
        DraftsGenerator(llm=Scripted(), prompts=Path("nowhere"))


def test_prompts_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "draft_spans.jinja").write_text("Be brief: {{ question }}")
    llm = Scripted()
    ask(llm, prompts=tmp_path)
    assert llm.prompts[1].messages[-1].content == "Be brief: How far away?"
    (tmp_path / "choose.jinja").write_text("{{")
    with pytest.raises(DataError, match="no template"):
        ask(llm, prompts=tmp_path)


def test_without_a_model_every_turn_is_answered_or_refused(here: Path) -> None:
    chat = Pipeline.compose("generator=drafts", "rewriter=none")
    asked = {
        "why does the moon have phases?": "answerable",
        "how many zebras live in Paraguay?": "unanswerable",
        "Thank you very much!": "conversational",
    }
    for question, decision in asked.items():
        record = chat.turn("c", question)
        assert not record.error
        trace = record.trace["generator"]
        assert trace["answerability"]["decision"] == decision, question
        assert trace["answerability"].get("score", 0) == pytest.approx(max(hit.score for hit in record.hits))
        calls = record.usage["generator"].calls + record.usage["generator"].reused
        assert calls in {"answerable": (3, 5, 6, 7), "unanswerable": (1,), "conversational": (2,)}[decision]
    assert record.answer.text == "You're welcome."
