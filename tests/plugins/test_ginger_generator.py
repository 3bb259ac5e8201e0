from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convrag.api.errors import ConfigError, ConvragError, LLMError
from convrag.api.models import LLM, Embedder
from convrag.api.records import TurnRecord
from convrag.api.stages import Clusterer, Dataset, Detector, Ranker, Summarizer
from convrag.api.types import (
    Answer,
    Completion,
    Conversation,
    Evidence,
    EvidenceItem,
    Nugget,
    Passage,
    Prompt,
    Question,
)
from convrag.sdk.sentences import find_sentence_spans
from convrag.store.remember import remember
from convrag.store.store import Store
from convrag.testing import GeneratorContract, RankerContract, SummarizerContract
from convrag.testing.samples import TEXTS
from convrag_ginger.attribution import add_citations, find_supporting_nuggets, measure_lexical_support
from convrag_ginger.auto_detector import AutoDetector
from convrag_ginger.baselines import BaselineGenerator, CotGenerator
from convrag_ginger.clusters import OutlierPolicy, SizeRanker, group_by_label
from convrag_ginger.duplicates import merge_duplicates
from convrag_ginger.generator import GingerGenerator
from convrag_ginger.length_limit import LengthLimit, count_words, join_sentences
from convrag_ginger.sentences_detector import SentencesDetector
from convrag_ginger.summarizer import LlmSummarizer


class Fixed(LLM):
    """Replies with a text, or a function of the prompt; keeps the prompts."""

    def __init__(self, reply: str | Callable[[Prompt], str]) -> None:
        self.reply = reply
        self.prompts: list[Prompt] = []

    def complete(self, prompt: Prompt) -> Completion:
        self.prompts.append(prompt)
        return Completion(self.reply if isinstance(self.reply, str) else self.reply(prompt), model="fixed")

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class Broken(Fixed):
    def complete(self, prompt: Prompt) -> Completion:
        raise LLMError("down")


class All(Detector):
    """Every sentence is a nugget."""

    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        return [Nugget(passage.text[a:b], passage.id, a, b) for a, b in find_sentence_spans(passage.text)]


class Subjects(Clusterer):
    """Clusters by the first word; "Odd" is an outlier."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> Any:
        self.asked.append(list(texts))
        firsts = list(dict.fromkeys(text.split()[0] for text in texts))
        return np.array([-1 if text.startswith("Odd") else firsts.index(text.split()[0]) for text in texts])


class Letters(Embedder):
    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        rows = np.array([[text.lower().count(chr(c)) for c in range(97, 123)] for text in texts], dtype=np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


class Scores(Ranker):
    """Scores by a function of the text; keeps what it was asked."""

    def __init__(self, score: Callable[[str], float] = lambda text: 0.0) -> None:
        self.of = score
        self.asked: list[tuple[str, list[str]]] = []

    def score(self, query: str, texts: Sequence[str]) -> Any:
        self.asked.append((query, list(texts)))
        return np.array([self.of(text) for text in texts], dtype=np.float64)


class First(Summarizer):
    """Quotes the first nugget."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str], int]] = []

    def summarize(self, query: str, nuggets: Sequence[Nugget], words: int) -> str:
        self.asked.append((query, [nugget.text for nugget in nuggets], words))
        return nuggets[0].text


def ginger(**given: Any) -> GingerGenerator:
    stages: dict[str, Any] = {
        "llm": Fixed(""),
        "detector": All(),
        "clusterer": Subjects(),
        "embedder": Letters(),
        "ranker": Scores(),
        "summarizer": First(),
    }
    return GingerGenerator(**(stages | given))


def evidence(*texts: str, first: int = 1) -> Evidence:
    items = [EvidenceItem(number, Passage(f"p{number}", text), text) for number, text in enumerate(texts, start=first)]
    return Evidence(tuple(items))


def answer(generator: GingerGenerator, *texts: str, first: int = 1) -> Answer:
    return generator.generate(Question("And that?", standalone="Who drinks what?"), evidence(*texts, first=first))


TEA = "Ann drinks green tea. Ann grows mint. Ann sells cups."
COFFEE = "Bob roasts coffee. Bob drinks milk."
ODD = "Odd is a name. Odd was a king."


class TestGingerContract(GeneratorContract):
    without_results = ("matplotlib",)

    def make(self) -> GingerGenerator:
        return ginger(detector=SentencesDetector(threshold=0))


class TestBaselineContract(GeneratorContract):
    def make(self) -> BaselineGenerator:
        return BaselineGenerator(llm=Fixed("Copper conducts heat. [3] It boils sooner. [9]"))


