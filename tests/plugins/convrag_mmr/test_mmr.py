import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from convrag import LLM, Clusterer, DataError, Embedder, LLMError, Question, Turn
from convrag.api.session import Session
from convrag.config.compose import compose
from convrag.testing import RewriterContract
from convrag_clusterers.embeddings import KMeansClusterer
from convrag_mmr.history_sentences import extract_sentences, is_filler
from convrag_mmr.rewriter import (
    CachingEmbedder,
    MMRRewriter,
    format_question,
    select_representatives,
)
from toys import Says

REPLY = "What is the distance from the Earth to the Moon?"


class Letters(Embedder):
    """Counts letters, and keeps what it was asked."""

    def __init__(self) -> None:
        self.passages: list[str] = []
        self.queries: list[str] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        (self.queries if query else self.passages).extend(texts)
        counts = [[text.lower().count(chr(letter)) for letter in range(97, 123)] for text in texts]
        rows = np.array(counts, dtype=np.float32).reshape(len(texts), 26)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


class Labels(Clusterer):
    """Gives the labels that it was told."""

    def __init__(self, *labels: int) -> None:
        self.labels = labels

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> Any:
        return np.array(self.labels, dtype=np.int64)


def rewriter(
    llm: LLM | None = None, embedder: Embedder | None = None, **parameters: Any
) -> MMRRewriter:
    parameters.setdefault("clusterer", KMeansClusterer())
    return MMRRewriter(llm=llm or Says(REPLY), embedder=embedder or Letters(), **parameters)


MOON = (
    Turn(
        "c<::>1",
        "What makes the shapes of the moon?",
        "Sure, the Moon has phases. They repeat each month. Thank you!",
    ),
    Turn(
        "c<::>2",
        "Who walked on it first?",
        "Okay. Neil Armstrong walked on the Moon in 1969 [1]. Aldrin followed him.",
    ),
    Turn("c<::>3", "And the last?", "Eugene Cernan was the last."),
)


def ask(text: str = "How far is it?", history: tuple[Turn, ...] = MOON, **fields: Any) -> Question:
    return Question(
        text, "c", f"c<::>{len(history) + 1}", number=len(history) + 1, history=history, **fields
    )


class TestContract(RewriterContract):
    def make(self) -> MMRRewriter:
        return rewriter()


# Extraction
# --------------------------------------------------------------------------------------------------------


def extracted(*turns: Turn, min_words: int = 3) -> list[tuple[str, str, int]]:
    return [tuple(unit) for unit in extract_sentences(turns, min_words)]


def test_user_turns_stay_whole_and_answers_are_split() -> None:
    turn = Turn(
        "1",
        "Who was Dr. Oe? And what\n did he do?",
        "Dr. Oe met J. Doe in St. Ives. They spoke of 3.5 things.",
    )
    assert extracted(turn) == [
        ("Who was Dr. Oe? And what did he do?", "user", 1),
        ("Dr. Oe met J. Doe in St. Ives.", "agent", 1),
        ("They spoke of 3.5 things.", "agent", 1),
    ]


def test_short_sentences_go_and_repeated_ones_are_taken_once() -> None:
    turns = [
        Turn("1", "The moon?", "It is old. Very old."),
        Turn("2", "Is it old?", "It is old. It shines at night."),
    ]
    expected = [
        ("The moon?", "user", 1),
        ("It is old.", "agent", 1),
        ("Is it old?", "user", 2),
        ("It shines at night.", "agent", 2),
    ]
    assert extracted(*turns) == expected
    assert len(extracted(*turns, min_words=1)) == 5


@pytest.mark.parametrize("filler", [
    "Thank you for your question!", "I'm sorry, but I don't know.", "That's interesting to know.", "Okay, sure.",
    "Thanks very much.", "I’m sorry!",
])  # fmt: skip
def test_filler_is_a_whole_sentence(filler: str) -> None:
    assert is_filler(filler)
    informative = f"{filler.rstrip('.!')}, the Moon is 384,400 km away."
    assert extracted(Turn("1", "", informative)) == [(informative, "agent", 1)]


@pytest.mark.parametrize("text", [
    "Sure, the Moon has phases.", "Okay so Laika was a dog.", "I don't have wings, said the penguin.", "It is 3.",
    "月。", "Thank you notes cost money.", "...", "", "Sure-footed horses.", "Is it that?",
    "Let me know if you have any other questions.",
])  # fmt: skip
def test_what_says_something_is_no_filler(text: str) -> None:
    assert not is_filler(text)


