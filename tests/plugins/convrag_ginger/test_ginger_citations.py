import pytest
from hypothesis import given, settings, strategies as st

from convrag.api.answers import PassageSpan
from convrag_ginger.attribution import (
    add_citations,
    find_supporting_nuggets,
    measure_lexical_support,
)
from convrag_ginger.length_limit import count_words
from convrag_ginger.summarizer import LlmSummarizer
from ginger_toys import COFFEE, ODD, TEA, Broken, Fixed, Says, answer, ginger


def test_citations_use_the_numbers_of_the_evidence() -> None:
    found = answer(ginger(), TEA, COFFEE, first=7)
    assert found.text == "Ann drinks green tea. [7] Bob roasts coffee. [8]"
    assert found.citations == ("p7", "p8")


SAID = st.lists(
    st.sampled_from(
        [
            "Ann",
            "tea",
            "[1]",
            "[9]",
            "in 1890",
            "not",
            ".",
            "?",
            "\n",
            "- ",
            "Summary:",
            '"',
            "coffee,",
            "é",
        ]
    ),
    max_size=30,
)


@settings(max_examples=100)
@given(
    SAID,
    SAID,
    st.lists(st.sampled_from([TEA, COFFEE, ODD, "", "[1]"]), max_size=4),
    st.integers(1, 4),
)
def test_every_sentence_is_cited_and_within_the_limits_whatever_is_said(
    summary: list[str], rephrased: list[str], texts: list[str], limit: int
) -> None:
    llm = Fixed(lambda prompt: " ".join(summary if prompt.task == "summarize" else rephrased))
    summarizer = LlmSummarizer(llm=llm)
    found = answer(
        ginger(llm=llm, summarizer=summarizer, fluency=True, res_length_limit=limit, words=9),
        *texts,
    )
    sentences = found.trace.get("sentences", [])
    assert bool(sentences) == (found.trace["outcome"] != "unanswerable") == bool(found.citations)
    assert len(sentences) <= limit
    assert count_words([found.text]) <= 9 * max(limit, 1)
    assert [found.text[each.start : each.end] for each in found.support] == [
        each["text"] for each in sentences
    ]
    for support, sentence in zip(found.support, sentences, strict=True):
        assert {span.passage_id for span in support.spans} == set(sentence["passages"])
        assert set(sentence["passages"]) <= {
            f"p{number}" for number, text in enumerate(texts, start=1) if text
        }
        marks = "".join(f"[{passage[1:]}]" for passage in sorted(sentence["passages"]))
        assert f"{sentence['text']} {marks}" in found.text
        assert marks


def test_a_sentence_cites_the_nuggets_that_it_rests_on() -> None:
    texts = ["Ann drinks green tea.", "Ann grows mint.", "Ann drinks tea."]
    assert find_supporting_nuggets("Ann grows mint", texts) == [1]
    assert find_supporting_nuggets("Ann, who grows mint, drinks green tea", texts) == [0, 1]
    assert find_supporting_nuggets("Ann drinks a lot of tea", texts) == [0, 2]
    assert find_supporting_nuggets("Zebras", texts) == [0, 1, 2]


def test_the_answer_names_the_nuggets_of_each_sentence() -> None:
    generator = ginger(summarizer=Says("Ann sells cups."), few=1)
    found = answer(generator, "Ann drinks tea. Ann sells cups.", "Ann sells cups.", "Ann is old.")
    assert found.text == "Ann sells cups. [1][2]"
    (support,) = found.support
    assert (support.start, support.end) == (0, 15)
    assert support.spans == (PassageSpan("p1", 16, 31), PassageSpan("p2", 0, 15))
    assert (found.find_spans("p1"), found.find_spans("p3")) == ([(16, 31)], [])


def test_citations_are_added_in_rising_order() -> None:
    assert add_citations("A.", ["b", "a"], {"a": 1, "b": 2}) == "A. [1][2]"
    assert add_citations("A.", [], {}) == "A."


@pytest.mark.parametrize(
    ("sentence", "supported"),
    [
        ("Ann drinks two cups of tea.", True),
        ("Ann drank 2 cups of tea.", True),
        ("Ann drank 3 cups of tea.", False),
        ("Ann never drinks tea.", False),
        ("Zebras live in Africa.", False),
    ],
)
def test_support(sentence: str, supported: bool) -> None:
    assert (
        measure_lexical_support(sentence, ["Ann drinks 2 cups of tea."]).suffices(0.5) is supported
    )


def test_an_unsupported_sentence_is_reduced_to_what_its_nuggets_say() -> None:
    """It was printed with citations, and flagged in the trace alone."""
    found = answer(ginger(summarizer=Says("Ann drinks 5 litres.")), "Ann drinks tea.")
    assert found.text == "Ann drinks tea. [1]"
    (sentence,) = found.trace["sentences"]
    assert (sentence["supported"], found.trace["reduced"], found.trace["left_out"]) == (True, 1, 0)


def test_an_unsupported_sentence_may_be_left_out_or_kept() -> None:
    found = answer(
        ginger(summarizer=Says("Ann drinks 5 litres."), unsupported="drop"), "Ann drinks tea."
    )
    assert (found.text, found.citations) == ("I could not find this in the passages.", ())
    assert found.trace["left_out"] == 1
    found = answer(
        ginger(summarizer=Says("Ann drinks 5 litres."), unsupported="keep"), "Ann drinks tea."
    )
    (sentence,) = found.trace["sentences"]
    assert (sentence["text"], sentence["supported"], sentence["unknown"]) == (
        "Ann drinks 5 litres.",
        False,
        ("5",),
    )


@pytest.mark.parametrize(
    ("reply", "supported", "checked_by"),
    [("Yes.", True, "llm"), ("no", False, "llm"), ("?", True, "words")],
)
def test_an_llm_may_judge(reply: str, supported: bool, checked_by: str) -> None:
    llm = Fixed(reply)
    generator = ginger(llm=llm, check="llm", unsupported="keep")
    (sentence,) = answer(generator, "Ann drinks tea.").trace["sentences"]
    assert (sentence["supported"], sentence["checked"]) == (supported, checked_by)
    assert [prompt.task for prompt in llm.prompts] == ["support"]
    (sentence,) = answer(ginger(llm=Broken(), check="llm"), "Ann drinks tea.").trace["sentences"]
    assert sentence["checked"] == "words"