class TestCotContract(GeneratorContract):
    def make(self) -> CotGenerator:
        return CotGenerator(llm=Fixed("1. Pieces: copper [3]\nAnswer: Copper conducts heat. [3]"))


class TestSummarizerContract(SummarizerContract):
    def make(self) -> LlmSummarizer:
        return LlmSummarizer(llm=Fixed("Steam whistles."))


class TestSizeContract(RankerContract):
    def make(self) -> SizeRanker:
        return SizeRanker()


# The order ---------------------------------------------------------------------------------------------------------


def test_the_order_follows_the_scores() -> None:
    """The defect of the public code: it kept the order of the sizes, whatever the scores said."""
    ranker = Scores(lambda text: -float(len(text.splitlines())))
    found = answer(ginger(ranker=ranker), "Dan eats rice.", TEA, COFFEE)
    ((query, texts),) = ranker.asked
    assert query == "Who drinks what?"
    assert texts == [
        "Dan eats rice.",
        "Ann drinks green tea.;\nAnn grows mint.;\nAnn sells cups.",
        "Bob roasts coffee.;\nBob drinks milk.",
    ]
    assert found.text == "Dan eats rice. [1] Bob roasts coffee. [3] Ann drinks green tea. [2]"
    assert found.citations == ("p1", "p3", "p2")
    assert found.trace["order"] == [0, 2, 1]
    assert [cluster["score"] for cluster in found.trace["clusters"]] == [-1, -3, -2]
    by_size = answer(ginger(ranker=SizeRanker()), "Dan eats rice.", TEA, COFFEE)
    assert by_size.citations == ("p2", "p3", "p1")
    assert answer(ginger(), "Dan eats rice.", TEA, COFFEE).citations == ("p1", "p2", "p3")  # no scores: as they came


def test_only_the_best_clusters_are_summarised() -> None:
    summarizer = First()
    ranker = Scores(lambda text: float("coffee" in text))
    found = answer(ginger(ranker=ranker, summarizer=summarizer, clusters=1), TEA, COFFEE)
    assert found.text == "Bob roasts coffee. [2]"
    assert summarizer.asked == [("Who drinks what?", ["Bob roasts coffee.", "Bob drinks milk."], 35)]


# How many nuggets --------------------------------------------------------------------------------------------------


def test_without_nuggets_there_is_no_answer() -> None:
    for found in (answer(ginger(), "", " \n"), answer(ginger())):
        assert found == Answer(
            "The passages do not answer this question.",
            (),
            {"outcome": "unanswerable", "query": "Who drinks what?", "nuggets": [], "reduced": 0, "left_out": 0},
        )
    assert answer(ginger(unanswerable="No idea.")).text == "No idea."


def test_where_nothing_can_be_said_of_the_nuggets_there_is_no_answer() -> None:
    found = answer(ginger(summarizer=said("")), "[1]")
    assert (found.text, found.citations) == ("The passages do not answer this question.", ())
    assert (found.trace["outcome"], len(found.trace["nuggets"])) == ("unanswerable", 1)


def test_a_single_nugget_is_a_single_sentence() -> None:
    found = answer(ginger(), "Ann drinks tea.")
    assert (found.text, found.trace["outcome"]) == ("Ann drinks tea. [1]", "single")


def test_two_or_three_are_clusters_of_their_own() -> None:
    clusterer = Subjects()
    found = answer(ginger(clusterer=clusterer), TEA)
    assert found.text == "Ann drinks green tea. [1] Ann grows mint. [1] Ann sells cups. [1]"
    assert (clusterer.asked, found.trace["outcome"]) == ([], "answered")
    answer(ginger(clusterer=clusterer), TEA, "Ann is old.")
    assert len(clusterer.asked) == 1


def test_four_hundred_nuggets() -> None:
    texts = [" ".join(f"Person{n % 13} has thing{n * 7 + m}." for m in range(20)) for n in range(20)]
    found = answer(ginger(), *texts)
    assert len(found.trace["nuggets"]) == 400
    assert len(found.trace["clusters"]) == 13
    assert len(found.trace["sentences"]) == 3