@pytest.mark.parametrize("text", ["What about that?", "Define BERT", "Thanks!", "什么是月亮？"])
def test_what_the_user_says_is_one_unit_whatever_its_length(text: str) -> None:
    assert extracted(Turn("1", text, "")) == [(text, "user", 1)]


def test_words_are_counted_in_scripts_without_spaces() -> None:
    moon = Turn("1", "月亮?", "月亮绕着地球转。是的。月は地球の周りを回る。")
    assert extracted(moon) == [
        ("月亮?", "user", 1),
        ("月亮绕着地球转。", "agent", 1),
        ("月は地球の周りを回る。", "agent", 1),
    ]


# Representatives
# ---------------------------------------------------------------------------------------------------


def reference_representatives(rows: Any, labels: list[int], most: int) -> list[int]:
    found = [index for index, label in enumerate(labels) if label < 0]
    for label in set(labels) - {-1}:
        members = [index for index, other in enumerate(labels) if other == label]
        centroid = rows[members].mean(axis=0)
        length = np.linalg.norm(centroid) or 1.0
        near = {index: round(float(rows[index] @ centroid / length), 6) for index in members}
        found += sorted(members, key=lambda index: (-near[index], index))[:most]
    return sorted(found)


@settings(max_examples=200)
@given(
    st.integers(0, 10_000), st.lists(st.integers(-1, 4), min_size=1, max_size=40), st.integers(1, 4)
)
def test_representatives_are_nearest_to_the_centroid(
    seed: int, labels: list[int], most: int
) -> None:
    rows = np.random.default_rng(seed).normal(size=(len(labels), 5)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found = select_representatives(rows, labels, most).tolist()
    assert found == reference_representatives(rows.astype(float), labels, most)


# The rewrite
# -------------------------------------------------------------------------------------------------------


def test_the_record_has_the_fields_of_the_seed() -> None:
    rewrite = rewriter(num_sentences=2).rewrite(ask())
    trace = rewrite.trace
    assert trace["method"] == "llm"
    assert trace["num_extracted_sentences"] == 8 == len(trace["extracted_sentences"])
    assert trace["num_clusters"] == 2 == len(trace["cluster_sizes"])
    assert sum(trace["cluster_sizes"].values()) == 8
    assert 2 <= len(trace["representative_sentences"]) <= 6
    assert len(trace["selected_sentences"]) == 2
    assert trace["extracted_sentences"][1] == {
        "sentence": "Sure, the Moon has phases.", "speaker": "agent", "turn": 1,
        "cluster_id": trace["extracted_sentences"][1]["cluster_id"],
    }  # fmt: skip
    for unit in trace["selected_sentences"]:
        assert unit in trace["representative_sentences"]
        assert unit in trace["extracted_sentences"]
    assert json.loads(json.dumps(trace)) == trace


def test_every_cluster_is_represented_and_outliers_stand_for_themselves() -> None:
    trace = (
        rewriter(clusterer=Labels(0, 0, 0, 0, -1, 1, -1, 1), representatives=1).rewrite(ask()).trace
    )
    assert (trace["num_clusters"], trace["cluster_sizes"]) == (2, {"-1": 2, "0": 4, "1": 2})
    assert [unit["cluster_id"] for unit in trace["representative_sentences"]].count(-1) == 2
    assert len(trace["representative_sentences"]) == 4


def test_the_prompt_is_in_order_labelled_and_ends_with_the_last_exchange() -> None:
    llm = Says(REPLY)
    rewriter(llm, num_sentences=3).rewrite(ask("How far is the moon with its phases?"))
    (prompt,) = llm.prompts
    assert (prompt.task, prompt.sampling) == ("rewrite", {"temperature": 0.5, "max_tokens": 200})
    context, history = prompt.inputs["context"], prompt.inputs["history"]
    assert [line["turn"] for line in context] == sorted(line["turn"] for line in context)
    assert context[-2:] == [
        {"turn": 3, "speaker": "User", "text": "And the last?"},
        {"turn": 3, "speaker": "Assistant", "text": "Eugene Cernan was the last."},
    ]
    assert history[-1] == {
        "turn": 3,
        "user": "And the last?",
        "assistant": "Eugene Cernan was the last.",
    }
    user = prompt.messages[-1].content
    positions = [user.index(f"{line['speaker']}: {line['text']}") for line in context]
    assert positions == sorted(positions)
    assert user.endswith("How far is the moon with its phases?")
    assert user.count("Turn 3") == 1


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.text(max_size=30), st.text(alphabet="abc .?!\n", max_size=60)), max_size=6
    ),
    st.integers(1, 6),
)
def test_any_history_is_shown_in_order_with_its_last_exchange(
    pairs: list[tuple[str, str]], count: int
) -> None:
    history = tuple(Turn(f"c<::>{n}", *pair) for n, pair in enumerate(pairs, 1))
    llm = Says("rewritten")
    rewrite = rewriter(llm, num_sentences=count).rewrite(ask(history=history))
    if rewrite.trace["method"] != "llm":
        assert (rewrite.text, llm.prompts) == ("How far is it?", [])
        return
    shown = llm.prompts[0].inputs["history"]
    assert [exchange["turn"] for exchange in shown] == sorted(
        {exchange["turn"] for exchange in shown}
    )
    assert (shown[-1]["user"], shown[-1]["assistant"]) == pairs[-1]
    said = [
        (line["turn"], line["speaker"], line["text"]) for line in llm.prompts[0].inputs["context"]
    ]
    for unit in rewrite.trace["selected_sentences"]:
        if unit["turn"] < len(pairs):
            role = {"user": "User", "agent": "Assistant"}[unit["speaker"]]
            (text,) = [
                text for turn, speaker, text in said if (turn, speaker) == (unit["turn"], role)
            ]
            assert unit["sentence"] in text


