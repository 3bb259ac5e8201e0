import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from convrag.api.completions import Prompt
from convrag.api.conversations import Conversation
from convrag.api.errors import LLMError
from convrag.api.passages import Passage
from convrag.api.stages import Dataset
from convrag.store.store import Store
from convrag_offline.extractive import ExtractiveLLM

PASSAGE = (
    "Kettle\nA kettle whistles because steam is forced through its lid .  It was patented in 1890.\n\n"
    "Dr. Low's tea is green; nobody whistles at a kettle of tea.\tCopper boils sooner."
)


class Corpus(Dataset):
    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def corpus(self, domain: str) -> Iterator[Passage]:
        yield Passage("1", PASSAGE)
        yield Passage("2", "A kettle of tea.")


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> ExtractiveLLM:
    return ExtractiveLLM(dataset=Corpus(), store=Store(tmp_path_factory.mktemp("store")))


def ask(llm: ExtractiveLLM, task: str, **inputs: Any) -> str:
    return llm.complete(Prompt(task, (), inputs)).text


def without_tags(text: str) -> str:
    return text.replace("<IN>", "").replace("</IN>", "")


def test_nuggets_are_tagged_in_a_copy(llm: ExtractiveLLM) -> None:
    copy = ask(llm, "nuggets", question="Why does a kettle whistle?", passage=PASSAGE)
    assert without_tags(copy) == PASSAGE
    assert re.findall(r"<IN>(.*?)</IN>", copy) == [
        "A kettle whistles because steam is forced through its lid .",
        "Dr. Low's tea is green; nobody whistles at a kettle of tea.",
    ]


def test_the_title_counts_for_each_sentence(llm: ExtractiveLLM) -> None:
    inputs = {"question": "When was the kettle patented?", "passage": "It is old. Nobody sold it."}
    tagged = ask(llm, "nuggets", title="Patented kettles", **inputs)
    assert re.findall(r"<IN>(.*?)</IN>", tagged) == ["It is old.", "Nobody sold it."]
    assert ask(llm, "nuggets", **inputs) == inputs["passage"]


@pytest.mark.parametrize("question", ["", "Why?", "Who won the chess championship?"])
def test_another_question_has_no_nuggets(llm: ExtractiveLLM, question: str) -> None:
    assert ask(llm, "nuggets", question=question, passage=PASSAGE) == PASSAGE


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(
            ["kettle", "whistles. ", "\n", " ", " . ", "''", "é", "[3]", "<IN>", "A", "3.5"]
        )
    )
)
def test_the_copy_is_literal(llm: ExtractiveLLM, pieces: list[str]) -> None:
    passage = "".join(pieces).replace("<IN>", "")
    assert (
        without_tags(ask(llm, "nuggets", question="Does a kettle whistle?", passage=passage))
        == passage
    )


def test_a_summary_quotes_the_sentence_that_answers(llm: ExtractiveLLM) -> None:
    nuggets = ["Tea is green. Tea is sold.", "Kettle", "Steam makes a kettle whistle."]
    assert (
        ask(llm, "summarize", question="Why does a kettle whistle?", nuggets=nuggets, words=35)
        == nuggets[2]
    )
    assert (
        ask(llm, "summarize", question="What?", nuggets=["Kettle", "Tea is sold."], words=35)
        == "Tea is sold."
    )
    assert ask(llm, "summarize", question="What?", nuggets=[], words=35) == ""


def test_a_summary_keeps_the_limit_and_prefers_whole_sentences(llm: ExtractiveLLM) -> None:
    long = "A kettle whistles when steam, which is water that was heated to its boiling point, leaves it."
    short = "A lid is small."
    assert ask(llm, "summarize", question="A kettle?", nuggets=[long, short], words=10) == short
    clear = "A kettle whistles and is hot, which is what steam does."
    assert (
        ask(llm, "summarize", question="A kettle?", nuggets=[clear], words=8)
        == "A kettle whistles and is hot."
    )
    for words, expected in (
        (17, long),
        (16, ""),  # "A kettle whistles when steam, which is water" would be half of a clause
    ):
        assert ask(llm, "summarize", question="A kettle?", nuggets=[long], words=words) == expected


@pytest.mark.parametrize(
    ("task", "missing"), [("nuggets", "question, passage"), ("summarize", "nuggets, words")]
)
def test_missing_inputs_are_named(llm: ExtractiveLLM, task: str, missing: str) -> None:
    inputs: dict[str, Sequence[str] | str] = {} if task == "nuggets" else {"question": "?"}
    with pytest.raises(LLMError, match=f"lacks {missing}"):
        ask(llm, task, **inputs)


def stands_in(quote: str, text: str) -> bool:
    """Whether a quotation stands in a text, without citations, or without asides, which a long
    sentence loses first.
    """
    for left_out in (r"\s*\[\d+\]", r"\s*(?:\[\d+\]|\([^()]*\))"):
        short, long = (" ".join(re.sub(left_out, "", part).split()) for part in (quote, text))
        if short.rstrip(" .") in long:
            return True
    return False


@pytest.mark.parametrize(
    ("titles", "questions"),
    [
        (
            ["FAQ > Wie hoch ist er? ", "Wie hoch ist er?", "What do you want?"],
            ["Wie hoch ist er?", "What do you want?"],
        ),
        (
            ["月はなぜ光る？", "Who said “Who goes there?”", "Why?"],
            ["月はなぜ光る？", "Who said “Who goes there?”"],
        ),
        (
            [
                "LICENSE",
                "Opening hours:",
                "Before you begin ...",
                "Taxes in the U.S.",
                "* * *",
                "Leave > ",
            ],
            [],
        ),
        ([], []),
    ],
)
def test_it_suggests_the_titles_that_are_questions(
    llm: ExtractiveLLM, titles: list[str], questions: list[str]
) -> None:
    """It asked "What about LICENSE?"."""
    said = ask(llm, "suggest", question="How far?", answer="Far.", titles=titles, count=2)
    assert said.splitlines() == questions
