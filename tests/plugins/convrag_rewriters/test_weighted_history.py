import math

import pytest
from hypothesis import given, strategies as st

from convrag import LLM, Completion, LLMError, Prompt, Query, Question, Rewrite, Rewriter, Turn
from convrag.sdk.search.queries import choose_queries
from convrag.testing import RewriterContract
from convrag_rewriters.weighted_history import WeightedHistoryRewriter


class Rules(LLM):
    """No language model: has rules for the given tasks, and adds a word to every question."""

    def __init__(self, *tasks: str) -> None:
        self.known = frozenset(tasks)
        self.prompts: list[Prompt] = []

    @property
    def tasks(self) -> frozenset[str] | None:
        return self.known

    def complete(self, prompt: Prompt) -> Completion:
        self.prompts.append(prompt)
        return Completion(f"{prompt.inputs['question']} copper")

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class Fails(Rules):
    def complete(self, prompt: Prompt) -> Completion:
        raise LLMError("no reply", provider="test")


class Named(Rewriter):
    def __init__(self, name: str) -> None:
        self.name = name

    def rewrite(self, question: Question) -> Rewrite:
        return Rewrite.of(self.name, kept="yes")


class TestWeightedHistory(RewriterContract):
    def make(self) -> WeightedHistoryRewriter:
        return WeightedHistoryRewriter(llm=Rules("rewrite"))


def turns(*texts: tuple[str, str]) -> tuple[Turn, ...]:
    return tuple(
        Turn(f"c<::>{n}", question, answer) for n, (question, answer) in enumerate(texts, start=1)
    )


def rewrite(
    question: str, history: tuple[Turn, ...], llm: LLM | None = None, **options: float
) -> Rewrite:
    stage = WeightedHistoryRewriter(llm=llm or Rules("rewrite"), **options)  # type: ignore[arg-type]
    return stage.rewrite(Question(question, history=history, number=len(history) + 1))


def lexical(rewritten: Rewrite) -> dict[str, float]:
    return {query.text: query.weight for query in choose_queries(rewritten.queries, "lexical")}


def test_the_first_question_is_searched_for_as_it_is() -> None:
    llm = Rules("rewrite")
    first = rewrite("What is tin?", (), llm)
    assert (first.queries, llm.prompts) == ((Query("What is tin?"),), [])
    assert first.trace == {"method": "first_question"}


def test_each_search_gets_the_history_in_its_own_form() -> None:
    llm = Rules("rewrite")
    rewritten = rewrite("What does it cost?", turns(("What is tin?", "Tin is a soft metal.")), llm)
    assert rewritten.text == "What does it cost? copper"
    assert choose_queries(rewritten.queries, "dense") == [
        Query("What does it cost? copper", search="dense"),
        Query("What does it cost?", search="dense"),
        Query("Tin is a soft metal.", 0.25, search="dense"),
    ]
    # "cost" counts 1, the question's stop words half, the rewrite's words a quarter, the history's
    # together half
    assert lexical(rewritten) == pytest.approx(
        {
            "What does it cost?": 0.5,
            "cost": 0.5,
            "cost copper": 0.25,
            "tin": 0.25,
            "Tin soft metal": 0.25 / math.sqrt(3),
        }
    )
    assert (rewritten.trace["method"], rewritten.trace["selected"]) == (
        "weighted_history",
        ["c<::>1"],
    )
    (prompt,) = llm.prompts
    assert prompt.inputs["question_weight"] == 1
    assert prompt.inputs["history"] == [
        {"user": "What is tin?", "assistant": "Tin is a soft metal."}
    ]


def test_words_of_an_exchange_weigh_half_of_those_of_the_next() -> None:
    found = lexical(
        rewrite("alpha beta", turns(("gamma delta", ""), ("epsilon zeta", "eta theta")), Rules())
    )
    assert found == pytest.approx(
        {"alpha beta": 1, "epsilon zeta": 0.2, "eta theta": 0.2, "gamma delta": 0.1}
    )


def test_a_question_of_stop_words_alone_is_searched_for_in_full() -> None:
    found = lexical(rewrite("And what about that?", turns(("What is tin?", "")), Rules()))
    assert found == pytest.approx({"And what about that?": 1, "tin": 0.5 * 2})


def test_only_the_last_exchanges_and_texts_with_content_words_count() -> None:
    history = turns(("old", "older"), ("two", "Thank you."), ("?!", "four"))
    found = rewrite("copper price", history, Rules(), exchanges=2)
    assert [text for text in lexical(found) if text != "copper price"] == ["four", "two"]
    assert found.trace["selected"] == ["c<::>2", "c<::>3"]


def test_without_a_rule_for_rewriting_the_question_alone_is_searched_by_vectors() -> None:
    llm = Rules("answer")
    rewritten = rewrite("its price?", turns(("tin?", "")), llm)
    assert [query.text for query in choose_queries(rewritten.queries, "dense")] == ["its price?"]
    assert "price" in lexical(rewritten)
    assert (rewritten.fallback, llm.prompts) == ("", [])


def test_another_rewriter_takes_the_place_of_the_llm() -> None:
    llm = Rules("rewrite")
    stage = WeightedHistoryRewriter(llm=llm, standalone=Named("What does tin cost?"))
    rewritten = stage.rewrite(
        Question("What does it cost?", history=turns(("What is tin?", "Tin is a metal.")))
    )
    assert (rewritten.text, rewritten.trace["kept"], llm.prompts) == (
        "What does tin cost?",
        "yes",
        [],
    )
    assert lexical(rewritten)["tin cost"] == 0.25


def test_weights_of_zero_leave_only_the_question_and_its_rewrite() -> None:
    zero = {"weight": 0.0, "answers": 0.0, "rewrite_weight": 0.0, "stop_words": 1.0}
    queries = rewrite(
        "What does it cost?", turns(("What is tin?", "Tin is a soft metal.")), **zero
    ).queries
    assert [(query.text, query.weight, query.search) for query in queries] == [
        ("What does it cost? copper", 1, "dense"),
        ("What does it cost?", 1, "dense"),
        ("What does it cost?", 1, "lexical"),
    ]


def test_an_llm_that_fails_leaves_the_words_and_says_why() -> None:
    rewritten = rewrite("its price?", turns(("tin?", "")), Fails("rewrite"))
    assert rewritten.text == "its price?"
    assert "no reply" in rewritten.fallback
    assert "tin" in lexical(rewritten)


RULES = WeightedHistoryRewriter(llm=Rules("answer"))  # made once: it compiles a template
texts = st.text(max_size=60) | st.sampled_from(
    ["tin?", "What is tin?", "don’t", "銅の価格は？", "  \n", "it", "1 2 3"]
)


@given(texts.filter(str.strip), st.lists(st.tuples(texts, texts), max_size=6))
def test_any_text_gives_queries_with_text_and_positive_weights(
    question: str, said: list[tuple[str, str]]
) -> None:
    rewritten = RULES.rewrite(Question(question, history=turns(*said)))
    assert rewritten.text == question
    assert all(query.text.strip() and 0 < query.weight < math.inf for query in rewritten.queries)
    for search in ("lexical", "dense"):
        assert question in [query.text for query in choose_queries(rewritten.queries, search)]  # type: ignore[arg-type]


words = st.lists(st.sampled_from(["tin", "copper", "zinc", "lead", "gold"]), max_size=8).map(
    " ".join
)
