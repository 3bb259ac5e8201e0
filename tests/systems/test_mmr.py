"""MMR cluster rewriting's description, sentence by sentence: `+system=mmr`.

Elasticsearch, BGE and Mixtral are replaced by BM25, words and a scripted server of OpenAI's
protocol, so what is sent can be compared to the letter.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convrag import Turn
from convrag.api.groups import OPTION_KEY
from convrag.config.compose import compose
from convrag.sdk.search.diversity import compute_similarities, select_by_mmr
from convrag_clusterers.embeddings import choose_cluster_count
from convrag_mmr.history_sentences import extract_sentences
from convrag_mmr.rewriter import format_question, select_representatives
from llm_server import Server, make_reply
from tasks import run_task

QUESTIONS = (
    "what makes the different shapes of the moon",
    "What is the distance between the moon and earth?",
    "Define BERT",
    "what makes monkeys suitable for space travel?",
)
ANSWERS = (
    "The shapes are the lunar phases [1]. The Moon goes around the Earth in a month. Thank you!",
    "The average distance is 384,400 km [1]. It varies by 43,000 km in a month.",
    "Sure. BERT is a model of language [1].",
    "Monkeys are primates, as people are [1].",
)
REWRITES = (
    "could you tell me the distance between the Earth and the Moon",
    "what is BERT",
    "why are monkeys suitable for space travel",
)

PASSAGES = [
    ("phases", "Lunar phases", "The shapes of the moon are called lunar phases."),
    ("distance", "Distance", "The average distance between the moon and the earth is 384,400 km."),
    ("monkeys", "Monkeys", "Monkeys and other primates went to space before people did."),
    ("bert", "BERT", "BERT is a model of language."),
    ("tides", "Tides", "The moon makes the tides of the earth."),
    ("space", "Space", "Space begins 100 km above the earth."),
    ("travel", "Travel", "Travel to the moon takes three days."),
]


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server("openai_compatible")
    yield running
    running.close()


def write_data(folder: Path) -> list[str]:
    """Write a data set of one conversation, and return the overrides that choose it."""
    corpus = [
        {"_id": name, "title": title, "text": text, "url": f"https://example.org/{name}"}
        for name, title, text in PASSAGES
    ]
    turns = [{"conversation_id": "c", "question": question} for question in QUESTIONS]
    for name, rows in (("corpus", corpus), ("conversations", turns)):
        lines = [json.dumps(row) for row in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return [
        "dataset=jsonl",
        "dataset.conversations=conversations.jsonl",
        "dataset.corpus=corpus.jsonl",
    ]


def run_experiment(server: Server, folder: Path, *overrides: str) -> list[dict[str, Any]]:
    """Run the whole experiment; return the lines of intermediate/."""
    replies = [ANSWERS[0]]
    for rewrite, answer in zip(REWRITES, ANSWERS[1:], strict=True):
        replies += [rewrite, answer]
    server.plan_replies(*map(make_reply, replies))
    done = run_task(
        [
            "+system=mmr",
            *write_data(folder),
            "llm=openai_compatible",
            "llm.model=local",
            f"llm.api_base={server.address}",
            "embedder=words",
            "retriever=bm25",
            "tracker=none",
            "metrics=[]",
            *overrides,
        ],
        folder,
    )
    assert done.returncode == 0, done.stderr
    (file,) = (folder / "out" / "intermediate").glob("*.jsonl")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


# Pipeline workflow
# ---------------------------------------------------------------------------------------------------


@pytest.mark.integration
def test_the_turns_of_a_conversation(here: Path, server: Server) -> None:
    """Generated answers become the context of the next turns, and the first is not rewritten."""
    rows = run_experiment(server, here)
    assert [row["error"] for row in rows] == ["", "", "", ""]
    assert [row["original_query"] for row in rows] == list(QUESTIONS)
    assert [row["rewritten_query"] for row in rows] == [
        QUESTIONS[0],
        "Could you tell me the distance between the Earth and the Moon.",
        "What is BERT?",
        "Why are monkeys suitable for space travel?",
    ]
    assert len(server.requests) == 7  # one for the first turn, two for each other
    last_rewrite = server.requests[5]["messages"][-1]["content"]
    assert QUESTIONS[3] in last_rewrite
    selected = [unit["sentence"] for unit in rows[3]["selected_sentences"]]
    assert len(selected) == 5
    for sentence in selected:
        assert sentence in last_rewrite
    generation = server.requests[6]["messages"][-1]["content"]
    for question in QUESTIONS[:3]:
        assert question in generation  # the history
    for context in rows[3]["contexts"]:
        assert context["text"] in generation  # the retrieved documents
    rewriting = server.requests[5]
    assert (rewriting["temperature"], rewriting["max_tokens"]) == (0.5, 200)


@pytest.mark.integration
def test_the_rewritten_queries(here: Path, server: Server) -> None:
    run_experiment(server, here)
    (file,) = (here / "out" / "datasets").glob("*.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [row["_id"] for row in rows] == [f"c<::>{number}" for number in range(1, 5)]
    assert rows[2]["text"] == "|user|: What is BERT?"
    assert rows[1]["agent_response"] == ANSWERS[1]


@pytest.mark.integration
def test_the_intermediate_data(here: Path, server: Server) -> None:
    """The keys stand at the top level of each line."""
    row = run_experiment(server, here)[3]
    assert row["original_query"] == QUESTIONS[3]
    assert row["rewritten_query"] == "Why are monkeys suitable for space travel?"
    sentences = row["extracted_sentences"]
    assert [unit["sentence"] for unit in sentences] == [
        QUESTIONS[0],
        "The shapes are the lunar phases.",
        "The Moon goes around the Earth in a month.",
        QUESTIONS[1],
        "The average distance is 384,400 km.",
        "It varies by 43,000 km in a month.",
        "Define BERT",
        "BERT is a model of language.",
    ]
    assert row["num_extracted_sentences"] == 8
    assert row["num_clusters"] == 2
    assert sum(row["cluster_sizes"].values()) == 8
    assert len(row["cluster_sizes"]) == 2
    assert 5 <= len(row["representative_sentences"]) <= 6
    for unit in row["selected_sentences"]:
        assert unit in row["representative_sentences"]
        assert unit.keys() == {"sentence", "speaker", "turn", "cluster_id"}
        assert unit["speaker"] in ("user", "agent")
        assert 1 <= unit["turn"] <= 3
    assert row["agent_response"] == ANSWERS[3]


@pytest.mark.integration
def test_contexts_are_the_documents_that_the_answer_was_generated_from(
    here: Path, server: Server
) -> None:
    for row in run_experiment(server, here):
        contexts = row["contexts"]
        assert 1 <= len(contexts) <= 5
        assert [each["id"] for each in contexts] == [each["id"] for each in row["evidence"]]
        scores = [each["score"] for each in contexts]
        assert scores == sorted(scores, reverse=True)
        for each in contexts:
            assert each["title"]
            assert each["text"]
            assert each["url"] == f"https://example.org/{each['id']}"


@pytest.mark.integration
def test_other_tasks_take_the_preset_too(here: Path, server: Server) -> None:
    """`task=run` is the plain one, without the keys at the top level."""
    row = run_experiment(server, here, "task=run")[3]
    assert "selected_sentences" not in row
    assert "selected_sentences" in row["trace"]["rewriter"]
    assert compose("+system=mmr", "task=chat").task[OPTION_KEY] == "chat"
    assert compose("+system=mmr", "rewriter=dhrag").rewriter[OPTION_KEY] == "dhrag"


# Step by step
# ---------------------------------------------------------------------------------------------------


def list_sentences(*turns: Turn) -> list[tuple[str, str]]:
    return [(each.sentence, each.speaker) for each in extract_sentences(turns, min_words=3)]


def test_user_turns_are_single_units_and_answers_are_split() -> None:
    turn = Turn("1", "Is it far? And is it old?", "It is far. Thank you. Yes. It is old, too.")
    assert list_sentences(turn) == [
        ("Is it far? And is it old?", "user"),
        ("It is far.", "agent"),
        ("It is old, too.", "agent"),
    ]


@pytest.mark.parametrize(
    "question", ["Define BERT", "Why?", "什么是月亮？", "月とは何ですか", "달은?"]
)
def test_a_short_user_turn_is_a_unit(question: str) -> None:
    assert list_sentences(Turn("1", question, "OK.")) == [(question, "user")]


def test_sentences_without_spaces_are_not_short() -> None:
    turn = Turn("1", "月亮多远？", "月亮离地球三十八万公里。谢谢。它绕着地球转。")
    assert list_sentences(turn) == [
        ("月亮多远？", "user"),
        ("月亮离地球三十八万公里。", "agent"),
        ("它绕着地球转。", "agent"),
    ]


def test_a_conversation_in_chinese_is_rewritten(here: Path, server: Server) -> None:
    """No word of it stands between spaces, and yet it has sentences to select from."""
    questions = ("什么是月亮？", "它有多远？")
    rows = [json.dumps({"conversation_id": "c", "question": each}) for each in questions]
    data = write_data(here)
    (here / "conversations.jsonl").write_text("\n".join(rows), encoding="utf-8")
    server.plan_replies(*map(make_reply, ["月亮是地球的卫星。", "月亮有多远？", "三十八万公里。"]))
    model = ["llm=openai_compatible", "llm.model=local", f"llm.api_base={server.address}"]
    others = ["embedder=words", "retriever=bm25", "tracker=none", "metrics=[]"]
    done = run_task(["+system=mmr", *data, *model, *others], here)
    assert done.returncode == 0, done.stderr
    (file,) = (here / "out" / "intermediate").glob("*.jsonl")
    row = json.loads(file.read_text(encoding="utf-8").splitlines()[1])
    assert row["method"] == "llm"
    assert row["rewritten_query"] == "月亮有多远？"
    assert [unit["sentence"] for unit in row["extracted_sentences"]] == [
        "什么是月亮？",
        "月亮是地球的卫星。",
    ]


@pytest.mark.parametrize(
    ("sentences", "clusters"), [(3, 2), (4, 2), (8, 2), (9, 3), (24, 4), (49, 7), (200, 7)]
)
def test_the_number_of_clusters(sentences: int, clusters: int) -> None:
    """About the square root of n, between 2 and 7."""
    assert choose_cluster_count(sentences) == clusters
    assert clusters == max(2, min(7, math.floor(math.sqrt(sentences))))


def make_rows(n: int, dimensions: int = 8) -> Any:
    rows = np.random.default_rng(7).normal(size=(n, dimensions)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_seven_clusters_have_21_candidates() -> None:
    rows = make_rows(70)
    labels = [number % 7 for number in range(70)]
    candidates = select_representatives(rows, labels, 3).tolist()
    assert len(candidates) == 21
    for label in range(7):
        members = [number for number in range(70) if labels[number] == label]
        centroid = rows[members].mean(axis=0)
        nearest = sorted(members, key=lambda number: -float(rows[number] @ centroid))[:3]
        assert [each for each in candidates if labels[each] == label] == sorted(nearest)


def test_mmr_is_the_formula() -> None:
    """lambda x similarity with the query - (1 - lambda) x the highest with a selected one."""
    rows = make_rows(21)
    query = make_rows(22)[21]
    relevance = rows @ query
    selected: list[int] = []
    for _ in range(5):
        scores = {}
        for number in range(21):
            if number not in selected:
                redundancy = max((float(rows[number] @ rows[each]) for each in selected), default=0)
                scores[number] = 0.7 * float(relevance[number]) - 0.3 * redundancy
        selected.append(max(scores, key=scores.__getitem__))
    assert selected[0] == int(np.argmax(relevance))
    found = select_by_mmr(compute_similarities(rows, query), rows, 5, 0.7)
    assert list(found) == selected


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("why are monkeys  suitable", "Why are monkeys suitable?"),
        ("the distance to the moon", "The distance to the moon."),
        ("Is it far?", "Is it far?"),
    ],
)
def test_post_processing(text: str, formatted: str) -> None:
    assert format_question(text) == formatted


# Usage
# ---------------------------------------------------------------------------------------------------


def test_the_published_command(tmp_path: Path) -> None:
    """`python3 mmr_cluster_rewrite.py --domain clapnq --num-sentences 5`."""
    config = compose(
        "+system=mmr",
        "dataset=mtrag",
        f"dataset.path={tmp_path}",
        "dataset.domain=clapnq",
        "rewriter.num_sentences=5",
    )
    rewriter = config.rewriter
    assert (rewriter.num_sentences, rewriter.representatives, rewriter.lambda_) == (5, 3, 0.7)
    assert (rewriter.last_exchange, rewriter.question_weight) == (False, 0.0)
    assert config.embedder.model == "BAAI/bge-base-en-v1.5"
    assert config.embedder.query_prefix == ""
    assert "Mixtral" in config.llm.model
    assert config.llm.api_key_env == "TOGETHER_API_KEY"
    assert config.retriever[OPTION_KEY] == "elser"
    assert (config.top_k, config.top_n, config.history) == (5, 5, "generated")
    assert compose("+system=mmr", "rewriter=mmr_k10").rewriter.num_sentences == 10


@pytest.mark.integration
def test_without_es_url_the_command_says_so(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("elasticsearch")
    monkeypatch.delenv("ES_URL", raising=False)
    done = run_task(["+system=mmr", "llm=extractive", "embedder=words", "tracker=none"], here)
    assert done.returncode == 2
    assert "ES_URL" in done.stderr
