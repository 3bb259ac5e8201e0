"""Rewriters of papers: LLM4CS, CHIQ, HyDE, RAG-Fusion and best of n, with scripted replies."""

import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest

from convrag import LLM, Hit, Pipeline, Query, Question, Rewriter, Store, Turn
from convrag.api.completions import Completion, Prompt
from convrag.api.errors import LLMError, RunStopped
from convrag.config.compose import compose
from convrag.testing import LetterEmbedder, RecordedLLM, RewriterContract, TinyDataset
from convrag.turn.wiring import Wiring
from convrag_basics.contexts import FullContext
from convrag_basics.none import NoGenerator, NoRanker
from convrag_datasets.jsonl import SampleDataset
from convrag_fusion.retriever import FusedRetriever, group_queries
from convrag_retrieval.bm25 import BM25Retriever
from convrag_rewriters.best_of_n import BestOfNRewriter
from convrag_rewriters.chiq import ENHANCEMENTS, CHIQRewriter
from convrag_rewriters.llm4cs import LLM4CSRewriter
from convrag_rewriters.multi_query import MultiQueryRewriter

HISTORY = (
    Turn("c<::>1", "What is green tea?", "It is unoxidised tea."),
    Turn("c<::>2", "How do I heat a kettle?", "On a stove."),
)
ASKED = Question("Is copper better for it?", "c", "c<::>3", number=3, history=HISTORY)
REPLY = {
    "question": "Is copper better for kettles?",
    "text": "Copper heats evenly.",
    "switched": True,
}
QUERIES = ["Is copper better for kettles?", "copper kettle heat", "kettle materials"]
FULL = json.dumps(REPLY | {"readings": [{"question": text} for text in QUERIES]})


class Scripted(RecordedLLM):
    """Replies by the step of the prompt and the attempt; what is no text is raised."""

    def __init__(self, script: Callable[[str, int], Any] = lambda step, attempt: FULL) -> None:
        super().__init__(replies={})
        self.script = script

    def complete(self, prompt: Prompt) -> Completion:
        self.prompts.append(prompt)
        reply = self.script(prompt.inputs.get("step", ""), prompt.attempt)
        if isinstance(reply, Exception):
            raise reply
        return Completion(reply)


def say(**fields: object) -> str:
    return json.dumps(fields)


def numbered(step: str, attempt: int) -> str:
    return say(question=f"question {attempt}", text=f"text {attempt}")


def llm4cs(script: Callable[[str, int], Any] = numbered, **parameters: Any) -> LLM4CSRewriter:
    return LLM4CSRewriter(llm=Scripted(script), embedder=LetterEmbedder(), **parameters)


def rag_fusion(llm: LLM) -> MultiQueryRewriter:
    return MultiQueryRewriter(llm=llm, kind="aspects", n=5)


def hyde(llm: LLM, n: int = 3) -> LLM4CSRewriter:
    return LLM4CSRewriter(
        llm=llm, embedder=LetterEmbedder(), prompting="rewrite_then_response", n=n
    )


class TestLLM4CS(RewriterContract):
    def make(self) -> LLM4CSRewriter:
        return LLM4CSRewriter(llm=RecordedLLM(replies={"": FULL}), embedder=LetterEmbedder())


class TestCHIQ(RewriterContract):
    def make(self) -> CHIQRewriter:
        return CHIQRewriter(llm=RecordedLLM(replies={"": FULL}))


class TestHyDE(RewriterContract):
    def make(self) -> LLM4CSRewriter:
        return hyde(RecordedLLM(replies={"": FULL}))


class TestRAGFusion(RewriterContract):
    def make(self) -> MultiQueryRewriter:
        return rag_fusion(RecordedLLM(replies={"": FULL}))


class TestBestOfN(RewriterContract):
    @pytest.fixture(autouse=True)
    def _take_store(self, convrag_store: Store) -> None:
        self.store = convrag_store

    def make(self) -> BestOfNRewriter:
        retriever = BM25Retriever(dataset=TinyDataset(), store=self.store)
        return BestOfNRewriter(base=TestRAGFusion().make(), retriever=retriever)


