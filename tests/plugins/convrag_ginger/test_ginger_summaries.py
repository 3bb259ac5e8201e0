import pytest

from convrag import LLM, Nugget
from convrag.testing import SummarizerContract
from convrag_ginger.length_limit import count_words
from convrag_ginger.summarizer import LlmSummarizer
from ginger_toys import COFFEE, NAMES, TEA, Broken, Fixed, answer, ginger, said


class TestSummarizerContract(SummarizerContract):
    def make(self) -> LlmSummarizer:
        return LlmSummarizer(llm=Fixed("Steam whistles."))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Ann drinks tea. Bob does not.", "Ann drinks tea."),
        ('"Ann drinks tea."', "Ann drinks tea."),
        ("\nSummary: Ann drinks tea [1].", "Ann drinks tea."),
        ("- **Ann drinks tea.**", "Ann drinks tea."),
        ("Ann has tea and mint, which is what Ann drinks all day.", "Ann has tea and mint."),
        ("", "Ann drinks tea and mint."),
        ("```", "Ann drinks tea and mint."),
    ],
)
def test_summaries_are_one_short_sentence(reply: str, expected: str) -> None:
    nugget = Nugget("Ann drinks tea [12] and mint.", "p", 0, 29)
    llm = Fixed(reply)
    assert LlmSummarizer(llm=llm).summarize("Who drinks?", [nugget], 8) == expected
    prompt = llm.prompts[0]
    assert prompt.inputs == {
        "question": "Who drinks?",
        "nuggets": ["Ann drinks tea and mint."],
        "words": 8,
    }
    assert prompt.sampling == {"temperature": 0.0, "max_tokens": 100}


def test_an_empty_reply_quotes_one_sentence() -> None:
    nugget = Nugget("Ann drinks tea. Bob does not.", "p", 0, 29)
    assert said("").summarize("Who?", [nugget], 35) == "Ann drinks tea."


def test_nothing_to_summarise_costs_nothing() -> None:
    assert LlmSummarizer(llm=Broken()).summarize("Who?", [], 8) == ""


def test_a_better_second_sentence_is_taken() -> None:
    llm = Fixed(lambda prompt: "Seven people are in it." if prompt.attempt else NAMES)
    texts = [Nugget(NAMES, "p", 0, len(NAMES)), Nugget("Seven people are in it.", "p", 90, 112)]
    assert LlmSummarizer(llm=llm).summarize("Who?", texts, 9) == "Seven people are in it."


def test_an_unsupported_summary_is_asked_for_again() -> None:
    llm = Fixed(lambda prompt: "Ann drinks tea." if prompt.attempt else "Ann drinks 5 teas.")
    found = answer(ginger(summarizer=LlmSummarizer(llm=llm)), "Ann drinks green tea.")
    assert (found.text, found.trace["reduced"]) == ("Ann drinks tea. [1]", 0)
    assert llm.prompts[1].messages[-1].content.startswith("The pieces do not say: 5. ")


def test_fluency_keeps_citations() -> None:
    llm = Fixed("Ann drinks tea that is green.\n\n- While Bob roasts his coffee.")
    found = answer(ginger(llm=llm, fluency=True), TEA, COFFEE)
    assert found.text == "Ann drinks tea that is green. [1] While Bob roasts his coffee. [2]"
    assert (found.citations, found.trace["fluency"]) == (("p1", "p2"), "on")
    assert llm.prompts[0].inputs["text"] == "Ann drinks green tea.\nBob roasts coffee."


@pytest.mark.parametrize(
    ("llm", "kept"),
    [
        (Fixed("One line for two."), "kept: the reply has 1 lines for 2 sentences"),
        (Broken(), "kept: down"),
        (Fixed(f"Ann drinks {'green ' * 40}tea.\nZebras live in 7 zoos."), "on"),
        (Fixed("Ann drinks tea. It is green.\nBob roasts coffee. Bob does."), "on"),
    ],
)
def test_what_makes_it_worse_is_not_taken(llm: LLM, kept: str) -> None:
    found = answer(ginger(llm=llm, fluency=True), TEA, COFFEE)
    assert found.text == "Ann drinks green tea. [1] Bob roasts coffee. [2]"
    assert found.trace["fluency"] == kept


def test_rephrasing_keeps_the_limit_of_the_whole_answer() -> None:
    """17 sentences of 23 words are 391, so that of those that are to get a word more only nine may
    have it.
    """
    texts = [f"Person{n} has {'a ' * 19}thing{n} too." for n in range(30)]
    llm = Fixed(lambda prompt: prompt.inputs["text"].replace("too.", "as well."))
    found = answer(ginger(llm=llm, res_length_limit=100, fluency=True), *texts)
    assert (found.text.count("too."), found.text.count("as well.")) == (8, 9)
    assert count_words([found.text]) == 400


def test_an_unanswerable_question_is_not_rephrased() -> None:
    assert answer(ginger(llm=Broken(), fluency=True)).trace["outcome"] == "unanswerable"
