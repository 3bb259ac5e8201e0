"""Questions that llm=extractive writes and checks by rules."""

import json
from typing import Any

import pytest

from convrag.sdk.search.frequencies import DocumentFrequencies
from convrag_offline.extractive import perform_task
from convrag_offline.question_writing import ask, find_prose, parse_sentence

PASSAGE = (
    "# Leave\n\nParental leave is paid for 16 weeks. Requests for parental leave must be submitted within ten days. "
    "They must be signed by a manager.\n\n| a | b |\n\nSee https://example.org for more about it."
)


def do(task: str, **inputs: Any) -> dict[str, Any]:
    reply: dict[str, Any] = json.loads(perform_task(task, inputs, DocumentFrequencies()))
    return reply


def propose(
    kind: str, passage: str = PASSAGE, title: str = "Handbook > Leave", **more: Any
) -> dict[str, Any]:
    given = {"style": "what", "history": [], "refused": []} | more
    return do("question", kind=kind, title=title, passage=passage, **given)


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("The daily allowance is 40 euros.", "What is the daily allowance?"),
        ("The Moon is a natural satellite of the Earth.", "What is the Moon?"),
        ("Requests must be submitted within ten days.", "When must requests be submitted?"),
        ("The bags are changed by the wood team every Thursday.", "When are the bags changed?"),
        ("The key is held by the safety team.", "What should I know about the key?"),
        ("Full membership costs 32 euros a month.", "What should I know about full membership?"),
        ("NASA was founded in 1958 as a civilian agency.", "When was NASA founded?"),
        ("Those who arrive late are asked to wait outside.", ""),
        ("In 1969, the first people were on the Moon.", ""),
        ("Nobody may use the laser without a course.", ""),
        ("Wait outside the door.", ""),
    ],
)
def test_a_sentence_gives_the_question_that_it_answers(sentence: str, question: str) -> None:
    parsed = parse_sentence(sentence, sentence)
    found = [each.format(parsed.subject) for each in ask(parsed)] if parsed else []
    assert next(iter(found), "") == question


def test_only_prose_is_asked_about() -> None:
    assert [text.split()[0] for text in find_prose(PASSAGE)] == ["Parental", "Requests", "They"]


def test_a_follow_up_puts_a_pronoun_for_what_was_asked_about() -> None:
    history = [
        {
            "user": "When must requests for parental leave be submitted?",
            "assistant": "Within ten days.",
        }
    ]
    assert propose("follow_up", history=history)["question"] == "What should I know about it?"
    refused = [{"question": "What should I know about it?", "reason": "no"}]
    follow_up = propose("follow_up", history=history, refused=refused)
    assert follow_up["question"] == "What should I know about them?"
    assert follow_up["standalone"] == "What should I know about requests for parental leave?"
    assert follow_up["quote"] == "They must be signed by a manager."


def test_a_pronoun_stands_for_what_the_sentence_before_is_about_and_nothing_else() -> None:
    """The guests were asked about; "They" are the boxes."""
    passage = "First aid boxes hang in every room beside the light switch. They are checked in March and September."
    history = [
        {
            "user": "Who are guests insured by?",
            "assistant": "Guests are insured by the association.",
        }
    ]
    assert "they" not in propose("follow_up", passage, "First aid", history=history)["question"]


def test_a_new_subject_is_asked_about_by_ellipsis() -> None:
    history = [{"user": "How much does full membership cost?", "assistant": "It costs 32 euros."}]
    found = propose(
        "follow_up", "Daytime membership costs 18 euros a month.", "Fees", history=history
    )
    assert found["question"] == "What about daytime membership?"
    assert found["standalone"] == "About Fees: what should I know about daytime membership?"


def test_a_refused_question_is_not_proposed_again_until_there_is_none() -> None:
    refused: list[dict[str, str]] = []
    while question := propose("opening", refused=refused)["question"]:
        assert question not in [each["question"] for each in refused]
        refused.append({"question": question, "reason": "no"})
    assert 1 < len(refused) < 10


@pytest.mark.parametrize(
    ("passage", "title"),
    [
        ("", ""),
        ("{} is {0} and {x}. The {} is a {0} of {x} and so on.", "{0}"),
        ("茶は八十度。", "茶"),
    ],
)
def test_a_passage_that_gives_no_question_is_no_mistake(passage: str, title: str) -> None:
    assert propose("opening", passage, title)["question"] == ""
    assert propose("follow_up", passage, title)["question"] == ""


def test_a_question_is_answered_by_the_sentence_that_covers_most_of_it() -> None:
    inputs = {"title": "Leave", "passage": PASSAGE, "history": []}
    assert do("solve", question="When must requests be submitted?", **inputs)["answer"].startswith(
        "Requests"
    )
    assert do("solve", question="What does a kettle do?", **inputs)["answer"] == ""


@pytest.mark.parametrize(
    ("answer", "other", "same"),
    [
        ("Leave is paid for 16 weeks.", "Paid leave: 16 weeks.", True),
        ("Leave is paid.", "A kettle whistles.", False),
        ("", "", False),
    ],
)
def test_answers_with_the_same_words_are_the_same(answer: str, other: str, same: bool) -> None:
    assert do("compare", question="?", answer=answer, other=other)["same"] is same


@pytest.mark.parametrize(
    ("question", "clear"),
    [
        ("When must requests be submitted?", True),
        ("When must they be submitted?", False),
        ("What about parental leave?", False),
        ("And why?", False),
        ("When?", False),
    ],
)
def test_a_question_with_a_pronoun_or_an_ellipsis_is_not_clear_alone(
    question: str, clear: bool
) -> None:
    assert do("alone", question=question)["clear"] is clear
