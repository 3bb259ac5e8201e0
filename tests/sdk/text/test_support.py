"""How far passages support the sentences of an answer, by the words in common."""

import pytest

from convrag import Answer, Evidence, EvidenceItem, Passage, TurnRecord
from convrag.sdk.text.support import find_unsupported, judge_sentences, measure_coverage

MOON = "The Moon is 384,400 kilometres away. It has no air. Laika never saw it. Apollo 11 landed there in 1969."


def test_a_sentence_is_supported_by_sentences_that_stand_together() -> None:
    answer = "Apollo 11 landed there in 1969. The kettle landed in Bombay [1]."
    first, second = judge_sentences(answer, [MOON])
    assert answer[first.start : first.end] == "Apollo 11 landed there in 1969."
    assert (first.support, first.supported, second.supported) == (1.0, True, False)
    assert answer[second.start : second.end].startswith("The kettle")
    apart = "The Moon landed in 1969. "  # the words of two sentences that do not stand within three
    assert judge_sentences(apart, [MOON])[0].support < 1


def test_words_of_the_question_support_nothing() -> None:
    answer = "The Moon is made of cheese."
    assert (
        judge_sentences(answer, [MOON])[0].support
        == judge_sentences(answer, [MOON], "Is the Moon far?")[0].support
    )
    assert not judge_sentences(answer, [MOON], "What is the Moon?")[0].supported


@pytest.mark.parametrize("answer", ["", "[1]", "It is so.", "???"])
def test_an_answer_without_content_words_has_no_sentences(answer: str) -> None:
    assert judge_sentences(answer, [MOON]) == []


def test_coverage_is_of_what_the_passages_say_about_the_question() -> None:
    question = "How far is the Moon?"
    assert measure_coverage("The Moon is 384,400 kilometres away [1].", [MOON], question) == 1.0
    assert measure_coverage("Bees make honey.", [MOON], question) == 0.0
    assert 0 < measure_coverage("It has no air.", [MOON], "Who brews ale?") < 1


def test_unsupported_sentences_of_a_turn() -> None:
    def turn(answer: str, *texts: str, outcome: str = "answered") -> TurnRecord:
        items = tuple(
            EvidenceItem(n, Passage(f"p{n}", text), text) for n, text in enumerate(texts, 1)
        )
        trace = {"generator": {"outcome": outcome}}
        return TurnRecord(
            "c", "t", "d", 1, "Why?", evidence=Evidence(items), answer=Answer(answer), trace=trace
        )

    assert find_unsupported(turn("It has no air. Bees make honey.", MOON)) == [(15, 31)]
    assert find_unsupported(turn("Bees make honey.")) == []
    assert find_unsupported(turn("The sources do not say.", MOON, outcome="unanswerable")) == []


def test_a_sentence_from_the_text_around_a_passage_is_supported() -> None:
    item = EvidenceItem(1, Passage("p", MOON), f"{MOON} Bees make honey in the hive.")
    answer = Answer("Bees make honey in the hive [1].", ("p",))
    record = TurnRecord(
        "c", "c<::>1", "default", 1, "What do bees do?", evidence=Evidence((item,)), answer=answer
    )
    assert find_unsupported(record) == []
