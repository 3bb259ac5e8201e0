from collections.abc import Sequence

from hypothesis import given, strategies as st

from convrag.api.passages import Nugget
from convrag_ginger.length_limit import LengthLimit, count_words, join_sentences
from convrag_ginger.summarizer import LlmSummarizer
from ginger_toys import COFFEE, NAMES, TEA, First, Fixed, answer, ginger


@given(st.integers(1, 6), st.integers(8, 40), st.integers(1, 12))
def test_limits_hold(limit: int, words: int, persons: int) -> None:
    texts = [
        f"Person{n} has {'very ' * (n % 5)}old, which {'is so and ' * 14}that is thing{n}."
        for n in range(persons)
    ]
    llm = Fixed(lambda prompt: prompt.inputs["nuggets"][0])
    found = answer(
        ginger(res_length_limit=limit, words=words, summarizer=LlmSummarizer(llm=llm)), *texts
    )
    assert 0 < count_words([found.text]) <= limit * words
    assert len(found.trace["sentences"]) == min(limit, persons)
    assert all(len(sentence["text"].split()) <= words for sentence in found.trace["sentences"])
    assert all(
        sentence["text"].endswith(("old.", f"thing{n}."))
        for n, sentence in enumerate(found.trace["sentences"])
    )


def test_a_hundred_means_four_hundred_words() -> None:
    texts = [f"Person{n} has {'a ' * 30}thing{n}." for n in range(30)]
    found = answer(ginger(res_length_limit=100), *texts)
    assert (len(found.trace["sentences"]), count_words([found.text])) == (12, 396)


def test_a_sentence_is_not_said_twice() -> None:
    class Same(First):
        def summarize(self, query: str, nuggets: Sequence[Nugget], words: int) -> str:
            return (
                "Somebody drinks tea."
                if "green" not in nuggets[0].text
                else "Ann drinks green tea."
            )

    found = answer(ginger(summarizer=Same(), few=9, unsupported="keep"), TEA, COFFEE)
    assert [sentence["text"] for sentence in found.trace["sentences"]] == [
        "Ann drinks green tea.",
        "Somebody drinks tea.",
    ]


def test_a_list_of_names_is_not_cut() -> None:
    """It stood as "The members of the band are Ann, Bob, Carl" in the answer."""
    assert (
        answer(ginger(words=9, res_length_limit=2), NAMES).text == f"{NAMES} [1]"
    )  # the answer has room for it
    assert (
        answer(ginger(words=9, res_length_limit=1), f"{NAMES} The band is old.").text
        == "The band is old. [1]"
    )
    llm = Fixed(NAMES)
    texts = [Nugget(NAMES, "p", 0, len(NAMES)), Nugget("The band is old.", "p", 90, 106)]
    assert LlmSummarizer(llm=llm).summarize("Who?", texts, 9) == "The band is old."
    assert [prompt.attempt for prompt in llm.prompts] == [0, 1]
    assert llm.prompts[1].messages[-1].content.startswith("Your sentence has 16 words. ")


def test_an_index_in_code_is_a_word() -> None:
    assert count_words(["Use `items [0]` here. [1]"]) == 4


def test_joining_sentences() -> None:
    assert join_sentences(["A. [1]", "b [2]", "C!"]) == "A. [1] b [2]\nC!"


def test_an_answer_is_truncated_between_sentences() -> None:
    """A citation that would be cut off moves to the sentence before it."""
    limit = LengthLimit.of(2, 10)
    text = "One two. [1] Three four. [2][3] Five six. [4]"
    assert limit.truncate_answer(text) == "One two. [1] Three four. [2][3]"
    assert limit.truncate_answer("One two. Three four. Five six. [4]") == "One two. Three four. [4]"
    text = "No mark [1]\nSecond line [2]\nThird"
    assert limit.truncate_answer(text) == "No mark [1]\nSecond line [2]"
    assert limit.truncate_answer("") == ""
    assert LengthLimit.of(1, 35).truncate_answer("1. Open the lid. [2]") == "1. Open the lid. [2]"


def test_a_sentence_that_is_too_long_loses_clauses_or_makes_room_for_another() -> None:
    text = "Two is one, but four is five [1]. Six."
    assert LengthLimit.of(1, 4).truncate_answer(text) == "Two is one. [1]"
    text = "One two, three four five [1]. Six."
    assert LengthLimit.of(1, 3).truncate_answer(text) == "Six."
    assert LengthLimit.of(1, 3).truncate_answer("One two, three four five.") == ""


def test_an_index_in_code_is_not_a_citation_of_a_truncated_answer() -> None:
    text = "It is `items[0]`, which may be fine [1]."
    assert LengthLimit.of(1, 3).truncate_answer(text) == "It is `items[0]`. [1]"
    text = "Ann drinks tea. Use `items[1]`. Bob. [2]"
    assert LengthLimit.of(1, 5).truncate_answer(text) == "Ann drinks tea. [2]"