@pytest.mark.parametrize(("tasks", "expected"), [(None, "tagged"), (frozenset({"nuggets"}), "matched")])
def test_the_detector_follows_the_llm(tasks: frozenset[str] | None, expected: str) -> None:
    """`llm=gpt4` left detector=sentences in place."""

    class Named(Detector):
        def __init__(self, name: str) -> None:
            self.name = name

        def detect(self, query: str, passage: Passage) -> list[Nugget]:
            return [Nugget(self.name, passage.id, 0, 1)]

    class Ruled(Fixed):
        @property
        def tasks(self) -> frozenset[str] | None:
            return tasks

    detector = AutoDetector(llm=Ruled(""), tagging=Named("tagged"), matching=Named("matched"))
    assert [nugget.text for nugget in detector.detect("?", Passage("p", "text"))] == [expected]
    assert ("detector=llm" if tasks is None else "detector=sentences") in detector.note()


# Outliers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("own", [[0, 1], [2, 4], [3]]),
        ("singletons", [[0, 1], [2], [3], [4]]),
        ("nearest", [[0, 1, 2], [3, 4]]),
        ("drop", [[0, 1], [3]]),
    ],
)
def test_outliers(policy: OutlierPolicy, expected: list[list[int]]) -> None:
    assert group_by_label([0, 0, -1, 1, -1], ["aa", "ab", "aab", "zzz", "zy"], Letters(), policy) == expected


@pytest.mark.parametrize("policy", ["singletons", "nearest", "drop"])
def test_where_all_are_outliers_none_is_lost(policy: OutlierPolicy) -> None:
    assert group_by_label([-1, -1], ["a", "b"], Letters(), policy) == [[0], [1]]


def test_an_outlier_like_nothing_else_stays_alone() -> None:
    assert group_by_label([0, 0, -1, -1], ["a", "a", "b", "?"], Letters(), "nearest") == [[0, 1], [2], [3]]


def test_the_trace_names_outliers() -> None:
    found = answer(ginger(), TEA, ODD)
    assert [(c["nuggets"], c["outlier"]) for c in found.trace["clusters"]] == [
        ([0, 1, 2], False),
        ([3], True),
        ([4], True),
    ]
    assert len(answer(ginger(outliers="own"), TEA, ODD).trace["clusters"]) == 2


@given(st.lists(st.integers(-1, 4), max_size=30), st.sampled_from(["own", "singletons", "nearest"]))
def test_no_text_is_lost_or_doubled(labels: list[int], policy: OutlierPolicy) -> None:
    texts = [chr(97 + n % 26) * (n + 1) for n in range(len(labels))]
    found = group_by_label(labels, texts, Letters(), policy)
    assert sorted(index for members in found for index in members) == list(range(len(labels)))
    assert found == sorted(found)


# Near-duplicates ---------------------------------------------------------------------------------------------------


def merge(*texts: str, threshold: float = 0.8) -> list[tuple[str, tuple[int, ...]]]:
    nuggets = [Nugget(text, f"p{n}", 0, len(text)) for n, text in enumerate(texts)]
    return [(each.text, each.members) for each in merge_duplicates(nuggets, threshold)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A kettle whistles.", "The kettle  WHISTLED!"),
        ("Steam makes kettles whistle very loudly.", "Steam makes a kettle whistle very loudly indeed."),
        ("in 1890", "It was patented in 1890."),
    ],
)
def test_near_duplicates_are_merged_into_the_longer(one: str, other: str) -> None:
    longer = max(one, other, key=lambda text: len(text.split()))
    assert merge(one, "Tea is green.", other)[0][1] == (0, 2)
    assert merge(other, one)[0][0] in (" ".join(longer.split()), " ".join(other.split()))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The kettle was patented in 1890.", "The kettle was patented in 1891."),
        ("The kettle is not hot.", "The kettle is hot."),
        ("The kettle isn't hot.", "The kettle is hot."),
        ("Ann beats Bob.", "Bob beats Ann."),
        ("John was born in Paris in spring.", "Joan was born in Paris in spring."),
        ("in 18", "It was patented in 1890."),
        ("Kettles whistle.", "Old copper kettles of great kitchens whistle."),
    ],
)
def test_different_facts_are_not(one: str, other: str) -> None:
    assert len(merge(one, other)) == 2


@settings(max_examples=50)
@given(st.lists(st.text(alphabet="ab 1.", max_size=8), max_size=12))
def test_merging_keeps_every_nugget_once(texts: list[str]) -> None:
    found = merge(*texts)
    assert sorted(index for _, members in found for index in members) == list(range(len(texts)))
    assert [members for _, members in found] == sorted(members for _, members in found)


