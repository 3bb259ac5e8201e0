"""RAGBoost's conversation API: its examples, its troubleshooting, restarts and kills."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from convrag.api.errors import ConfigError, ConvragError, UnknownName
from convrag_conversations.database import ConversationDatabase
from convrag_dedup import InferenceConfig, RAGPipeline
from llm_server import Server, make_reply

TEXTS = {
    "ml": "Machine learning lets programs learn from data instead of following rules that somebody wrote.",
    "deep": "Deep learning is machine learning with neural networks of many layers, trained on much data.",
    "test": "Best practices for ML: hold out a test set, watch for leaks, and keep every run.",
    "python": "Python is a programming language that many people learn first, and much used for data.",
    "js": "JavaScript is the programming language of browsers, and unrelated to Java.",
    "ai": "AI is the study of programs that act with a purpose; learning is one part of it.",
}


@pytest.fixture
def corpus(here: Path) -> Path:
    rows = [json.dumps({"_id": name, "text": text}) for name, text in TEXTS.items()]
    (here / "corpus.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return here / "corpus.jsonl"


def ask(
    pipeline: RAGPipeline,
    conversation: str = "c",
    query: str = "What is machine learning?",
    **options: Any,
) -> Any:
    return pipeline.process_conversation_turn(conversation, query, **options)


def test_a_result_has_every_field_of_the_reference(corpus: Path) -> None:
    pipeline = RAGPipeline(retriever="bm25", corpus_path="corpus.jsonl", use_ragboost=True)
    first = ask(pipeline, top_k=2)
    assert first["retrieved_docs"] == first["novel_docs"] == ["deep", "ml"]
    assert first["context"] == f"[Doc_deep]: {TEXTS['deep']}\n\n[Doc_ml]: {TEXTS['ml']}\n\n"
    second = ask(pipeline, query="And how does deep learning differ?", top_k=3)
    assert second["query"] == "And how does deep learning differ?"
    assert set(second["deduplicated_docs"]) == {"ml", "deep"}
    assert len(second["novel_docs"]) == 1
    assert "Please refer to [Doc_deep] in the previous conversation.\n\n" in second["context"]
    stats = second["deduplication_stats"]
    assert (stats["num_retrieved"], stats["num_novel"], stats["num_deduplicated"]) == (3, 1, 2)
    assert stats["deduplication_rate"] == 2 / 3
    assert stats["tokens_saved"] > 0
    assert "response" not in second
    totals = second["conversation_stats"]
    assert totals == pipeline.get_conversation_stats("c")
    assert (totals["conversation_id"], totals["turn_count"]) == ("c", 2)
    assert (totals["total_retrieved"], totals["total_novel"], totals["total_deduplicated"]) == (
        5,
        3,
        2,
    )
    assert totals["deduplication_rate"] == 2 / 5
    third = ask(pipeline, query="Is that right?", generate_response=True)
    assert third["response"]
    assert third["generation_metadata"]["latency"] > 0
    assert third["generation_metadata"]["prompt_tokens"] == 0  # rules have written the answer


def test_a_generated_turn_sends_again_what_its_messages_lack(corpus: Path) -> None:
    """A turn without an answer is not sent to the model later: a hint at its context would point at
    nothing.
    """
    pipeline = RAGPipeline(corpus_path=corpus)
    ask(pipeline, top_k=2)
    generated = ask(pipeline, top_k=2, generate_response=True)
    assert generated["deduplicated_docs"] == []
    assert generated["deduplication_stats"]["num_sent_again"] == 2
    assert generated["deduplication_stats"]["tokens_sent_again"] > 0
    after = ask(pipeline, top_k=2, generate_response=True)
    assert set(after["deduplicated_docs"]) == {"ml", "deep"}
    alone = RAGPipeline(corpus_path=corpus, generator="direct")  # sends no evidence along
    for _ in range(2):
        assert ask(alone, top_k=2, generate_response=True)["deduplicated_docs"] == []


def test_baseline_comparison(corpus: Path) -> None:
    pipeline = RAGPipeline(corpus_path=corpus)
    for _ in range(2):
        ask(pipeline, "with", top_k=3)
        full = ask(pipeline, "without", top_k=3, enable_deduplication=False)
    assert "refer to" not in full["context"]
    with_it, without = (
        pipeline.get_conversation_stats("with"),
        pipeline.get_conversation_stats("without"),
    )
    assert with_it is not None
    assert without is not None
    assert without["total_novel"] - with_it["total_novel"] == 3
    assert (
        ask(pipeline, "without", top_k=3)["deduplication_stats"]["num_deduplicated"] == 3
    )  # what was shown counts
    never = RAGPipeline(corpus_path=corpus, use_ragboost=False)
    for _ in range(2):
        assert ask(never)["deduplicated_docs"] == []


def test_queries_and_mistakes(corpus: Path) -> None:
    pipeline = RAGPipeline(corpus_path=corpus)
    result = pipeline.process_conversation_turn("c", {"text": "What is Python?", "id": 7})
    assert result["query"] == "What is Python?"
    with pytest.raises(ConfigError, match="text, query, question"):
        pipeline.process_conversation_turn("c", {"id": 7})
    with pytest.raises(ConfigError, match="corpus_path"):
        RAGPipeline()
    with pytest.raises(ConvragError, match=r"nowhere\.jsonl"):
        RAGPipeline(corpus_path="nowhere.jsonl")
    with pytest.raises(ConfigError, match="'bm24'"):
        RAGPipeline("bm24", corpus)
    with pytest.raises(UnknownName, match="sglang"):
        RAGPipeline(corpus_path=corpus, inference=InferenceConfig("m", backend="sgl"))


def test_a_turn_that_fails_leaves_no_trace(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from convrag_condense.chat import ChatGenerator

    pipeline = RAGPipeline(corpus_path=corpus, folder="kept")
    ask(pipeline, top_k=2)
    before = pipeline.get_conversation_stats("c")
    with monkeypatch.context() as broken:
        broken.setattr(ChatGenerator, "generate", lambda self, question, evidence: 1 / 0)
        with pytest.raises(ConvragError, match="generator: ZeroDivisionError"):
            ask(
                pipeline,
                query="Something that nobody asked before?",
                top_k=3,
                generate_response=True,
            )
    assert pipeline.get_conversation_stats("c") == before
    full = RAGPipeline(corpus_path=corpus, folder="kept")
    with monkeypatch.context() as broken:
        broken.setattr(
            ConversationDatabase, "append", lambda *_: (_ for _ in ()).throw(OSError("disk full"))
        )
        with pytest.raises(OSError, match="disk full"):
            ask(pipeline, top_k=3)
    assert pipeline.get_conversation_stats("c") == before == full.get_conversation_stats("c")
    assert ask(pipeline, top_k=3)["conversation_stats"]["turn_count"] == 2


def test_state_survives_a_restart_and_is_bounded(corpus: Path) -> None:
    first = RAGPipeline(corpus_path=corpus, folder="kept")
    for name in ("a/b", "c", "d"):
        ask(first, name, top_k=2)
        ask(first, name, top_k=3)
    second = RAGPipeline(corpus_path=corpus, folder="kept", max_conversations=1)
    assert second.get_conversation_stats() == first.get_conversation_stats()
    result = ask(second, "a/b", top_k=3)
    assert len(result["deduplicated_docs"]) == 3
    assert (
        result["conversation_stats"]["turn_count"],
        result["conversation_stats"]["total_retrieved"],
    ) == (3, 8)
    second.reset_all_conversations()
    assert not list(Path("kept").glob("**/*.json*"))
    forgetful = RAGPipeline(corpus_path=corpus, max_conversations=1)
    for name in ("a", "b", "a"):
        assert ask(forgetful, name)["deduplicated_docs"] == []


@pytest.fixture(scope="module")
def model() -> Iterator[Server]:
    """The server of RAGBoost's example, at its address: one, since connections to it stay open."""
    pytest.importorskip("litellm")
    try:
        server = Server(host="localhost", port=30000)
    except OSError:
        pytest.skip("port 30000 is taken")
    server.plan_replies(make_reply("Hold out a test set. [1]"))
    yield server
    server.close()


def test_the_model_gets_max_tokens_and_temperature(corpus: Path, model: Server) -> None:
    server = {"backend": "vllm", "base_url": "http://localhost:30000/v1/"}
    pipeline = RAGPipeline(
        corpus_path=corpus,
        inference=InferenceConfig("m", **server, max_tokens=200, temperature=0.1),
    )
    ask(pipeline, generate_response=True)
    ask(pipeline, query="And then?", generate_response=True, max_tokens=33)
    assert [(request["max_tokens"], request["temperature"]) for request in model.requests[-2:]] == [
        (200, 0.1),
        (33, 0.1),
    ]
    sent = "\n".join(message["content"] for message in model.requests[-1]["messages"])
    assert sent.count(TEXTS["ml"]) == 1
