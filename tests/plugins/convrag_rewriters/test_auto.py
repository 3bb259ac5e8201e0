"""rewriter=auto: by a language model, and without one."""

import math
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from convrag import LLM, Completion, LLMError, Prompt, Query, Question, Rewrite, Rewriter, Turn
from convrag.config.compose import compose
from convrag.sdk.search.queries import choose_queries
from convrag.testing import RewriterContract
from convrag.turn.wiring import Wiring
from convrag_rewriters.auto import AutoRewriter
from convrag_rewriters.full_history import FullHistoryRewriter


class Rules(LLM):
    """No language model, which is never asked."""

    tasks = frozenset[str]()

    def complete(self, prompt: Prompt) -> Completion:
        raise AssertionError(prompt.task)

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class Model(Rules):
    tasks = None  # type: ignore[assignment]


class Words(Rules):
    """No language model; adds a word to a question that has none of its own."""

    tasks = frozenset({"rewrite"})

    def complete(self, prompt: Prompt) -> Completion:
        question = prompt.inputs["question"]
        return Completion(f"{question} tin" if question == "Where?" else question)


class Fails(Words):
    def complete(self, prompt: Prompt) -> Completion:
        raise LLMError("no reply", provider="test")


class Named(Rewriter):
    """Rewrites every question to the same text."""

    def rewrite(self, question: Question) -> Rewrite:
        return Rewrite.of("by the model", kept="yes")


class TestAutoWithoutAModel(RewriterContract):
    def make(self) -> AutoRewriter:
        return make_auto()


class TestAutoWithAModel(RewriterContract):
    def make(self) -> AutoRewriter:
        return make_auto(Model())


def make_auto(llm: LLM | None = None, **options: float) -> AutoRewriter:
    return AutoRewriter(llm=llm or Rules(), prompting=Named(), **options)  # type: ignore[arg-type]


def turns(*texts: tuple[str, str]) -> tuple[Turn, ...]:
    return tuple(
        Turn(f"c<::>{n}", question, answer) for n, (question, answer) in enumerate(texts, start=1)
    )


TIN = turns(("What is tin?", "Tin is a soft metal."))


def rewrite(text: str, history: tuple[Turn, ...] = TIN, **options: float) -> Rewrite:
    return make_auto(**options).rewrite(Question(text, history=history, number=len(history) + 1))


def lexical(rewritten: Rewrite) -> dict[str, float]:
    return {query.text: query.weight for query in choose_queries(rewritten.queries, "lexical")}


def dense(rewritten: Rewrite) -> dict[str, float]:
    return {query.text: query.weight for query in choose_queries(rewritten.queries, "dense")}


def test_a_language_model_rewrites() -> None:
    stage = make_auto(Model())
    rewritten = stage.rewrite(Question("its price?", history=TIN))
    assert rewritten.queries == (Query("by the model"),)
    assert dict(rewritten.trace) == {"by": "language model", "kept": "yes"}
    assert "is a language model" in stage.note()


@pytest.mark.parametrize(("history", "weight"), [((), 0.5), (TIN, 0.0)])
def test_without_history_the_question_is_searched_for_as_it_is(
    history: tuple[Turn, ...], weight: float
) -> None:
    assert rewrite("What is tin?", history, weight=weight).queries == (Query("What is tin?"),)


def test_by_words_the_history_weighs_half_as_much_as_one_word_of_the_question() -> None:
    assert lexical(rewrite("What does it cost?")) == pytest.approx(
        {
            "What does it cost?": 0.5,
            "cost": 0.5,
            "tin": 0.25,
            "Tin soft metal": 0.25 / math.sqrt(3),
        }
    )


def test_the_history_weighs_the_same_beside_a_long_question() -> None:
    """A self-contained question gets little of it: rewriter=blend gives it half the question's length."""
    short = lexical(rewrite("price?"))
    long = lexical(rewrite("copper price per kilogram in London last year?"))
    assert short["tin"] == long["tin"] == 0.25