def test_merged_nuggets_are_cited_with_all_their_passages() -> None:
    found = answer(ginger(), "Ann drinks tea.", "Bob roasts coffee.", "ANN  drinks tea.")
    assert found.text == "Ann drinks tea. [1] Bob roasts coffee. [2]"
    found = answer(ginger(), "Ann drinks tea.", "Bob roasts coffee.", "So Ann drinks tea.", "Ann drinks tea.")
    assert found.text == "So Ann drinks tea. [3] Bob roasts coffee. [2]"
    assert (found.trace["merged"], found.trace["clusters"][0]["nuggets"]) == (2, [0, 2, 3])


# Length ------------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(8, 40), st.integers(1, 12))
def test_limits_hold(limit: int, words: int, persons: int) -> None:
    texts = [
        f"Person{n} has {'very ' * (n % 5)}old, which {'is so and ' * 14}that is thing{n}." for n in range(persons)
    ]
    llm = Fixed(lambda prompt: prompt.inputs["nuggets"][0])
    found = answer(ginger(res_length_limit=limit, words=words, summarizer=LlmSummarizer(llm=llm)), *texts)
    assert 0 < count_words([found.text]) <= limit * words
    assert len(found.trace["sentences"]) == min(limit, persons)
    assert all(len(sentence["text"].split()) <= words for sentence in found.trace["sentences"])
    assert all(sentence["text"].endswith(("old.", f"thing{n}.")) for n, sentence in enumerate(found.trace["sentences"]))


def test_a_hundred_means_four_hundred_words() -> None:
    texts = [f"Person{n} has {'a ' * 30}thing{n}." for n in range(30)]
    found = answer(ginger(res_length_limit=100), *texts)
    assert (len(found.trace["sentences"]), count_words([found.text])) == (12, 396)


def test_a_sentence_is_not_said_twice() -> None:
    class Same(First):
        def summarize(self, query: str, nuggets: Sequence[Nugget], words: int) -> str:
            return "Somebody drinks tea." if "green" not in nuggets[0].text else "Ann drinks green tea."

    found = answer(ginger(summarizer=Same(), few=9, unsupported="keep"), TEA, COFFEE)
    assert [sentence["text"] for sentence in found.trace["sentences"]] == [
        "Ann drinks green tea.",
        "Somebody drinks tea.",
    ]


def test_limits_hold_whatever_the_summarizer_says() -> None:
    """A third party's may be chattier than it was asked to be; then a nugget is quoted."""

    class Chatty(Summarizer):
        def summarize(self, query: str, nuggets: Sequence[Nugget], words: int) -> str:
            return f"{nuggets[0].text[:-1]} {'and ' * 200}so on. That is\nall."

    found = answer(ginger(summarizer=Chatty(), res_length_limit=2, words=9), TEA, COFFEE)
    assert found.text == "Ann drinks green tea. [1] Bob roasts coffee. [2]"


NAMES = "The members of the band are Ann, Bob, Carl, Dora, Emil, Fritz and Greta of Ulm."


def test_a_list_of_names_is_not_cut() -> None:
    """It stood as "The members of the band are Ann, Bob, Carl" in the answer."""
    assert answer(ginger(words=9, res_length_limit=2), NAMES).text == f"{NAMES} [1]"  # the answer has room for it
    assert answer(ginger(words=9, res_length_limit=1), f"{NAMES} The band is old.").text == "The band is old. [1]"
    llm = Fixed(NAMES)
    texts = [Nugget(NAMES, "p", 0, len(NAMES)), Nugget("The band is old.", "p", 90, 106)]
    assert LlmSummarizer(llm=llm).summarize("Who?", texts, 9) == "The band is old."
    assert [prompt.attempt for prompt in llm.prompts] == [0, 1]
    assert llm.prompts[1].messages[-1].content.startswith("Your sentence has 16 words. ")


def test_a_better_second_sentence_is_taken() -> None:
    llm = Fixed(lambda prompt: "Seven people are in it." if prompt.attempt else NAMES)
    texts = [Nugget(NAMES, "p", 0, len(NAMES)), Nugget("Seven people are in it.", "p", 90, 112)]
    assert LlmSummarizer(llm=llm).summarize("Who?", texts, 9) == "Seven people are in it."


def test_truncating_an_answer_keeps_citations_with_what_they_belong_to() -> None:
    limit = LengthLimit.of(2, 10)
    assert limit.truncate_answer("One two. [1] Three four. [2][3] Five six. [4]") == "One two. [1] Three four. [2][3]"
    assert limit.truncate_answer("One two. Three four. Five six. [4]") == "One two. Three four. [4]"
    assert LengthLimit.of(1, 4).truncate_answer("Two is one, but four is five [1]. Six.") == "Two is one. [1]"
    assert LengthLimit.of(1, 3).truncate_answer("One two, three four five [1]. Six.") == "Six."
    assert LengthLimit.of(1, 3).truncate_answer("One two, three four five.") == ""
    assert LengthLimit.of(1, 35).truncate_answer("1. Open the lid. [2]") == "1. Open the lid. [2]"
    assert limit.truncate_answer("") == ""
    assert limit.truncate_answer("No mark [1]\nSecond line [2]\nThird") == "No mark [1]\nSecond line [2]"


