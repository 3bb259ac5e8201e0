from convrag import Answer, Evidence, EvidenceItem, Passage, PromptTemplate, TurnRecord
from convrag.sdk.llm.follow_ups import suggest_follow_ups
from toys import Says

TEMPLATE = PromptTemplate("suggest", package="convrag.sdk.llm")
PASSAGES = [
    Passage("a", "...", "Tides"),
    Passage("b", "...", "Phases"),
    Passage("c", "...", "Phases"),
]
EVIDENCE = Evidence(
    tuple(EvidenceItem(n, passage, "...") for n, passage in enumerate(PASSAGES, start=1))
)
RECORD = TurnRecord(
    "c", "t", "d", 1, "Why tides?", evidence=EVIDENCE, answer=Answer("The Moon [1].", ("a",))
)


def test_each_question_is_suggested_once() -> None:
    llm = Says('1. What are phases?\n\n- "How old is it?"\n* What are phases?\n4) And then?')
    assert suggest_follow_ups(llm, TEMPLATE, RECORD, 2) == ["What are phases?", "How old is it?"]
    (prompt,) = llm.prompts
    assert prompt.messages[-1].content.count("Phases") == 1
    assert "Tides" not in prompt.messages[-1].content.partition("The answer")[2]


def test_a_number_that_begins_a_question_stays() -> None:
    llm = Says(
        "3D printing?\n1. 24 hours of what?\n**2) 1.5 volts?**\n- 7. Which one?\n• 2001 or 2010?"
    )
    said = suggest_follow_ups(llm, TEMPLATE, RECORD, 5)
    assert said == [
        "3D printing?",
        "24 hours of what?",
        "1.5 volts?",
        "Which one?",
        "2001 or 2010?",
    ]


def test_nothing_is_asked_where_there_is_nothing_to_go_on_from() -> None:
    llm = Says("What?")
    failed = TurnRecord("c", "t", "d", 1, "Why tides?", error="generator: no")
    assert (
        suggest_follow_ups(llm, TEMPLATE, failed, 3)
        == suggest_follow_ups(llm, TEMPLATE, RECORD, 0)
        == []
    )
    assert not llm.prompts
