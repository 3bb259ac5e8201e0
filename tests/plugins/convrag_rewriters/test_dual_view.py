"""`rewriter=dual_view`: one request gives a query for words and one for vectors."""

import json
from pathlib import Path
from typing import Any

import pytest

from convrag import Completion, LLMError, Prompt, Query, Question, Rewrite, Store, Turn
from convrag.api.errors import RunStopped
from convrag.config.compose import compose
from convrag.testing import RecordedLLM, RewriterContract, passages
from convrag.turn.pipeline import PassagesDataset
from convrag.turn.wiring import Wiring
from convrag_offline.embedders import LsaEmbedder
from convrag_retrieval.bm25 import BM25Retriever
from convrag_retrieval.dense import DenseRetriever
from convrag_retrieval.hybrid import HybridRetriever
from convrag_rewriters.dual_view import DualViewRewriter

HISTORY = (Turn("c<::>1", "How high is the Eiffel Tower?", "It is 330 metres high."),)
ASKED = Question("How old is it?", "c", "c<::>2", number=2, history=HISTORY)
WORDS = "Eiffel Tower built 1889 age"
VECTORS = "How old is the Eiffel Tower in Paris?"


def reply(words: str = WORDS, vectors: str = VECTORS, **more: Any) -> str:
    return json.dumps({"asked": "the age of a tower", "words": words, "vectors": vectors, **more})


def rewrite_by(*replies: str, question: Question = ASKED) -> Rewrite:
    """The rewrite where a model gives a reply, and another if it is asked again."""
    recorded = {"could not be read": replies[1]} if len(replies) > 1 else {}
    llm = RecordedLLM(replies={**recorded, "": replies[0]})
    return DualViewRewriter(llm=llm).rewrite(question)


class Fails(RecordedLLM):
    def __init__(self, error: Exception) -> None:
        super().__init__(replies={})
        self.error = error

    def complete(self, prompt: Prompt) -> Completion:
        raise self.error


class TestContract(RewriterContract):
    def make(self) -> DualViewRewriter:
        return DualViewRewriter(llm=RecordedLLM(replies={"": reply()}))


def test_one_call_writes_a_query_for_each_kind_of_search() -> None:
    llm = RecordedLLM(replies={"": reply()})
    rewrite = DualViewRewriter(llm=llm).rewrite(ASKED)
    assert rewrite.queries == (
        Query(VECTORS, search="dense"),
        Query(WORDS, search="lexical"),
    )
    assert rewrite.text == VECTORS  # later stages read a question
    assert rewrite.trace["asked"] == "the age of a tower"
    assert not rewrite.fallback
    (prompt,) = llm.prompts
    shown = "\n".join(message.content for message in prompt.messages)
    assert "How high is the Eiffel Tower?" in shown
    assert "The question: How old is it?" in shown


def test_equal_views_are_one_query() -> None:
    assert rewrite_by(reply(VECTORS)).queries == (Query(VECTORS),)


def test_a_first_question_asks_nothing() -> None:
    stage = DualViewRewriter(llm=Fails(AssertionError("asked")))
    assert stage.rewrite(Question("How old is it?")).queries == (Query("How old is it?"),)


@pytest.mark.parametrize(
    "text",
    [
        f"<think>A draft: {reply('draft', 'draft')}. No.</think>\n{reply()}",
        f"Here it is:\n```json\n{reply()}\n```",
        f'{{"asked": "x", "words": "Query: {WORDS}", "vectors": "**{VECTORS}**",}}',
    ],
)
def test_thoughts_fences_and_labels_are_read_past(text: str) -> None:
    rewrite = rewrite_by(text)
    assert [query.text for query in rewrite.queries] == [VECTORS, WORDS]


@pytest.mark.parametrize(
    "bad", ["", "The Eiffel Tower was built in 1889.", reply(words=" "), reply(vectors="x" * 900)]
)
def test_what_cannot_be_read_is_asked_again_and_then_the_question_is_searched_for(
    bad: str,
) -> None:
    assert [query.text for query in rewrite_by(bad, reply()).queries] == [VECTORS, WORDS]
    rewrite = rewrite_by(bad, bad)
    assert rewrite.queries == (Query("How old is it?"),)
    assert "cannot be read" in rewrite.fallback


def test_a_model_that_fails_is_a_fallback_and_a_run_that_is_stopped_stops() -> None:
    failing = DualViewRewriter(llm=Fails(LLMError("no reply", provider="test")))
    assert failing.rewrite(ASKED).fallback == "no reply"
    with pytest.raises(RunStopped):
        DualViewRewriter(llm=Fails(RunStopped("too dear"))).rewrite(ASKED)


def test_each_side_of_hybrid_search_gets_its_own(tmp_path: Path) -> None:
    dataset, store = PassagesDataset(passages()), Store(tmp_path)
    lexical = BM25Retriever(dataset=dataset, store=store)
    embedder = LsaEmbedder(dataset=dataset, store=store)
    dense = DenseRetriever(dataset=dataset, embedder=embedder, store=store)
    hybrid = HybridRetriever(lexical=lexical, dense=dense, weight=1.0)
    queries = rewrite_by(reply("kettle", "bread")).queries
    ids = [passage.id for passage in passages()]
    assert lexical.scores(queries, ids) == lexical.scores([Query("kettle")], ids)
    assert dense.scores(queries, ids) == dense.scores([Query("bread")], ids)
    best = hybrid.retrieve(queries, 1)[0].passage
    assert best == lexical.retrieve([Query("kettle")], 1)[0].passage


def test_it_needs_a_language_model_and_says_so() -> None:
    settings = compose("rewriter=dual_view", "llm=extractive")
    stage = Wiring(settings).get("rewriter")
    (problem,) = stage.check()
    assert "rewriter=auto" in problem