def test_joining_sentences() -> None:
    assert join_sentences(["A. [1]", "b [2]", "C!"]) == "A. [1] b [2]\nC!"


# Citations and support ---------------------------------------------------------------------------------------------


def test_citations_use_the_numbers_of_the_evidence() -> None:
    found = answer(ginger(), TEA, COFFEE, first=7)
    assert found.text == "Ann drinks green tea. [7] Bob roasts coffee. [8]"
    assert found.citations == ("p7", "p8")


def test_a_hint_stands_for_its_passage() -> None:
    item = EvidenceItem(4, Passage("p", "Ann drinks tea."), "see above", hint=True)
    found = ginger().generate(Question("Who?"), Evidence((item,)))
    assert (found.text, found.trace["query"]) == ("Ann drinks tea. [4]", "Who?")


SAID = st.lists(
    st.sampled_from(
        ["Ann", "tea", "[1]", "[9]", "in 1890", "not", ".", "?", "\n", "- ", "Summary:", '"', "coffee,", "é"]
    ),
    max_size=30,
)


@settings(max_examples=100, deadline=None)
@given(SAID, SAID, st.lists(st.sampled_from([TEA, COFFEE, ODD, "", "[1]"]), max_size=4), st.integers(1, 4))
def test_every_sentence_is_cited_and_within_the_limits_whatever_is_said(
    summary: list[str], rephrased: list[str], texts: list[str], limit: int
) -> None:
    llm = Fixed(lambda prompt: " ".join(summary if prompt.task == "summarize" else rephrased))
    summarizer = LlmSummarizer(llm=llm)
    found = answer(ginger(llm=llm, summarizer=summarizer, fluency=True, res_length_limit=limit, words=9), *texts)
    sentences = found.trace.get("sentences", [])
    assert bool(sentences) == (found.trace["outcome"] != "unanswerable") == bool(found.citations)
    assert len(sentences) <= limit
    assert count_words([found.text]) <= 9 * max(limit, 1)
    for sentence in sentences:
        assert set(sentence["passages"]) <= {f"p{number}" for number, text in enumerate(texts, start=1) if text}
        marks = "".join(f"[{passage[1:]}]" for passage in sorted(sentence["passages"]))
        assert f"{sentence['text']} {marks}" in found.text
        assert marks


def test_the_trace_holds_everything() -> None:
    trace = answer(ginger(), TEA, COFFEE).trace
    assert trace["nuggets"][1] == {"text": "Ann grows mint.", "passage_id": "p1", "start": 22, "end": 37}
    assert trace["sentences"][1] == {
        "text": "Bob roasts coffee.",
        "cluster": 1,
        "passages": ("p2",),
        "supported": True,
        "share": 1.0,
        "unknown": (),
        "checked": "words",
    }
    json.dumps(trace)


def test_a_sentence_cites_the_nuggets_that_it_rests_on() -> None:
    texts = ["Ann drinks green tea.", "Ann grows mint.", "Ann drinks tea."]
    assert find_supporting_nuggets("Ann grows mint", texts) == [1]
    assert find_supporting_nuggets("Ann, who grows mint, drinks green tea", texts) == [0, 1]
    assert find_supporting_nuggets("Ann drinks a lot of tea", texts) == [0, 2]
    assert find_supporting_nuggets("Zebras", texts) == [0, 1, 2]


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
    assert measure_lexical_support(sentence, ["Ann drinks 2 cups of tea."]).suffices(0.5) is supported


def said(text: str) -> LlmSummarizer:
    return LlmSummarizer(llm=Fixed(text))


class Says(Summarizer):
    def __init__(self, text: str) -> None:
        self.text = text

    def summarize(self, query: str, nuggets: Sequence[Nugget], words: int) -> str:
        return self.text


def test_an_unsupported_sentence_is_reduced_to_what_its_nuggets_say() -> None:
    """It was printed with citations, and flagged in the trace alone."""
    found = answer(ginger(summarizer=Says("Ann drinks 5 litres.")), "Ann drinks tea.")
    assert found.text == "Ann drinks tea. [1]"
    (sentence,) = found.trace["sentences"]
    assert (sentence["supported"], found.trace["reduced"], found.trace["left_out"]) == (True, 1, 0)