@pytest.mark.parametrize(("asked", "method"), [
    (Question("how far?"), "first_turn"),
    (Question("how far?", number=3), "no_history"),
    (ask("how far?", (Turn("c<::>1", " ", "Hello. Thank you very much!"),)), "no_sentences"),
])  # fmt: skip
def test_without_sentences_the_question_goes_through(asked: Question, method: str) -> None:
    llm, embedder = Says(REPLY), Letters()
    rewrite = rewriter(llm, embedder).rewrite(asked)
    assert [(query.text, query.weight) for query in rewrite.queries] == [("how far?", 1)]
    assert (
        rewrite.trace["method"],
        rewrite.trace["num_extracted_sentences"],
        rewrite.fallback,
    ) == (method, 0, "")
    assert llm.prompts == embedder.passages == []


@pytest.mark.parametrize(
    "llm", [Says(LLMError("the server is down")), Says(""), Says("```json\n```"), Says("x" * 500)]
)
def test_a_failure_gives_the_question_and_says_why(llm: Says) -> None:
    rewrite = rewriter(llm, post_process=True).rewrite(ask("how far is it"))
    assert [(query.text, query.weight) for query in rewrite.queries] == [("how far is it", 1)]
    assert rewrite.fallback
    assert rewrite.trace["num_extracted_sentences"] == 8


def test_the_question_is_searched_for_beside_its_rewrite() -> None:
    def queries(reply: str, **parameters: Any) -> list[tuple[str, float]]:
        return [
            (q.text, q.weight) for q in rewriter(Says(reply), **parameters).rewrite(ask()).queries
        ]

    assert queries("How far is the Moon?") == [("How far is the Moon?", 1), ("How far is it?", 1)]
    assert queries("How far is the Moon?", question_weight=0.5)[1] == ("How far is it?", 0.5)
    assert queries("How far is the Moon?", question_weight=0.0) == [("How far is the Moon?", 1)]
    assert queries("How far is  it?") == [("How far is  it?", 1)]


def test_post_processing_is_an_option() -> None:
    assert rewriter(Says("distance to the moon")).rewrite(ask()).text == "distance to the moon"
    assert (
        rewriter(Says("why is the moon far"), post_process=True).rewrite(ask()).text
        == "Why is the moon far?"
    )


@pytest.mark.parametrize(("text", "expected"), [
    ("how  far is it", "How far is it?"), ("is it far", "Is it far."), ("can dogs fly?", "Can dogs fly?"), ("what's new", "What's new?"), ("", ""),
    ("moon distance", "Moon distance."), ("tell me about it", "Tell me about it."), ("What is C++", "What is C++?"),
    ("iPhone price.", "IPhone price."), ("what is it,", "What is it?"), ("he asked: “is it?”", "He asked: “is it?”"),
    ("the distance (in km)", "The distance (in km)."), ("стоит ли это", "Стоит ли это."), ("月は遠い。", "月は遠い。"),
])  # fmt: skip
def test_formatting_a_question(text: str, expected: str) -> None:
    assert format_question(text) == expected


