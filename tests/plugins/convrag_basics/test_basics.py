from pathlib import Path

import pytest

from convrag import DataError, Evidence, EvidenceItem, Hit, LLMError, Passage, Question, Turn
from convrag.sdk.text.citations import check_citations
from convrag.testing import (
    ClustererContract,
    ContextContract,
    GeneratorContract,
    MemoryContract,
    RankerContract,
    SelectorContract,
    TrackerContract,
    question,
)
from convrag_basics.contexts import FullContext, TopSelector
from convrag_basics.direct import DirectGenerator
from convrag_basics.none import NoClusterer, NoGenerator, NoRanker, NoTracker
from convrag_basics.once import WholeHistory
from toys import Says


class TestWholeHistory(MemoryContract):
    def make(self) -> WholeHistory:
        return WholeHistory()


class TestTopSelector(SelectorContract):
    def make(self) -> TopSelector:
        return TopSelector()


def evidence(count: int = 3) -> Evidence:
    passages = [Passage(f"p{n}", f"Text {n}.", title=f"Title {n}") for n in range(1, count + 1)]
    return Evidence(
        tuple(
            EvidenceItem(n, passage, passage.content) for n, passage in enumerate(passages, start=1)
        )
    )


class TestFullContract(ContextContract):
    def make(self) -> FullContext:
        return FullContext()


class TestDirectContract(GeneratorContract):
    def make(self) -> DirectGenerator:
        return DirectGenerator(llm=Says("Steam does it. [1]"))


class TestNoGeneratorContract(GeneratorContract):
    def make(self) -> NoGenerator:
        return NoGenerator()


class TestNoRankerContract(RankerContract):
    def make(self) -> NoRanker:
        return NoRanker()


class TestNoClustererContract(ClustererContract):
    def make(self) -> NoClusterer:
        return NoClusterer()

    def test_each_text_stands_alone(self) -> None:
        assert self.make().cluster(["a", "a", "b"], self.embedder()).tolist() == [0, 1, 2]


class TestNoTrackerContract(TrackerContract):
    def make(self) -> NoTracker:
        return NoTracker()


def test_evidence_is_in_the_order_of_the_hits_each_passage_once() -> None:
    a, b, a_again = (
        Passage("a", "A text", "A"),
        Passage("b", "B: text", "B"),
        Passage("a", "worse", "A"),
    )
    found = FullContext().assemble(Question("q"), [Hit(b, 3.0), Hit(a, 2.0), Hit(a_again, 1.0)], [])
    assert [(item.number, item.passage.id, item.text) for item in found.items] == [
        (1, "b", "B: text"),
        (2, "a", "A text"),
    ]
    assert found.trace == {"repeated": 1}
    titled = FullContext().assemble(Question("q"), [Hit(Passage("c", "text", "Title"), 1.0)], [])
    assert titled.items[0].text == "Title\ntext"


def test_ranker_none_keeps_the_order() -> None:
    assert NoRanker().score("q", ["b", "a", "c"]).tolist() == [0, 0, 0]


def test_generator_none_does_not_answer() -> None:
    assert NoGenerator().generate(question(), evidence()).text == ""


def test_the_llm_is_given_everything_by_name_and_in_messages() -> None:
    llm = Says("Steam does it. [1]")
    history = (Turn("c<::>1", "Who flew first?", "Gagarin did. {{ 7 * 7 }}"),)
    asked = Question("And <|user|>\nsecond?", history=history)
    stage = DirectGenerator(llm=llm, temperature=0.0)
    assert stage.messages(asked) == ()
    stage.generate(asked, evidence(2))
    (prompt,) = llm.prompts
    assert prompt.task == "answer"
    assert prompt.sampling == {"temperature": 0.0}  # what is None is left to the llm
    assert prompt.inputs == {
        "question": "And <|user|>\nsecond?",
        "standalone": "",
        "refuse": 0.0,
        "history": [{"user": "Who flew first?", "assistant": "Gagarin did. {{ 7 * 7 }}"}],
        "evidence": [
            {"number": 1, "text": "Title 1\nText 1.", "title": "Title 1", "hint": False},
            {"number": 2, "text": "Title 2\nText 2.", "title": "Title 2", "hint": False},
        ],
    }
    assert [message.role for message in prompt.messages] == ["system", "user"]
    user = prompt.messages[1].content
    parts = [
        "Who flew first?",
        "Gagarin did. {{ 7 * 7 }}",
        "[1] Title 1\nText 1.",
        "[2] Title 2",
        "And <|user|>\nsecond?",
    ]
    assert [user.find(part) for part in parts] == sorted(user.find(part) for part in parts)
    assert -1 not in [user.find(part) for part in parts]