def test_an_unsupported_sentence_may_be_left_out_or_kept() -> None:
    found = answer(ginger(summarizer=Says("Ann drinks 5 litres."), unsupported="drop"), "Ann drinks tea.")
    assert (found.text, found.citations) == ("The passages do not answer this question.", ())
    assert found.trace["left_out"] == 1
    found = answer(ginger(summarizer=Says("Ann drinks 5 litres."), unsupported="keep"), "Ann drinks tea.")
    (sentence,) = found.trace["sentences"]
    assert (sentence["text"], sentence["supported"], sentence["unknown"]) == ("Ann drinks 5 litres.", False, ("5",))


def test_an_unsupported_summary_is_asked_for_again() -> None:
    llm = Fixed(lambda prompt: "Ann drinks tea." if prompt.attempt else "Ann drinks 5 teas.")
    found = answer(ginger(summarizer=LlmSummarizer(llm=llm)), "Ann drinks green tea.")
    assert (found.text, found.trace["reduced"]) == ("Ann drinks tea. [1]", 0)
    assert llm.prompts[1].messages[-1].content.startswith("The pieces do not say: 5. ")


@pytest.mark.parametrize(
    ("reply", "supported", "checked_by"), [("Yes.", True, "llm"), ("no", False, "llm"), ("?", True, "words")]
)
def test_an_llm_may_judge(reply: str, supported: bool, checked_by: str) -> None:
    llm = Fixed(reply)
    generator = ginger(llm=llm, check="llm", unsupported="keep")
    (sentence,) = answer(generator, "Ann drinks tea.").trace["sentences"]
    assert (sentence["supported"], sentence["checked"]) == (supported, checked_by)
    assert [prompt.task for prompt in llm.prompts] == ["support"]
    (sentence,) = answer(ginger(llm=Broken(""), check="llm"), "Ann drinks tea.").trace["sentences"]
    assert sentence["checked"] == "words"


# Summaries ---------------------------------------------------------------------------------------------------------


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
    assert prompt.inputs == {"question": "Who drinks?", "nuggets": ["Ann drinks tea and mint."], "words": 8}
    assert prompt.sampling == {"temperature": 0.0, "max_tokens": 100}


def test_an_empty_reply_quotes_one_sentence() -> None:
    nugget = Nugget("Ann drinks tea. Bob does not.", "p", 0, 29)
    assert said("").summarize("Who?", [nugget], 35) == "Ann drinks tea."


def test_nothing_to_summarise_costs_nothing() -> None:
    assert LlmSummarizer(llm=Broken("")).summarize("Who?", [], 8) == ""


# Fluency -----------------------------------------------------------------------------------------------------------


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
        (Broken(""), "kept: down"),
        (Fixed(f"Ann drinks {'green ' * 40}tea.\nZebras live in 7 zoos."), "on"),
        (Fixed("Ann drinks tea. It is green.\nBob roasts coffee. Bob does."), "on"),
    ],
)
def test_what_makes_it_worse_is_not_taken(llm: LLM, kept: str) -> None:
    found = answer(ginger(llm=llm, fluency=True), TEA, COFFEE)
    assert found.text == "Ann drinks green tea. [1] Bob roasts coffee. [2]"
    assert found.trace["fluency"] == kept


def test_rephrasing_keeps_the_limit_of_the_whole_answer() -> None:
    """17 sentences of 23 words are 391, so that of those that are to get a word more only nine may have it."""
    texts = [f"Person{n} has {'a ' * 19}thing{n} too." for n in range(30)]
    llm = Fixed(lambda prompt: prompt.inputs["text"].replace("too.", "as well."))
    found = answer(ginger(llm=llm, res_length_limit=100, fluency=True), *texts)
    assert (found.text.count("too."), found.text.count("as well.")) == (8, 9)
    assert count_words([found.text]) == 400


def test_an_unanswerable_question_is_not_rephrased() -> None:
    assert answer(ginger(llm=Broken(""), fluency=True)).trace["outcome"] == "unanswerable"


