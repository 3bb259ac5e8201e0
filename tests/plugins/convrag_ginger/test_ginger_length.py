from collections.abc import Sequence

from hypothesis import given, strategies as st

from convrag.api.passages import Nugget
from convrag_ginger.length_limit import count_words, join_sentences
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
