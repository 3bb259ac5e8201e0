"""DH-RAG's description, sentence by sentence: `+system=dhrag` and the commands of its files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convrag import Embedder, Passage, Question, Turn
from convrag.api.groups import OPTION_KEY
from convrag.config.compose import compose
from convrag_dhrag.rewriter import DHRagRewriter
from convrag_rewriters.baselines import LastNRewriter
from convrag_rewriters.threshold import ThresholdRewriter
from tasks import run_task
from toys import Says

TOPICS = ("tea", "moon", "bread", "chess", "rust")
REWRITE = "How hot should water for green tea be?"


class Topics(Embedder):
    """A dimension for each topic; counts how often a text names it."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        counts = [[text.lower().count(topic) for topic in TOPICS] for text in texts]
        rows = np.array(counts, np.float32).reshape(len(texts), len(TOPICS))
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def make(llm: Says | None = None, **parameters: Any) -> DHRagRewriter:
    """The rewriter of `+system=dhrag`, with another embedder and model."""
    published = {"matched_exchange": False, "words": "plain", "embedder": Topics(), **parameters}
    return DHRagRewriter(llm=llm or Says(REWRITE), **published)


def make_turn(number: int, question: str, answer: str, passage: str = "") -> Turn:
    passages = (Passage(f"p{number}", passage),) if passage else ()
    return Turn(f"c<::>{number}", question, answer, passages)


TALK = (
    make_turn(1, "how is green tea brewed", "green tea is brewed at eighty degrees", "tea leaves"),
    make_turn(2, "does black tea need boiling water", "black tea needs boiling water"),
    make_turn(3, "when is the moon full", "the moon is full every month", "the moon orbits"),
    make_turn(4, "why does the moon glow red", "sunlight reddens the moon"),
    make_turn(5, "how long does bread rise", "bread dough rises for two hours"),
    make_turn(6, "which flour makes rye bread", "rye bread is made of rye flour"),
)
"""Three topics of two turns each."""


def ask(text: str, turns: Sequence[Turn] = TALK, rewriter: DHRagRewriter | None = None) -> Any:
    question = Question(
        text, "c", f"c<::>{len(turns) + 1}", number=len(turns) + 1, history=tuple(turns)
    )
    return (rewriter or make()).rewrite(question)


def trace_all(text: str, turns: Sequence[Turn] = TALK, **parameters: Any) -> Any:
    """Return the trace with all turns selected."""
    return ask(text, turns, make(top_k=len(turns), **parameters)).trace


RETURN = "and how hot is water for green tea"


# The paper's concepts
# ---------------------------------------------------------------------------------------------------


def test_the_three_tiers() -> None:
    """Clusters of topics, summaries that a triple represents, and triples."""
    match = trace_all(RETURN)["match"]
    assert {"c<::>1", "c<::>2"} <= set(match["cluster"]["turns"])
    assert {"c<::>5", "c<::>6"}.isdisjoint(match["cluster"]["turns"])
    assert set(match["summary"]["turns"]) <= set(match["cluster"]["turns"])
    assert match["summary"]["representative"] in match["summary"]["turns"]
    assert match["triple"]["turn_id"] == "c<::>1"
    assert match["triple"]["turn_id"] in match["summary"]["turns"]


def test_a_triple_has_query_passage_and_response() -> None:
    """The question is matched by the words of each of the three."""
    for words in ("brewed", "leaves", "degrees"):
        assert trace_all(f"what about {words}")["match"]["triple"]["turn_id"] == "c<::>1"


def test_chains_of_related_questions() -> None:
    """A question that builds on earlier ones continues their chain, also after another topic."""
    trace = trace_all(RETURN)
    assert trace["chains"][:-1] == [0, 0, 1, 1, 2, 2]
    assert trace["chain"] == 0
    assert trace_all("is chess older than rust")["chain"] == 3


# Scoring formula
# ---------------------------------------------------------------------------------------------------


def test_the_score_is_the_formula() -> None:
    """(alpha x relevance) + ((1 - alpha) x recency) + cluster, summary and chain bonus."""
    trace = trace_all(RETURN)
    match = trace["match"]
    assert len(trace["reasons"]) == 6
    for number, reason in enumerate(trace["reasons"]):
        turn_id = f"c<::>{number + 1}"
        assert reason["turn_id"] == turn_id
        embedded = Topics().embed([RETURN, f"{TALK[number].question}\n{TALK[number].answer}"])
        assert reason["relevance"] == pytest.approx(float(embedded[0] @ embedded[1]), abs=1e-5)
        assert reason["recency"] == pytest.approx(number / 5)
        assert reason["cluster_bonus"] == (0.10 if turn_id in match["cluster"]["turns"] else 0)
        assert reason["summary_bonus"] == (0.05 if turn_id in match["summary"]["turns"] else 0)
        assert reason["chain_bonus"] == (0.05 if number < 2 else 0)
        bonus = reason["cluster_bonus"] + reason["summary_bonus"] + reason["chain_bonus"]
        base = 0.6 * reason["relevance"] + 0.4 * reason["recency"]
        assert reason["score"] == pytest.approx(base + bonus, abs=1e-5)