# The baselines -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [BaselineGenerator, CotGenerator])
def test_baselines_keep_the_same_limits(cls: type[BaselineGenerator]) -> None:
    llm = Fixed(" ".join(f"Sentence {n} is here. [{n}]" for n in range(1, 9)))
    found = cls(llm=llm).generate(Question("And?", standalone="Who?"), evidence(TEA, COFFEE))
    assert found.text == "Sentence 1 is here. [1] Sentence 2 is here. [2] Sentence 3 is here."
    assert (found.citations, found.trace["citations_removed"]) == (("p1", "p2"), 1)
    (prompt,) = llm.prompts
    assert (prompt.task, prompt.inputs["question"]) == ("answer", "Who?")
    assert "at most 3 sentences and 105 words" in prompt.messages[-1].content
    assert TEA in prompt.messages[-1].content
    cls(llm=llm, res_length_limit=100).generate(Question("Who?"), Evidence())
    assert "in at most 400 words" in llm.prompts[-1].messages[-1].content


def test_chain_of_thought_ends_with_the_answer() -> None:
    def text(reply: str) -> str:
        return CotGenerator(llm=Fixed(reply)).generate(Question("Who?"), evidence(TEA)).text

    assert text("1. Pieces: many. [1]\nAnswer: no\n\n4. Then\n**Answer:** Ann does. [1]") == "Ann does. [1]"
    for label in (
        *(
            "4. Answer:",
            "**4. Answer:**",
            "4) Answer:",
            "(4) Answer:",
            "4. **Answer**:",
            "Final answer:",
            "### Answer\n",
        ),
        *("**Final Answer:**", "Step 4: Answer:", "The answer:", "4. Answer\n", "Answer\n\n", "> Answer:", "_Answer:_"),
    ):
        assert text(f"1. Pieces: many. [1]\n2. Groups: ...\n{label} Ann does. [1]") == "Ann does. [1]", label
    assert text("1. Pieces: many. [1]\n4. Answer: Ann does. [1]\nAnswer:") == "Ann does. [1] Answer:"
    assert text("Pieces: many. [1]\n\nAnn does. [1]") == "Ann does. [1]"


def test_the_citations_of_baselines_are_checked() -> None:
    def answered(reply: str) -> tuple[str, tuple[str, ...], int]:
        found = BaselineGenerator(llm=Fixed(reply)).generate(Question("Who?"), evidence(TEA, COFFEE))
        return found.text, found.citations, found.trace["citations_removed"]

    assert answered("A [2]. B [1, 9]. C [9].") == ("A [2]. B [1]. C.", ("p2", "p1"), 2)
    assert answered("Use `items[0]` or `items[1]`. [2]") == ("Use `items[0]` or `items[1]`. [2]", ("p2",), 0)


def test_an_index_in_code_is_no_citation_where_an_answer_is_truncated() -> None:
    assert LengthLimit.of(1, 3).truncate_answer("It is `items[0]`, which may be fine [1].") == "It is `items[0]`. [1]"
    assert LengthLimit.of(1, 5).truncate_answer("Ann drinks tea. Use `items[1]`. Bob. [2]") == "Ann drinks tea. [2]"
    assert count_words(["Use `items [0]` here. [1]"]) == 4


def test_citations_are_added_in_rising_order() -> None:
    assert add_citations("A.", ["b", "a"], {"a": 1, "b": 2}) == "A. [1][2]"
    assert add_citations("A.", [], {}) == "A."


# Errors, the report, real data -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        *({"res_length_limit": 0}, {"words": 0}, {"clusters": 0}, {"duplicates": 2}, {"support": -1}),
        *({"least_nuggets": 0}, {"least_nuggets": 2}),
    ],
)
def test_impossible_parameters(parameters: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(parameters))):
        ginger(**parameters)


def test_a_broken_stage_is_named() -> None:
    class Short(Scores):
        def score(self, query: str, texts: Sequence[str]) -> Any:
            return np.zeros(1)

    with pytest.raises(ConvragError, match="Short gave 1 scores for 2 clusters"):
        answer(ginger(ranker=Short()), TEA, COFFEE)


def test_the_report_counts_outcomes() -> None:
    answers = [
        answer(ginger(), TEA),
        answer(ginger()),
        answer(ginger(summarizer=Says("Ann has 5.")), "Ann drinks tea."),
    ]
    records = [TurnRecord("c", f"t{n}", "d", n, "?", trace={"generator": a.trace}) for n, a in enumerate(answers)]
    report = ginger().report([*records, TurnRecord("c", "t", "d", 9, "?", error="down")])
    assert report is not None
    assert report.numbers == {
        "answered": 1,
        "single": 1,
        "unanswerable": 1,
        "nuggets": 4,
        "sentences": 4,
        "reduced": 1,
        "left_out": 0,
        "unsupported": 0,
    }
    assert "1 unanswerable; 4 sentences, 1 of them reduced to a quotation" in report.lines[0]
    assert ginger().report([TurnRecord("c", "t", "d", 9, "?", error="down")]) is None


