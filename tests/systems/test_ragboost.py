"""RAGBoost's description, sentence by sentence: its programs as they stand, `+system=ragboost` and
the Python API.

The model is a scripted server of OpenAI's protocol, so what is sent can be compared to the letter.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from convrag import ConfigError, ConvragError, Passage, Pipeline
from convrag.api.groups import OPTION_KEY
from convrag.config.compose import compose
from convrag_dedup import InferenceConfig, MultiTurnManager, RAGPipeline
from fixtures import SHARED
from llm_server import Server, make_reply
from places import ROOT

FILLERS = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]


def make_text(**counts: int) -> str:
    """Make a text of twelve words that has each of these words so many times."""
    words = [word for word, count in counts.items() for _ in range(count)]
    return " ".join([*words, *FILLERS])[:200].rsplit(" ", len(words))[0]


TEXTS = {
    1: make_text(apples=3, bananas=3),
    2: make_text(apples=2, bananas=1),
    3: make_text(cherries=3),
    4: make_text(apples=1),
    5: make_text(bananas=2, cherries=2),
    6: make_text(cherries=1),
}
"""The documents of the example: apples are in {1, 2, 4}, bananas in {1, 5, 2}, and cherries in
{3, 5, 6}, the best first.
"""

QUESTIONS = ("apples?", "bananas?", "cherries?")

CONTEXTS = (
    f"[Doc_1]: {TEXTS[1]}\n\n[Doc_2]: {TEXTS[2]}\n\n[Doc_4]: {TEXTS[4]}\n\n",
    "Please refer to [Doc_1] in the previous conversation.\n\n"
    f"[Doc_5]: {TEXTS[5]}\n\n"
    "Please refer to [Doc_2] in the previous conversation.\n\n",
    f"[Doc_3]: {TEXTS[3]}\n\n"
    "Please refer to [Doc_5] in the previous conversation.\n\n"
    f"[Doc_6]: {TEXTS[6]}\n\n",
)
"""The contexts of the example's three turns."""