def test_the_task_of_the_prompt_keeps_its_name_since_cached_replies_depend_on_it() -> None:
    assert llm4cs().template.task == "samples"
    assert llm4cs().template.path.name == "llm4cs.jinja"


def test_llm4cs_gives_rewrites_and_answers_of_equal_weight_as_a_source_each() -> None:
    rewrite = llm4cs(n=2).rewrite(ASKED)
    first = (
        Query("question 0", 0.25, source="sample1"),
        Query("text 0", 0.25, search="dense", source="sample1"),
    )
    assert rewrite.queries[::2] == first
    assert [group.weight for group in group_queries(rewrite.queries)] == [0.25, 0.25]


def test_one_rewrite_is_answered_several_times() -> None:
    llm = Scripted(numbered)
    rewrite = hyde(llm).rewrite(ASKED)
    answers = [Query(f"text {n}", 0.25, search="dense", source="sample1") for n in range(3)]
    assert rewrite.queries == (Query("question 0", 0.25, source="sample1"), *answers)
    prompts = [
        (each.inputs["step"], each.attempt, each.sampling["temperature"]) for each in llm.prompts
    ]
    assert sorted(prompts) == [*(("response", n, 0.7) for n in range(3)), ("rewrite", 0, 0.7)]
    asked = [each.messages[-1].content.splitlines()[-1] for each in llm.prompts]
    assert asked == ["The question: Is copper better for it?", *["The question: question 0"] * 3]


def test_self_consistency_keeps_the_sample_in_the_middle_and_max_asks_once() -> None:
    texts = ["zzz", "kettle", "kettles"]
    central = llm4cs(
        lambda step, n: say(question=texts[n], text=str(n)), aggregation="self_consistency", n=3
    )
    assert [(query.text, query.weight) for query in central.rewrite(ASKED).queries] == [
        ("kettle", 0.5),
        ("1", 0.5),
    ]
    answers = llm4cs(
        numbered, prompting="rewrite_then_response", aggregation="self_consistency"
    ).rewrite(ASKED)
    assert [query.weight for query in answers.queries] == [0.5, 0.5]
    likeliest = llm4cs(aggregation="max", prompting="rewrite")
    assert likeliest.rewrite(ASKED).queries == (Query("question 0", source="sample1"),)
    assert [each.sampling["temperature"] for each in likeliest.llm.prompts] == [0.0]  # type: ignore[attr-defined]


def test_a_sample_that_fails_is_left_out() -> None:
    rewrite = llm4cs(
        lambda step, n: LLMError("busy") if n == 0 else numbered(step, n), n=2
    ).rewrite(ASKED)
    assert [query.text for query in rewrite.queries] == ["question 1", "text 1"]
    assert (rewrite.trace["failures"], rewrite.fallback) == (["busy"], "")


def test_rag_fusion_searches_for_each_different_query_by_itself() -> None:
    rewrite = rag_fusion(Scripted()).rewrite(ASKED)
    assert list(rewrite.queries) == [
        Query(text, 1 / 3, source=f"reading{n}") for n, text in enumerate(QUERIES, 1)
    ]
    assert "ambiguous" not in rewrite.trace


def test_chiq_rewrites_from_what_it_found_out() -> None:
    llm = Scripted(lambda step, n: say(question=f"<{step}>", text=f"<{step}>", switched=True))
    rewrite = CHIQRewriter(llm=llm).rewrite(ASKED)
    assert rewrite.queries == (
        Query("<rewrite>", source="rewrite"),
        Query("<search>", source="search"),
    )
    shown = (
        next(each for each in llm.prompts if each.inputs["step"] == "rewrite").messages[-1].content
    )
    assert all(f"<{step}>" in shown for step in set(ENHANCEMENTS) - {"switch"})
    assert "green tea" not in shown, "after a change of topic the last exchange alone is shown"
    assert "On a stove." not in shown, "the last answer is expanded"