def test_the_published_prompt_holds_the_selected_sentences_and_nothing_else() -> None:
    llm = Says(REPLY)
    rewrite = rewriter(llm, num_sentences=2, last_exchange=False).rewrite(
        ask("How far is the moon with its phases?")
    )
    selected = [unit["sentence"] for unit in rewrite.trace["selected_sentences"]]
    assert len(selected) == 2
    (prompt,) = llm.prompts
    shown = [prompt.inputs["history"], prompt.inputs["context"]]
    texts = [
        [
            text
            for exchange in shown[0]
            for text in (exchange["user"], exchange["assistant"])
            if text
        ]
    ]
    texts.append([line["text"] for line in shown[1]])
    for found in texts:
        assert sorted(" ".join(found).split()) == sorted(" ".join(selected).split())
    said = prompt.messages[-1].content
    everything = [unit["sentence"] for unit in rewrite.trace["extracted_sentences"]]
    assert [sentence for sentence in everything if sentence in said] == [
        s for s in everything if s in selected
    ]


def test_each_sentence_is_embedded_once_per_conversation() -> None:
    embedder = Letters()
    stage = rewriter(embedder=embedder)
    conversation = Session("c")
    for number in range(12):
        stage.rewrite(conversation.make_question(f"What is thing number {number}?"))
        answer = (
            f"Thing {number} is a thing. It was made in {1900 + number}. All things are things."
        )
        conversation.add_turn(Turn(f"c<::>{number + 1}", f"What is thing number {number}?", answer))
    assert len(embedder.passages) == len(set(embedder.passages)) == 11 * 3 + 1
    assert len(embedder.queries) == 11


def test_the_clusterer_gets_the_same_embedder_without_its_cost() -> None:
    inner = Letters()
    inner.fingerprint = "letters"
    outer = CachingEmbedder(inner, {})
    assert outer.fingerprint == "letters"
    assert np.array_equal(outer.embed(["b", "a", "b"]), Letters().embed(["b", "a", "b"]))
    outer.embed(["a"])
    assert inner.passages == ["b", "a"]
    assert outer.embed([]).shape == (0, 26)
    outer.embed(["a"], query=True)
    assert inner.queries == ["a"]


def test_a_clusterer_that_miscounts_is_named() -> None:
    with pytest.raises(Exception, match="Labels gave 2 labels for 8 texts"):
        rewriter(clusterer=Labels(0, 1)).rewrite(ask())


def test_another_prompt(tmp_path: Path) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text(
        "{{ context | length }} {{ history[-1].user }} {{ question }}", encoding="utf-8"
    )
    llm = Says(REPLY)
    stage = rewriter(llm, prompt=file)
    stage.rewrite(ask())
    assert llm.prompts[0].messages[0].content.endswith("And the last? How far is it?")
    assert stage.prompt_templates[0].hash != rewriter().prompt_templates[0].hash
    with pytest.raises(DataError, match="cannot be read"):
        rewriter(prompt=tmp_path / "none.jinja")


# As the command runs it
# --------------------------------------------------------------------------------------------


def test_the_published_choices() -> None:
    preset = compose("+system=mmr", "llm=extractive")
    assert (
        preset.rewriter._option_,
        preset.rewriter.num_sentences,
        preset.rewriter.post_process,
    ) == ("mmr", 5, True)
    assert (
        preset.rewriter.representatives,
        preset.rewriter.lambda_,
        preset.rewriter.question_weight,
    ) == (3, 0.7, 0)
    assert (preset.embedder.model, preset.embedder.query_prefix) == ("BAAI/bge-base-en-v1.5", "")
    assert (preset.rewriter.last_exchange, compose("rewriter=mmr").rewriter.last_exchange) == (
        False,
        True,
    )
    expected = ("direct", 0.7, 512)
    assert (
        preset.generator._option_,
        preset.generator.temperature,
        preset.generator.max_tokens,
    ) == expected
    assert preset.retriever._option_ == "elser"
    assert compose("+system=mmr", "llm=extractive", "rewriter=mmr_k10").rewriter.num_sentences == 10
    assert compose("+system=mmr", "llm=extractive", "rewriter=none").rewriter._option_ == "none"
