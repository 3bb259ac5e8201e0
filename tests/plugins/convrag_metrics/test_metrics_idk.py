from typing import get_args

import pytest
from hypothesis import given, strategies as st

from convrag import Answer, TurnRecord
from convrag_metrics.idk import Idk, detect_idk, detect_idk_answer

NOT_KNOWING = [
    "I don't know.",
    "I DO NOT KNOW",
    "I'm sorry, but I don't have the answer to your question.",
    "Sorry, I cannot find a response to that question in the document.",
    "The passages do not answer this question.",
    "The provided documents do not contain any information about that. Please consult the official website.",
    "There is no information about this in the context.",
    "No relevant documents were found.",
    "That is not mentioned in the documents.",
    "The question cannot be answered from the given passages.",
    "Unfortunately, I’m unable to provide that. Let me know if you have other questions!",
    "I do not have specific information about the schedule. However, I can suggest checking the official website.",
    "As of now, I don't have access to real-time data. You may want to check a weather service.",
    "I don't know [1].",
    "While the documents discuss cats, they do not contain information about dogs.",
    "UNANSWERABLE",
    "I do not know. The passages discuss the history of tea and the making of kettles.",
    "The documents do not mention fares. Instead, they focus on the routes of ferries.",
    "The text does not say who won. It is about the rules of the game.",
    "",
]
KNOWING = [
    "It is 384,400 kilometres away.",
    "No, it expanded.",
    "There is no data limit.",
    "There is no limit on the size of documents.",
    "Guinea pigs cannot synthesize vitamin C but must obtain it from their diet.",
    "Applicants do not have to provide documents.",
    "The documents do not have to be signed.",
    "The Romans did not consistently use a specific system for numbering the years.",
    "Knowledge is power; the unknown is not.",
    "He was not sure of himself, and the public did not know him.",
]
PARTLY = [
    "I do not have specific figures. The population rose to 300 million by 1920.",
    "The similar series are Arrested Development and Community but the document does not state which came first.",
    "Although I do not have information about its exact meaning, the song tells the story of a heartbreak.",
    "It was invented in 1793, but I have no information as to where.",
    "The text does not mention the exact place. However, it does mention that the dam is on the west branch.",
    "I have no figures. The passages describe how the lid lets steam out.",
]


@pytest.mark.parametrize("text", NOT_KNOWING)
def test_idk_answers(text: str) -> None:
    assert detect_idk(text) == "yes"


@pytest.mark.parametrize(
    "text", ["You're welcome! Let me know if you have any other questions.", "Thank you!"]
)
def test_courtesies(text: str) -> None:
    assert detect_idk(text) == "courtesy"


@pytest.mark.parametrize("text", KNOWING)
def test_other_answers(text: str) -> None:
    assert detect_idk(text) == "no"


@pytest.mark.parametrize("text", PARTLY)
def test_partly_idk_answers(text: str) -> None:
    assert detect_idk(text) == "partly"


@given(st.text())
def test_any_text_has_a_result(text: str) -> None:
    assert detect_idk(text) in get_args(Idk)


@pytest.mark.parametrize("text", NOT_KNOWING + PARTLY)
def test_case_does_not_matter(text: str) -> None:
    assert detect_idk(text.upper()) == detect_idk(text.lower()) == detect_idk(text)


def test_the_outcome_of_the_generator_counts() -> None:
    for outcome, text, expected in [
        ("unanswerable", "Leider nein.", "yes"),
        ("single", "It is far.", "no"),
    ]:
        trace = {"generator": {"outcome": outcome}}
        record = TurnRecord("c", "t", "d", 1, "?", answer=Answer(text), trace=trace)
        assert detect_idk_answer(record) == expected