def test_chiq_does_without_what_fails() -> None:
    llm = Scripted(lambda step, n: LLMError("busy") if step in ("switch", "search") else FULL)
    rewrite = CHIQRewriter(llm=llm).rewrite(ASKED)
    assert [query.source for query in rewrite.queries] == ["rewrite"]
    assert rewrite.trace["failures"] == {"switch": "busy", "search": "busy"}
    assert "green tea" in llm.prompts[-1].messages[-1].content


def test_the_best_of_n_finds_what_the_others_find(convrag_store: Store) -> None:
    questions = [
        {"question": text, "weight": 1} for text in ("zebra", "copper kettle", "kettle copper")
    ]
    base = rag_fusion(Scripted(lambda *_: say(readings=questions)))
    retriever = BM25Retriever(dataset=TinyDataset(), store=convrag_store)
    rewrite = BestOfNRewriter(base=base, retriever=retriever).rewrite(ASKED)
    assert rewrite.queries == (Query("copper kettle", 1 / 3, turn_id="c<::>3", source="reading2"),)
    assert [row["agreement"] for row in rewrite.trace["candidates"]] == [0.0, 0.5, 0.5]


def test_the_best_of_n_searches_as_the_turn_will(convrag_store: Store) -> None:
    class Reads(BM25Retriever):
        asked: ClassVar[list[str]] = []

        def retrieve_for(self, question: Question, queries: Sequence[Query], k: int) -> list[Hit]:
            self.asked.append(question.history[-1].question)
            return super().retrieve_for(question, queries, k)

    retriever = Reads(dataset=TinyDataset(), store=convrag_store)
    BestOfNRewriter(base=rag_fusion(Scripted()), retriever=retriever).rewrite(ASKED)
    assert retriever.asked == [HISTORY[-1].question] * len(QUERIES)


MAKERS: list[Callable[[Any], Rewriter]] = [
    lambda llm: LLM4CSRewriter(llm=llm, embedder=LetterEmbedder()),
    lambda llm: CHIQRewriter(llm=llm),
    hyde,
    rag_fusion,
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "reply", ["I cannot.", "[]", say(question=" ", text="", readings=[]), LLMError("no reply")]
)
def test_what_cannot_be_used_leaves_the_question(
    make: Callable[[Any], Rewriter], reply: Any
) -> None:
    rewrite = make(Scripted(lambda step, attempt: reply)).rewrite(ASKED)
    assert (rewrite.queries, bool(rewrite.fallback)) == ((Query(ASKED.text),), True)
    with pytest.raises(RunStopped):
        make(Scripted(lambda step, attempt: RunStopped("too dear"))).rewrite(ASKED)


@pytest.mark.parametrize("option", ["llm4cs", "chiq", "hyde", "rag_fusion", "best_of_n"])
def test_without_a_language_model_each_says_so(option: str) -> None:
    rewriter = Wiring(compose(f"rewriter={option}", "tracker=none")).get("rewriter")
    (problem,) = (rewriter.base if option == "best_of_n" else rewriter).check()
    assert "it asks a language model, and the llm is none" in problem


@pytest.mark.parametrize("make", MAKERS)
def test_a_turn_of_the_sample_is_searched_by_all_queries(
    make: Callable[[Any], Rewriter], convrag_store: Store
) -> None:
    dataset = SampleDataset()
    retriever = FusedRetriever(base=BM25Retriever(dataset=dataset, store=convrag_store))
    stages = {"reranker": NoRanker(), "context": FullContext(), "generator": NoGenerator()}
    pipeline = Pipeline(
        rewriter=make(Scripted()), retriever=retriever, domains=dataset.domains(), **stages
    )  # type: ignore[arg-type]
    question = next(iter(dataset.conversations())).turns[0].question
    records = [pipeline.turn("c", each) for each in (question, "Is copper better for it?")]
    assert [record.error for record in records] == ["", ""]
    assert records[1].rewritten_query == "Is copper better for kettles?"