def test_by_vectors_the_context_counts_less_for_a_long_question() -> None:
    history = turns(("oldest", "a"), ("What is tin?", "b"), ("Who mines it?", "c"))
    context = "What is tin?\nWho mines it?\n"
    assert dense(rewrite("Where?", history)) == {"Where?": 1, f"{context}Where?": 1}
    longer = "copper price kilogram London"
    assert dense(rewrite(longer, history)) == {longer: 1, f"{context}{longer}": 0.5}


def test_later_stages_read_the_question_with_the_words_that_it_lacks() -> None:
    """The first query is what passages are reranked by and answers are quoted by."""
    stage = AutoRewriter(llm=Words(), prompting=FullHistoryRewriter(llm=Words()))
    rewritten = stage.rewrite(Question("Where?", history=TIN))
    assert rewritten.text == "Where? tin"
    assert dense(rewritten) == {"Where? tin": 1, "Where?": 1, "What is tin?\nWhere?": 1}
    alone = stage.rewrite(Question("Where is zinc?", history=TIN))
    assert alone.text == "Where is zinc?"


def test_a_rule_that_fails_leaves_the_question_and_says_so() -> None:
    stage = AutoRewriter(llm=Fails(), prompting=FullHistoryRewriter(llm=Fails()))
    rewritten = stage.rewrite(Question("its price?", history=TIN))
    assert (rewritten.text, "no reply" in rewritten.fallback) == ("its price?", True)
    assert "tin" in lexical(rewritten)


def test_words_of_an_exchange_weigh_half_of_those_of_the_next() -> None:
    history = turns(("gamma", ""), ("epsilon", "eta"))
    assert lexical(rewrite("alpha", history)) == pytest.approx(
        {"alpha": 1, "epsilon": 0.2, "eta": 0.2, "gamma": 0.1}
    )


def test_only_the_last_exchanges_count() -> None:
    history = turns(("one", ""), ("two", ""), ("three", ""))
    rewritten = rewrite("alpha", history, exchanges=2)
    assert set(lexical(rewritten)) == {"alpha", "two", "three"}
    assert rewritten.trace == {"by": "history", "selected": ["c<::>2", "c<::>3"]}


def test_auto_needs_neither_a_corpus_nor_a_model(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "What is tin?"}\n')
    data = ["dataset=jsonl", f"dataset.queries={tmp_path}/queries.jsonl"]
    stages = ["rewriter=auto", "embedder=minilm", "embedder.model=absent"]
    wiring = Wiring(compose(*stages, *data, f"store.path={tmp_path}/store"))
    stage = wiring.get("rewriter")
    stage.prepare()
    assert "tin" in lexical(stage.rewrite(Question("What does it cost?", history=TIN)))
    assert "words of earlier turns" in stage.note()


AUTO = make_auto()
texts = st.text(max_size=60) | st.sampled_from(
    ["tin?", "What is tin?", "don’t", "銅の価格は？", "  \n", "it", "1 2 3"]
)


@given(texts.filter(str.strip), st.lists(st.tuples(texts, texts), max_size=6))
def test_any_text_gives_queries_with_text_and_positive_weights(
    question: str, said: list[tuple[str, str]]
) -> None:
    rewritten = AUTO.rewrite(Question(question, history=turns(*said)))
    assert rewritten.text == question
    assert all(query.text.strip() and 0 < query.weight < math.inf for query in rewritten.queries)
    assert question in dense(rewritten)
    assert question in lexical(rewritten)


class Asked(Words):
    """Notes the history of each prompt."""

    def __init__(self) -> None:
        self.histories: list[list[str]] = []

    def complete(self, prompt: Prompt) -> Completion:
        self.histories.append([exchange["user"] for exchange in prompt.inputs["history"]])
        return super().complete(prompt)


def test_a_rule_reads_the_first_turn_and_the_last_fifty() -> None:
    """A turn of a long conversation took four times as long as one of a short conversation."""
    llm = Asked()
    turns = tuple(Turn(str(number), f"Question {number}?", "Tea.") for number in range(500))
    for history in (turns[:51], turns):
        rewriter = AutoRewriter(llm=llm, prompting=FullHistoryRewriter(llm=llm))
        rewriter.rewrite(Question("Where?", history=history))
    assert [len(history) for history in llm.histories] == [51, 51]
    assert llm.histories[1] == ["Question 0?", *(f"Question {n}?" for n in range(450, 500))]