class Topics(Subjects):
    """Describes each cluster by the second words of its texts."""

    def describe(self, texts: Sequence[str], labels: Sequence[int]) -> dict[int, list[str]]:
        groups: dict[int, list[str]] = {}
        for text, label in zip(texts, labels, strict=True):
            groups.setdefault(label, []).append(text.split()[1])
        return groups


def test_topic_words_stand_in_the_trace_the_report_and_a_plot() -> None:
    generator = ginger(clusterer=Topics())
    traces = [answer(generator, TEA, COFFEE).trace, answer(generator, TEA, COFFEE).trace]
    assert [cluster["words"] for cluster in traces[0]["clusters"]] == [
        ["drinks", "grows", "sells"],
        ["roasts", "drinks"],
    ]
    report = generator.report(
        [TurnRecord("c", f"t{n}", "d", n, "?", trace={"generator": trace}) for n, trace in enumerate(traces)]
    )
    assert report is not None
    assert report.lines[1] == (
        "words of topics, with the number of clusters: drinks (4), grows (2), roasts (2), sells (2)"
    )
    assert report.numbers["topic_words"] == {"drinks": 4, "grows": 2, "roasts": 2, "sells": 2}
    pytest.importorskip("matplotlib")
    assert all(word in report.files["topics.svg"] for word in ("drinks", "grows", "roasts", "sells"))
    again = generator.report([TurnRecord("c", "t", "d", 1, "?", trace={"generator": trace}) for trace in traces])
    assert again is not None
    assert again.files == report.files


def test_clusters_of_two_nuggets() -> None:
    """The seed's: two clusters of two nuggets at least, or each nugget alone."""

    def members(*texts: str, **given: Any) -> list[list[int]]:
        found = answer(ginger(**({"least_nuggets": 2, "outliers": "own"} | given)), *texts)
        return [cluster["nuggets"] for cluster in found.trace["clusters"]]

    assert members(TEA, COFFEE) == [[0, 1, 2], [3, 4]]
    assert members(TEA, COFFEE, "Cid sleeps.", "Dan runs.") == [[0, 1, 2], [3, 4], [5, 6]]
    assert sorted(map(len, members(TEA, COFFEE, "Cid sleeps."))) in ([2, 4], [3, 3])  # it joins the nearest
    assert members("Ann drinks tea. Ann grows mint. Ann sells cups. Ann sings.") == [[0], [1], [2], [3]]
    assert members("Ann eats. Bob eats. Cid drinks. Dan runs.", outliers="drop") == [[0], [1], [2], [3]]


class Tea(Dataset):
    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def corpus(self, domain: str) -> Iterator[Passage]:
        return iter([Passage(str(n), text) for n, text in enumerate(TEXTS)])


def test_without_a_model_every_sentence_stands_in_its_passage(mtrag_path: Path, tmp_path: Path) -> None:
    """The share of answer sentences that are found in each passage that they cite is 1."""
    offline = pytest.importorskip("convrag_offline.extractive")
    llm = offline.ExtractiveLLM(dataset=Tea(), store=Store(tmp_path))
    detector = SentencesDetector()
    detector.fingerprint = "detector"
    remember(detector, Store(tmp_path))
    generator = ginger(llm=llm, detector=detector, summarizer=LlmSummarizer(llm=llm), few=10**6)
    lines = (mtrag_path / "mtrag-human/generation_tasks/reference.jsonl").read_text(encoding="utf-8").splitlines()
    checked_sentences = 0
    for task in map(json.loads, lines[:120]):
        items = [
            EvidenceItem(n, Passage(c["document_id"], c["text"], c["title"]), c["text"])
            for n, c in enumerate(task["contexts"], start=1)
        ]
        found = generator.generate(Question(task["input"][-1]["text"]), Evidence(tuple(items)))
        texts = {f"[{item.number}]": item.passage.text for item in items}
        for sentence, marks in re.findall(r"\s*(.+?) ((?:\[\d+\])+)", found.text, re.DOTALL):
            for mark in re.findall(r"\[\d+\]", marks):
                assert stands_in(sentence, texts[mark])
                checked_sentences += 1
    assert checked_sentences > 100


def stands_in(quote: str, text: str) -> bool:
    """Whether a quotation stands in a text, without citations, or without asides, which a long sentence loses first."""
    marks = r"\s*\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]"
    for left_out in (marks, rf"{marks}|\s*\([^()]*\)"):
        short, long = (" ".join(re.sub(left_out, "", part).split()) for part in (quote, text))
        if short.rstrip(" .") in long:
            return True
    return False