@pytest.fixture
def corpus(here: Path) -> Path:
    rows = [json.dumps({"_id": str(name), "text": text}) for name, text in TEXTS.items()]
    (here / "corpus.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return here / "corpus.jsonl"


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server("openai_compatible")
    yield running
    running.close()


def make_pipeline(corpus: Path, **options: Any) -> RAGPipeline:
    """Make a pipeline that searches for the question alone, so that the example's documents are
    found.
    """
    return RAGPipeline("bm25", corpus, use_ragboost=True, top_k=3, rewriter="none", **options)


def ask(pipeline: RAGPipeline, question: str, conversation: str = "c", **options: Any) -> Any:
    return pipeline.process_conversation_turn(conversation, question, **options)


# The programs of the page
# ---------------------------------------------------------------------------------------------------


@pytest.fixture
def sglang() -> Iterator[Server]:
    """The server of the page's example, at its address."""
    pytest.importorskip("litellm")
    try:
        running = Server(host="localhost", port=30000)
    except OSError:
        pytest.skip("port 30000 is taken")
    running.plan_replies(make_reply("Hold out a test set."))
    yield running
    running.close()


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")  # of litellm and pydantic, at import
def test_the_programs_run_as_they_stand(
    here: Path,
    sglang: Server,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = SHARED / "seeds" / "ragboost_multi_turn.md"
    if not page.is_file():
        pytest.skip("RAGBoost's description is not here")
    text = page.read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(programs) == 5
    monkeypatch.syspath_prepend(ROOT / "docs/examples/multi_turn")
    (here / "corpus.jsonl").write_text(
        (ROOT / "docs/examples/multi_turn/corpus.jsonl").read_text(encoding="utf-8"),
        encoding="utf-8",
    )
    names: dict[str, Any] = {"corpus_dict": {str(n): {"text": TEXTS[n]} for n in TEXTS}}
    for program in programs:
        exec(program, names)
    printed = capsys.readouterr().out
    assert int(re.findall(r"Deduplicated: (\d+) docs", printed)[0]) > 0
    assert "Response: Hold out a test set." in printed
    assert re.search(r"Generation time: [\d.]+s", printed)
    assert "Deduplication saved: 0 docs" in printed  # one turn each: there is nothing to save
    assert "Total conversations: 5" in printed
    assert re.search(r"Average deduplication: \d+\.\d%", printed)
    assert names["novel_ids"] == [1, 2, 3]
    assert names["conv_stats"]["total_novel"] == 3
    assert sglang.requests[-1]["max_tokens"] == 200
    assert sglang.requests[-1]["model"] == "Qwen/Qwen2.5-7B-Instruct"


def test_the_modules_of_its_implementation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs/examples/multi_turn")
    from ragboost.pipeline.multi_turn import ConversationState, MultiTurnManager as Manager
    from ragboost.pipeline.rag_pipeline import RAGPipeline as Named
    from ragboost.server.conversation_tracker import ConversationTracker

    assert Manager is MultiTurnManager
    assert Named is RAGPipeline
    assert ConversationState("c").get_stats()["turn_count"] == 0
    assert ConversationTracker().deduplicate("r", [1]).new_docs == [1]


# How it works
# ---------------------------------------------------------------------------------------------------


def test_the_example_flow(corpus: Path) -> None:
    pipeline = make_pipeline(corpus)
    results = [ask(pipeline, question) for question in QUESTIONS]
    assert [result["context"] for result in results] == list(CONTEXTS)
    assert [result["retrieved_docs"] for result in results] == [
        ["1", "2", "4"],
        ["1", "5", "2"],
        ["3", "5", "6"],
    ]
    assert [result["novel_docs"] for result in results] == [["1", "2", "4"], ["5"], ["3", "6"]]
    assert [result["deduplicated_docs"] for result in results] == [[], ["1", "2"], ["5"]]


def test_the_example_flow_by_the_manager() -> None:
    manager = MultiTurnManager()
    corpus_map = {str(name): {"text": text} for name, text in TEXTS.items()}
    shown = []
    for documents in ([1, 2, 4], [1, 5, 2], [3, 5, 6]):
        context, novel, stats = manager.deduplicate_context(
            conversation_id="conv_1",
            retrieved_doc_ids=documents,
            corpus_map=corpus_map,
            enable_deduplication=True,
        )
        shown.append((context, novel, stats["num_deduplicated"]))
    assert shown == [
        (CONTEXTS[0], [1, 2, 4], 0),
        (CONTEXTS[1], [5], 2),
        (CONTEXTS[2], [3, 6], 1),
    ]
    # "Add only novel documents to conversation history"
    assert manager.get_conversation("conv_1").retrieved_history == {1, 2, 3, 4, 5, 6}


@pytest.mark.integration
def test_the_prompt_with_hints(server: Server) -> None:
    """`+system=ragboost` sends the frame and the labels of the page, and the earlier contexts."""
    server.plan_replies(*map(make_reply, ["On trees [Doc_1].", "It is yellow [Doc_5].", "Yes."]))
    passages = [Passage(str(name), text) for name, text in TEXTS.items()]
    chat = Pipeline.over(
        passages,
        "+system=ragboost",
        "rewriter=none",
        "top_k=3",
        "top_n=3",
        "llm=openai_compatible",
        "llm.model=local",
        f"llm.api_base={server.address}",
        "llm.retries=0",
    )
    records = [chat.turn("c", question) for question in QUESTIONS]
    assert [record.error for record in records] == ["", "", ""]
    assert records[0].answer.citations == ("1",)
    assert records[1].answer.text == "It is yellow [4]."  # people see numbers
    assert records[1].answer.citations == ("5",)
    frame = "With the chat history and the following context, answer the question:\n\n"
    framed = [
        f"{frame}{context}Question: {question}"
        for context, question in zip(CONTEXTS, QUESTIONS, strict=True)
    ]
    sent = [(each["role"], each["content"]) for each in server.requests[-1]["messages"]]
    assert sent[1:] == [
        ("user", framed[0]),
        ("assistant", "On trees [Doc_1]."),
        ("user", framed[1]),
        ("assistant", "It is yellow [Doc_5]."),
        ("user", framed[2]),
    ]
    assert sent[0][0] == "system"


@pytest.mark.integration
def test_a_generated_turn_hints_only_at_what_its_messages_have(
    corpus: Path, server: Server
) -> None:
    """ "No Information Loss: All content accessible via hints"."""
    server.plan_replies(make_reply("Yes."))
    inference = InferenceConfig("m", "vllm", server.address, max_tokens=50, temperature=0.5)
    pipeline = make_pipeline(corpus, inference=inference)
    for number in range(3):
        result = ask(pipeline, "apples?", generate_response=True)
        assert len(result["deduplicated_docs"]) == (3 if number else 0)
        sent = "\n".join(each["content"] for each in server.requests[-1]["messages"])
        for document in (1, 2, 4):
            assert sent.count(f"[Doc_{document}]: {TEXTS[document]}") == 1
    assert result["response"] == "Yes."
    assert result["generation_metadata"]["latency"] > 0
    assert server.requests[-1]["max_tokens"] == 50
    ask(pipeline, "apples?", generate_response=True, max_tokens=7)
    assert server.requests[-1]["max_tokens"] == 7


def test_what_the_preset_chooses() -> None:
    config = compose("+system=ragboost")
    assert (config.top_k, config.top_n) == (5, 5)
    assert config.rewriter[OPTION_KEY] == "last_n"
    assert config.retriever[OPTION_KEY] == "bm25_plain"
    assert (config.context.only_if_present, config.context.content_hash) == (False, False)
    assert (config.generator.wording, config.generator.labels) == ("ragboost", "documents")


# API reference
# ---------------------------------------------------------------------------------------------------


def test_the_fields_of_a_result(corpus: Path) -> None:
    pipeline = make_pipeline(corpus)
    ask(pipeline, "apples?")
    result = ask(pipeline, "bananas?")
    expected = {
        *("query", "retrieved_docs", "novel_docs", "deduplicated_docs", "context"),
        *("deduplication_stats", "conversation_stats"),
    }
    assert expected <= result.keys()
    assert result.keys().isdisjoint({"response", "generation_metadata"})
    assert result["query"] == "bananas?"
    stats = result["deduplication_stats"]
    assert (stats["num_retrieved"], stats["num_novel"], stats["num_deduplicated"]) == (3, 1, 2)
    assert stats["deduplication_rate"] == pytest.approx(2 / 3)
    answered = ask(pipeline, "cherries?", generate_response=True)
    assert {"response", "generation_metadata"} <= answered.keys()


@pytest.mark.parametrize("key", ["text", "query", "question"])
def test_a_query_may_be_a_dict(corpus: Path, key: str) -> None:
    assert ask(make_pipeline(corpus), {key: "apples?", "id": 1})["query"] == "apples?"  # type: ignore[arg-type]


def test_statistics_of_a_conversation_and_of_all(corpus: Path) -> None:
    pipeline = make_pipeline(corpus)
    for question in QUESTIONS:
        ask(pipeline, question, "user_1_session")
    ask(pipeline, "apples?", "user_2_session")
    assert pipeline.get_conversation_stats("nobody") is None
    stats = pipeline.get_conversation_stats("user_1_session")
    assert stats is not None
    assert stats.pop("tokens_saved") > 0
    assert stats.pop("tokens_sent_again") == 0
    assert stats == {
        "conversation_id": "user_1_session",
        "turn_count": 3,
        "total_retrieved": 9,
        "total_novel": 6,
        "total_deduplicated": 3,
        "deduplication_rate": pytest.approx(1 / 3),
    }
    everything = pipeline.get_conversation_stats()
    assert everything is not None
    assert everything["total_conversations"] == 2
    assert f"{everything['average_deduplication_rate']:.1%}" == "25.0%"


def test_the_example_metrics() -> None:
    """25 documents in five turns, of which 12 are novel: a rate of 52 %."""
    manager = MultiTurnManager()
    corpus_map = {str(n): {"text": f"text {n}"} for n in range(12)}
    turns = [[0, 1, 2, 3, 4], [0, 1, 2, 5, 6], [0, 5, 7, 8, 1], [7, 8, 9, 2, 3], [9, 10, 11, 0, 1]]
    for documents in turns:
        manager.deduplicate_context("c", documents, corpus_map)
    stats = manager.get_conversation_stats("c")
    assert stats is not None
    assert stats["total_retrieved"] == 25
    assert stats["total_novel"] == 12
    assert stats["total_deduplicated"] == 13
    assert f"{stats['deduplication_rate']:.0%}" == "52%"


def test_resets(corpus: Path) -> None:
    pipeline = make_pipeline(corpus)
    for conversation in ("a", "b"):
        ask(pipeline, "apples?", conversation)
    pipeline.reset_conversation("a")
    pipeline.reset_conversation("unknown")
    assert ask(pipeline, "apples?", "a")["deduplicated_docs"] == []
    assert ask(pipeline, "apples?", "b")["deduplicated_docs"] == ["1", "2", "4"]
    pipeline.reset_all_conversations()
    everything = pipeline.get_conversation_stats()
    assert everything is not None
    assert everything["total_conversations"] == 0
    assert ask(pipeline, "apples?", "b")["deduplicated_docs"] == []


def test_resets_of_the_manager() -> None:
    manager = MultiTurnManager()
    corpus_map = {"1": {"text": "one"}}
    for conversation in ("a", "b"):
        manager.deduplicate_context(conversation, [1], corpus_map)
    manager.reset_conversation("a")
    assert manager.get_conversation_stats("a") is None
    assert manager.get_conversation_stats("b") is not None
    manager.reset_all()
    assert manager.get_all_stats()["total_conversations"] == 0
    assert manager.deduplicate_context("b", [1], corpus_map)[1] == [1]


# Advanced usage and troubleshooting
# ---------------------------------------------------------------------------------------------------


def test_the_baseline(corpus: Path) -> None:
    pipeline = make_pipeline(corpus)
    for question in QUESTIONS:
        ask(pipeline, question, "conv_dedup", enable_deduplication=True)
        full = ask(pipeline, question, "conv_baseline", enable_deduplication=False)
        assert "refer to" not in full["context"]
        assert full["deduplicated_docs"] == []
    saved = pipeline.get_conversation_stats("conv_dedup")
    baseline = pipeline.get_conversation_stats("conv_baseline")
    assert saved is not None
    assert baseline is not None
    assert baseline["total_novel"] - saved["total_novel"] == 3


def test_conversations_are_independent(corpus: Path) -> None:
    pipeline = make_pipeline(corpus)
    ask(pipeline, "apples?", "user_1_session")
    assert ask(pipeline, "apples?", "user_2_session")["deduplicated_docs"] == []


# Mistakes
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": ""}, "query='': it is blank"),
        ({"query": " \n"}, "it is blank"),
        ({"query": {"text": " "}}, "it is blank"),
        ({"query": 5}, "query: a text, or a mapping .* not 5"),
        ({"query": None}, "query: a text, or a mapping .* not None"),
        ({"query": {"id": 7, 1: 2}}, "under text, query, question, not \\['1', 'id'\\]"),
        ({"conversation_id": ""}, "conversation_id='': it is blank"),
        ({"conversation_id": " "}, "conversation_id=' ': it is blank"),
        ({"conversation_id": 5}, "conversation_id: a text, not 5"),
        ({"max_tokens": -5}, "max_tokens=-5: .* at least 1"),
        ({"max_tokens": 0}, "max_tokens=0: .* at least 1"),
        ({"max_tokens": "200"}, "max_tokens='200': .* whole number"),
        ({"max_tokens": True}, "max_tokens=True: .* whole number"),
        ({"top_k": 0}, "top_k=0: .* at least 1"),
        ({"top_k": -1}, "top_k=-1: .* at least 1"),
        ({"top_k": 2.5}, "top_k=2.5: .* whole number"),
    ],
)
def test_an_argument_that_cannot_be_is_named(
    corpus: Path, arguments: dict[str, Any], message: str
) -> None:
    pipeline = make_pipeline(corpus)
    with pytest.raises(ConvragError, match=message):
        pipeline.process_conversation_turn(
            **{"conversation_id": "c", "query": "apples?", **arguments}
        )
    everything = pipeline.get_conversation_stats()
    assert everything is not None
    assert everything["total_conversations"] == 0


def test_mistakes_outside_of_turns(corpus: Path) -> None:
    pipeline = make_pipeline(corpus)
    with pytest.raises(ConfigError, match="conversation_id: a text, not 5"):
        pipeline.get_conversation_stats(5)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="conversation_id='': it is blank"):
        pipeline.reset_conversation("")
    with pytest.raises(ConfigError, match="top_k=0: .* at least 1"):
        RAGPipeline("bm25", corpus, top_k=0)
    with pytest.raises(ConfigError, match="max_tokens=-5: .* at least 1"):
        make_pipeline(corpus, inference=InferenceConfig("m", "vllm", max_tokens=-5))