def test_alpha_of_one_is_pure_relevance_and_of_zero_pure_recency() -> None:
    no_bonus = {"cluster_bonus": 0.0, "summary_bonus": 0.0, "chain_bonus": 0.0}
    for reason in trace_all(RETURN, alpha=1.0, **no_bonus)["reasons"]:
        assert reason["score"] == reason["relevance"]
    for reason in trace_all(RETURN, alpha=0.0, **no_bonus)["reasons"]:
        assert reason["score"] == reason["recency"]


def test_the_best_turns_are_selected_and_shown_to_the_model() -> None:
    llm = Says(REWRITE)
    rewrite = ask(RETURN, rewriter=make(llm))
    scores = {each["turn_id"]: each["score"] for each in trace_all(RETURN)["reasons"]}
    best = sorted(scores, key=lambda turn_id: -scores[turn_id])[:3]
    assert rewrite.trace["selected"] == sorted(best)
    assert "c<::>2" in best  # the topic to which the question returns
    prompt = llm.prompts[0].messages[-1].content
    for turn in TALK:
        assert (turn.question in prompt) == (turn.id in best)
        assert (turn.answer in prompt) == (turn.id in best)
    assert rewrite.text == REWRITE


def test_a_first_turn_has_no_history_to_filter() -> None:
    llm = Says(REWRITE)
    assert ask("how is tea brewed", (), make(llm)).text == "how is tea brewed"
    assert llm.prompts == []


def test_a_short_conversation_is_shown_whole() -> None:
    assert ask("and black tea", TALK[:3]).trace["selected"] == ["c<::>1", "c<::>2", "c<::>3"]


# Parameters, files and other approaches
# ---------------------------------------------------------------------------------------------------


def test_the_parameters() -> None:
    config = compose("+system=dhrag")
    rewriter = config.rewriter
    assert rewriter[OPTION_KEY] == "dhrag"
    assert rewriter.alpha == 0.6
    assert rewriter.max_clusters == 5
    assert rewriter.chain_threshold == 0.4
    assert rewriter.top_k == 3
    assert (rewriter.cluster_bonus, rewriter.summary_bonus, rewriter.chain_bonus) == (
        0.1,
        0.05,
        0.05,
    )
    assert config.embedder.model == "sentence-transformers/all-MiniLM-L6-v2"
    assert config.llm.model.endswith("claude-sonnet-4-5-20250929")


def test_at_most_five_clusters() -> None:
    turns = [
        make_turn(n, f"{TOPICS[n % 5]} question {n}", f"{TOPICS[n % 5]} {n}") for n in range(64)
    ]
    trace = trace_all("more on tea", turns)
    assert trace["match"]["cluster"]["number"] < 5
    assert len(trace["match"]["cluster"]["turns"]) >= 64 // 5 - 1


def test_the_approaches_that_it_is_compared_with() -> None:
    """Naive: the last turns. Targeted: a threshold of similarity, and no hierarchy."""
    question = Question(RETURN, "c", "c<::>7", number=7, history=TALK)
    naive = LastNRewriter(n=2).rewrite(question).text
    assert TALK[5].question in naive
    assert TALK[0].question not in naive
    llm = Says(REWRITE)
    ThresholdRewriter(llm=llm, embedder=Topics(), threshold=0.3).rewrite(question)
    prompt = llm.prompts[0].messages[-1].content
    assert TALK[0].question in prompt
    assert TALK[2].question not in prompt


MODELS = ["llm=extractive", "embedder=words", "retriever=bm25", "tracker=none"]
EXPERIMENT = ["history=gold", "generator=none", "metrics=[ranking]", "limit=2", "report=false"]


def test_the_commands_of_its_files(here: Path) -> None:
    """Rewrite (BEIR's format), retrieve with the rewritten queries, evaluate and compare."""
    rewritten = run_task(["+system=dhrag", *MODELS, *EXPERIMENT, "hydra.run.dir=rewritten"], here)
    assert rewritten.returncode == 0, rewritten.stderr
    (file,) = (here / "rewritten" / "datasets").glob("*.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert rows
    for row in rows:
        assert "<::>" in row["_id"]
        assert row["text"].startswith("|user|: ")
    assert "dhrag: " in rewritten.stdout  # statistics of chains next to the paper's
    assert "1.73" in rewritten.stdout
    assert (here / "rewritten" / "analysis" / "dhrag.jsonl").is_file()

    replay = ["rewriter=replay", "rewriter.path=rewritten/datasets"]
    retrieved = run_task([*replay, *MODELS, *EXPERIMENT, "hydra.run.dir=retrieved"], here)
    assert retrieved.returncode == 0, retrieved.stderr
    ranking = (here / "retrieved" / "run.trec").read_text(encoding="utf-8")
    assert ranking == (here / "rewritten" / "run.trec").read_text(encoding="utf-8")

    naive = run_task(["rewriter=last_n", *MODELS, *EXPERIMENT, "hydra.run.dir=naive"], here)
    assert naive.returncode == 0, naive.stderr
    compared = run_task(
        [
            "task=compare",
            "task.runs=[rewritten,naive]",
            "task.names=[DH-RAG,Naive]",
            "hydra.run.dir=compared",
        ],
        here,
    )
    assert compared.returncode == 0, compared.stderr
    assert "DH-RAG" in compared.stdout
    assert "Naive" in compared.stdout