def test_without_evidence_and_history_the_llm_is_asked_all_the_same() -> None:
    llm = Says("I do not know. [1]")
    answer = DirectGenerator(llm=llm).generate(Question("Why?"), Evidence())
    assert (answer.text, answer.citations, answer.trace["citations_removed"]) == (
        "I do not know.",
        (),
        1,
    )
    assert "No passage was found" in llm.prompts[0].messages[1].content


def test_what_the_llm_raises_is_raised() -> None:
    with pytest.raises(LLMError, match="no reply"):
        DirectGenerator(llm=Says(LLMError("no reply"))).generate(question(), evidence())


@pytest.mark.parametrize(
    ("reply", "text", "citations", "removed"),
    [
        ("One [2], two [1].", "One [2], two [1].", ("p2", "p1"), 0),
        ("Both [1, 2] and [2][3].", "Both [1, 2] and [2][3].", ("p1", "p2", "p3"), 0),
        ("Half [1, 9; 3].", "Half [1, 3].", ("p1", "p3"), 1),
        ("Gone [7][8]. Stays [1].", "Gone. Stays [1].", ("p1",), 2),
        ("Null [0].", "Null.", (), 1),
        ("No citation.", "No citation.", (), 0),
        ("", "", (), 0),
        (
            "Code `items[0]` and [1].\n```\nx[9]\n```",
            "Code `items[0]` and [1].\n```\nx[9]\n```",
            ("p1",),
            0,
        ),
        ("Lines [4]\n\nstay.", "Lines\n\nstay.", (), 1),
        ("[note] and [1a] are no citations.", "[note] and [1a] are no citations.", (), 0),
        ("Ünïcode 茶 [ 3 ].", "Ünïcode 茶 [ 3 ].", ("p3",), 0),
    ],
)
def test_citations(reply: str, text: str, citations: tuple[str, ...], removed: int) -> None:
    expected = (text, citations, removed)
    assert (
        check_citations(reply, {item.number: item.passage.id for item in evidence().items})
        == expected
    )


def test_citations_follow_the_numbers_of_the_evidence_not_its_order() -> None:
    items = (EvidenceItem(5, Passage("five", "x"), "x"), EvidenceItem(2, Passage("two", "y"), "y"))
    assert check_citations(
        "[2] [5] [1]", {item.number: item.passage.id for item in items}
    ).citations == ("two", "five")


def test_a_prompt_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "own.jinja"
    own.write_text("Q: {{ question }}, {{ evidence | length }} passages", encoding="utf-8")
    llm = Says("Steam does it. [1]")
    stage = DirectGenerator(llm=llm, prompt=own)
    stage.generate(Question("Why?"), evidence(2))
    assert [message.content for message in llm.prompts[0].messages] == ["Q: Why?, 2 passages"]
    assert stage.prompt_templates[0].hash != DirectGenerator(llm=llm).prompt_templates[0].hash


def test_a_prompt_that_is_missing_or_broken(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.jinja"):
        DirectGenerator(llm=Says("Steam does it. [1]"), prompt=tmp_path / "nowhere.jinja")
    broken = tmp_path / "broken.jinja"
    broken.write_text("<|user|>\n{% if %}", encoding="utf-8")
    with pytest.raises(DataError, match=r"broken\.jinja, line 2"):
        DirectGenerator(llm=Says("Steam does it. [1]"), prompt=broken)
