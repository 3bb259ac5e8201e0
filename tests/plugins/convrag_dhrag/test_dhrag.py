import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer

import toys
from convrag import (
    Conversation,
    DataError,
    Embedder,
    LLMError,
    Passage,
    Prompt,
    Question,
    Turn,
    TurnRecord,
)
from convrag.config.compose import compose
from convrag.config.settings import Settings
from convrag.run.workers import ConversationWorkers
from convrag.testing import RewriterContract
from convrag_dhrag.database import HistoryDatabase, Vocabulary, cluster_rows, find_continued_chain
from convrag_dhrag.rewriter import DHRagRewriter, report_history
from toys import Says


def repeat(prompt: Prompt) -> str:
    """The question."""
    return str(prompt.inputs.get("question", "tea and kettles"))


class Words(Embedder):
    """A dimension for each word that it was made for; keeps the texts that it was given."""

    def __init__(self, *words: str) -> None:
        self.words = words or ("tea", "kettle", "moon", "bread", "chess")
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self.embedded += [("query: " if query else "") + text for text in texts]
        rows = np.array(
            [[float(text.lower().count(word)) for word in self.words] for text in texts], np.float32
        )
        rows = rows.reshape(len(texts), len(self.words))
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def make(**parameters: Any) -> DHRagRewriter:
    return DHRagRewriter(**{"llm": Says(repeat), "embedder": Words(), **parameters})


def history(*exchanges: str) -> tuple[Turn, ...]:
    """Turns from "question / answer / passage"."""
    turns = []
    for number, exchange in enumerate(exchanges, 1):
        question, answer, passage = [part.strip() for part in (exchange + "//").split("/")[:3]]
        passages = (Passage(f"p{number}", passage),) if passage else ()
        turns.append(Turn(f"c<::>{number}", question, answer, passages))
    return tuple(turns)


def ask(
    text: str, turns: Sequence[Turn], memory: dict[object, dict[str, Any]] | None = None
) -> Question:
    kept = {} if memory is None else memory
    return Question(
        text,
        "c",
        f"c<::>{len(turns) + 1}",
        number=len(turns) + 1,
        history=tuple(turns),
        stage_state=kept,
    )


def traced(text: str, turns: Sequence[Turn], **parameters: Any) -> dict[str, Any]:
    return dict(make(**parameters).rewrite(ask(text, turns)).trace)


TALK = history(
    "how hot should green tea be? / Green tea is brewed at eighty degrees.",
    "and black tea? / Black tea wants boiling water.",
    "when is the moon full? / The moon is full every 29 days.",
    "why does the moon glow red? / Sunlight is bent into the shadow and reddens the moon.",
    "how long does bread rise? / Bread dough rises for two hours.",
    "which flour makes rye bread? / Rye bread is baked of rye flour.",
)


class TestContract(RewriterContract):
    def make(self) -> DHRagRewriter:
        return make()


# What is selected, and why
# ---------------------------------------------------------------------------------------


def test_both_speakers_are_shown_in_order() -> None:
    llm = Says("At what temperature is green tea brewed?")
    rewrite = make(llm=llm).rewrite(ask("and green tea again?", TALK))
    assert (rewrite.text, rewrite.fallback) == ("At what temperature is green tea brewed?", "")
    (prompt,) = llm.prompts
    assert (prompt.task, prompt.sampling) == ("rewrite", {"temperature": 0.0, "max_tokens": 200})
    assert rewrite.trace["selected"][0] == "c<::>1"
    shown = [turn for turn in TALK if turn.id in rewrite.trace["selected"]]
    assert prompt.inputs["history"] == [
        {"user": turn.question, "assistant": turn.answer} for turn in shown
    ]
    text = prompt.messages[-1].content
    places = [
        text.index(words)
        for turn in shown
        for words in (f"User: {turn.question}", f"Assistant: {turn.answer}")
    ]
    assert places == sorted(places)
    assert text.endswith("and green tea again?")


def test_a_first_turn_costs_nothing() -> None:
    llm, embedder = Says(repeat), Words()
    assert make(llm=llm, embedder=embedder).rewrite(ask("tea?", ())).text == "tea?"
    assert llm.prompts == embedder.embedded == []


@given(
    text=st.sampled_from(
        ["green tea?", "it?", "", "rye flour for the moon", "what about bread and tea"]
    ),
    turns=st.lists(st.sampled_from(TALK), min_size=1, max_size=12),
    top_k=st.integers(1, 6),
    alpha=st.floats(0, 1),
    last=st.booleans(),
    matched=st.booleans(),
)
@settings(max_examples=60)
def test_every_term_of_a_score_is_in_the_record(
    text: str, turns: list[Turn], top_k: int, alpha: float, last: bool, matched: bool
) -> None:
    turns = [Turn(f"c<::>{n}", turn.question, turn.answer) for n, turn in enumerate(turns)]
    kept = {"last_exchange": last, "matched_exchange": matched}
    trace = traced(text, turns, top_k=top_k, alpha=alpha, **kept)
    every = traced(text, turns, top_k=99, alpha=alpha, **kept)["reasons"]
    reasons = {reason["turn_id"]: reason for reason in trace["reasons"]}
    assert list(reasons) == trace["selected"]
    assert len(reasons) == min(top_k, len(turns))
    places = [[turn.id for turn in turns].index(name) for name in reasons]
    assert places == sorted(places)
    by_score = sorted(enumerate(every), key=lambda item: (-item[1]["score"], -item[0]))
    first = [r["turn_id"] for r in every if last and r["last"]] + [
        r["turn_id"] for r in every if matched and r["matched"]
    ]
    ranked = dict.fromkeys([*first, *(reason["turn_id"] for _, reason in by_score)])
    assert set(reasons) == set(list(ranked)[:top_k])
    for place, reason in zip(places, reasons.values(), strict=True):
        assert 0 <= reason["relevance"] <= 1
        assert reason["recency"] == pytest.approx(
            place / (len(turns) - 1) if len(turns) > 1 else 1, abs=1e-6
        )
        base = alpha * reason["relevance"] + (1 - alpha) * reason["recency"]
        assert reason["base"] == pytest.approx(base, abs=1e-5)
        assert 0 <= reason["base"] <= 1
        bonuses = [reason[f"{name}_bonus"] for name in ("cluster", "summary", "chain")]
        assert all(
            bonus in (0, full) for bonus, full in zip(bonuses, (0.1, 0.05, 0.05), strict=True)
        )
        assert reason["score"] == pytest.approx(base + sum(bonuses), abs=1e-5)


def test_recency_alone_and_relevance_alone() -> None:
    no_match = {"min_triples": 99, "chain_bonus": 0.0}
    assert traced("zzz?", TALK, alpha=0.0, **no_match)["selected"] == ["c<::>4", "c<::>5", "c<::>6"]
    only = Words(
        "green", "glow"
    )  # no term of this question occurs, but its embedding is the first exchange's
    assert traced("greenish?", TALK, alpha=1.0, embedder=only, top_k=1, **no_match)["selected"] == [
        "c<::>1"
    ]
    kept = {"top_k": 2, "last_exchange": True, **no_match}
    assert traced("greenish?", TALK, alpha=1.0, embedder=only, **kept)["selected"] == [
        "c<::>1",
        "c<::>6",
    ]


VOLCANOES = history(
    "why do volcanoes erupt? / Volcanoes erupt because magma rises through the crust.",
    "what is magma? / Magma is molten rock beneath volcanoes.",
    "which volcanoes are active? / Etna and Kilauea are active volcanoes.",
    "how is pasta cooked? / Pasta is cooked in salted water.",
    "what goes with pasta? / Pasta goes with tomato sauce.",
    "how long does bread rise? / Bread rises for two hours.",
    "what is sourdough? / Sourdough is bread with wild yeast.",
)


@pytest.mark.parametrize("kept", [{"matched_exchange": False}, {}])
def test_a_question_back_to_a_topic_that_was_left_gets_its_turns(kept: dict[str, Any]) -> None:
    """Three turns on volcanoes, four on food: the noise between is left out, as published and by
    default.
    """
    embedder = {"embedder": Words("volcano", "magma", "erupt", "pasta", "bread")}
    trace = traced("does magma make volcanoes erupt?", VOLCANOES, **embedder, **kept)
    assert trace["selected"] == ["c<::>1", "c<::>2", "c<::>3"]
    forced = traced(
        "does magma make volcanoes erupt?", VOLCANOES, last_exchange=True, **embedder, **kept
    )
    assert forced["selected"][-1] == "c<::>7"
    assert traced("does magma make volcanoes erupt?", VOLCANOES, top_k=1, **embedder, **kept)[
        "selected"
    ] == ["c<::>1"]


def test_the_published_choices() -> None:
    published, ours = (
        compose("rewriter=dhrag_published").rewriter,
        compose("rewriter=dhrag").rewriter,
    )
    assert (published.last_exchange, published.matched_exchange) == (False, False)
    assert (ours.last_exchange, ours.matched_exchange) == (False, True)
    preset = compose("+system=dhrag", "llm=extractive")
    assert preset.rewriter == published
    assert (preset.retriever._option_, preset.embedder.model) == (
        "elser",
        "sentence-transformers/all-MiniLM-L6-v2",
    )


def test_the_matched_triple_is_shown_though_an_embedder_knows_no_word_of_it() -> None:
    trace = traced("was it eighty degrees?", TALK, embedder=Words("unheard"))
    assert [reason["turn_id"] for reason in trace["reasons"] if reason["matched"]] == ["c<::>1"]
    assert trace["match"]["triple"]["turn_id"] == "c<::>1"
    assert "c<::>1" in trace["match"]["summary"]["turns"]
    assert set(trace["match"]["summary"]["turns"]) <= set(trace["match"]["cluster"]["turns"])
    assert all(reason["relevance"] == 0 for reason in trace["reasons"])


@pytest.mark.parametrize("text", ["it?", "and that one?", "", "zzz unheard", "?!", "お茶"])
def test_a_question_without_a_known_term_matches_nothing(text: str) -> None:
    trace = traced(text, TALK, top_k=99)
    assert trace["match"] is None
    assert all(
        reason["cluster_bonus"] == reason["summary_bonus"] == 0 for reason in trace["reasons"]
    )
    assert not any(reason["matched"] for reason in trace["reasons"])


def test_few_triples_have_no_clusters_and_get_no_bonus_for_them() -> None:
    trace = traced("black tea?", TALK[:4], top_k=99)
    assert set(trace["match"]) == {"triple"}
    assert trace["match"]["triple"]["turn_id"] == "c<::>2"
    assert all(
        reason["cluster_bonus"] == reason["summary_bonus"] == 0 for reason in trace["reasons"]
    )


def test_a_triple_without_words_is_in_no_cluster() -> None:
    turns = [*TALK, Turn("c<::>7", "?", "..."), Turn("c<::>8", "?", "...")]
    trace = traced("rye bread?", turns, top_k=99)
    assert not {"c<::>7", "c<::>8"} & set(trace["match"]["cluster"]["turns"])
    assert [reason["cluster_bonus"] for reason in trace["reasons"][-2:]] == [0, 0]


def test_the_summary_says_more_than_the_cluster() -> None:
    """Within a cluster of two sub-topics only one part gets the summary's bonus."""
    turns = history(
        *(
            f"tea leaf grade {word}? / The tea leaf grade {word}."
            for word in ("orange", "orange pekoe", "pekoe")
        ),
        *(
            f"tea water heat {word}? / The tea water heat {word}."
            for word in ("high", "high low", "low")
        ),
        *(
            f"chess opening {word}? / A chess opening {word}."
            for word in ("french", "french sicilian", "sicilian")
        ),
    )
    trace = traced("tea water?", turns, top_k=99, max_clusters=2)
    cluster = [r["turn_id"] for r in trace["reasons"] if r["cluster_bonus"]]
    summary = [r["turn_id"] for r in trace["reasons"] if r["summary_bonus"]]
    assert cluster == [f"c<::>{n}" for n in range(1, 7)]
    assert summary == [f"c<::>{n}" for n in range(4, 7)]
    assert trace["match"]["summary"]["representative"] in summary


def test_the_passage_is_looked_up_too() -> None:
    turns = [*TALK[:5], *history("why? / Because. / Bicarbonate neutralises acids.")]
    turns = [
        Turn(f"c<::>{n}", turn.question, turn.answer, turn.passages)
        for n, turn in enumerate(turns, 1)
    ]
    assert traced("does bicarbonate help?", turns)["match"]["triple"]["turn_id"] == "c<::>6"
    assert traced("does bicarbonate help?", TALK)["match"] is None


def test_a_repeated_question_is_told_apart() -> None:
    turns = history(*["tea? / Tea."] * 7)
    trace = traced("tea?", turns)
    assert trace["selected"] == ["c<::>5", "c<::>6", "c<::>7"]
    assert traced("tea?", turns, top_k=1)["selected"] == ["c<::>7"]


def test_one_embedding_per_new_text() -> None:
    embedder, memory = Words(), {}
    stage = make(embedder=embedder)
    turns = history("tea? / hot", "moon? / red", "tea? / hot", "bread? / rye")
    for seen in range(1, 5):
        stage.rewrite(ask(f"q{seen}?", turns[:seen], memory))
    exchanges = [text for text in embedder.embedded if "query" not in text]
    assert exchanges == ["tea?\nhot", "moon?\nred", "bread?\nrye"]
    assert [text for text in embedder.embedded if "query" in text] == [
        f"query: q{seen}?" for seen in range(1, 5)
    ]


# Chains
# ----------------------------------------------------------------------------------------------------------


def test_returning_to_a_topic_continues_its_chain() -> None:
    trace = traced("is green tea bitter?", TALK, top_k=99)
    assert trace["chains"] == [0, 0, 1, 1, 2, 2, 0]
    assert [r["turn_id"] for r in trace["reasons"] if r["chain_bonus"]] == ["c<::>1", "c<::>2"]
    new = traced("which chess opening?", TALK, top_k=99)
    assert new["chain"] == 3
    assert not any(reason["chain_bonus"] for reason in new["reasons"])


def test_only_the_last_turn_of_a_chain_counts_and_the_most_similar_wins() -> None:
    assert find_continued_chain(np.array([0.9, 0.3, 0.5]), [0, 0, 1], 0.4) == 1
    assert find_continued_chain(np.array([0.9, 0.6, 0.5]), [0, 0, 1], 0.4) == 0
    assert find_continued_chain(np.array([0.9, 0.3, 0.39]), [0, 0, 1], 0.4) is None
    assert find_continued_chain(np.array([0.4]), [0], 0.4) == 0
    assert find_continued_chain(np.zeros(0), [], 0.4) is None


def test_what_has_no_vector_continues_nothing() -> None:
    assert traced("?", history("? / !", "? / ."), chain_threshold=0.01)["chains"] == [0, 1, 2]


# Incremental, bounded, deterministic
# -----------------------------------------------------------------------------

WORDS = ("tea", "kettle", "moon", "bread", "chess", "rye", "hot", "the", "it")
utterances = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
exchanges = st.lists(utterances, min_size=1, max_size=14)


@given(
    texts=exchanges,
    update=st.sampled_from(["all", "paper"]),
    capacity=st.integers(1, 8),
    data=st.data(),
)
@settings(max_examples=60)
def test_one_by_one_or_all_at_once_is_the_same(
    texts: list[str], update: Any, capacity: int, data: Any
) -> None:
    turns = history(*(f"{text} / {text[::2]} / {text[:5]}" for text in texts))
    stage, memory = make(update=update, capacity=capacity), {}
    for seen in range(len(turns) + 1):
        asked = data.draw(st.sampled_from(["tea and bread?", "moon", "it?", "rye kettle"]))
        one_by_one = stage.rewrite(ask(asked, turns[:seen], memory))
        at_once = make(update=update, capacity=capacity).rewrite(ask(asked, turns[:seen]))
        assert json.dumps(one_by_one.trace) == json.dumps(at_once.trace)
        assert one_by_one.queries == at_once.queries


def test_the_papers_updating_keeps_what_weighs_most() -> None:
    """With alpha 1 the least relevant to what came leaves, with alpha 0 the oldest."""
    turns = history("tea", "moon", "tea kettle", "tea")
    kept = {}
    for alpha in (1.0, 0.0):
        database = HistoryDatabase(Words(), 0.4, 2, alpha)
        assert database.update(turns)
        kept[alpha] = [triple.turn.question for triple in database.triples]
        assert len(database.chains) == 4
    assert kept == {1.0: ["tea", "tea"], 0.0: ["tea kettle", "tea"]}


MARK = "zebrafish"


@given(seen=st.integers(1, 7), more=st.integers(1, 5), update=st.sampled_from(["all", "paper"]))
@settings(max_examples=25)
def test_no_future_turn_is_ever_visible(seen: int, more: int, update: Any) -> None:
    """Also not where the conversation's memory has seen it, as when a turn is asked again."""
    now = history(*(f"tea {n} / kettle {n}" for n in range(seen)))
    later = history(*(f"{MARK} tea {n} / {MARK} / {MARK}" for n in range(seen + more)))[seen:]
    llm, memory = Says(repeat), {}
    stage = make(llm=llm, update=update, capacity=4, summarize=True, min_triples=2)
    before = stage.rewrite(ask("tea?", now, memory))
    stage.rewrite(ask("tea?", [*now, *later], memory))
    llm.prompts.clear()
    again = stage.rewrite(ask("tea?", now, memory))
    assert json.dumps(again.trace) == json.dumps(before.trace)
    assert MARK not in str(llm.prompts) + json.dumps(again.trace)


# TF-IDF and k-means
# ----------------------------------------------------------------------------------------------


@given(texts=exchanges, gone=st.integers(0, 5))
@settings(max_examples=50)
def test_the_incremental_tfidf_equals_one_that_is_fitted_anew(texts: list[str], gone: int) -> None:
    vocabulary = Vocabulary("plain")
    terms = [vocabulary.add(text) for text in texts][gone:]
    if not (texts := texts[gone:]):
        return
    theirs = TfidfVectorizer(stop_words="english", ngram_range=(1, 2), sublinear_tf=True)
    fitted = (
        theirs.fit_transform(texts)
        if any(theirs.build_analyzer()(text) for text in texts)
        else None
    )
    for query in ("tea bread", "moon moon zzz", "the it", "rye hot tea kettle"):
        rows, similarities = vocabulary.weigh(terms, query)
        if fitted is None:
            assert not rows.nnz
            assert not similarities.any()
        else:
            assert np.allclose((rows @ rows.T).toarray(), (fitted @ fitted.T).toarray())
            assert np.allclose(
                similarities, (fitted @ theirs.transform([query]).T).toarray().ravel()
            )


def test_kmeans_finds_what_differs() -> None:
    rows = csr_matrix(
        np.array([[0, 0, 0], [0, 1, 0], [0.1, 0.995, 0], [1, 0, 0], [0, 0, 1], [0, 0.999, 0.04]])
    )
    assert cluster_rows(rows, 3) == [[1, 2, 5], [3], [4]]
    assert cluster_rows(csr_matrix(np.ones((5, 1))), 3) == [[0, 1, 2, 3, 4]]
    assert cluster_rows(csr_matrix((4, 3)), 2) == []
    assert cluster_rows(csr_matrix((0, 3)), 2) == []


@given(n=st.integers(1, 60), most=st.integers(1, 7), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_clusters_are_a_partition_of_limited_size(n: int, most: int, seed: int) -> None:
    rows = np.abs(np.random.default_rng(seed).normal(size=(n, 6)))
    groups = cluster_rows(csr_matrix(rows / np.linalg.norm(rows, axis=1, keepdims=True)), most)
    assert 1 <= len(groups) <= min(most, n)
    assert sorted(place for group in groups for place in group) == list(range(n))
    assert all(one[0] < other[0] for one, other in pairwise(groups))


# The LLM
# ---------------------------------------------------------------------------------------------------------


def test_a_failing_llm_falls_back_and_keeps_the_reasons() -> None:
    rewrite = make(llm=Says(LLMError("the server is down")), summarize=True).rewrite(
        ask("green tea?", TALK)
    )
    assert (rewrite.text, rewrite.fallback) == ("green tea?", "the server is down")
    assert rewrite.trace["topic_missing"] == "the server is down"
    assert len(rewrite.trace["reasons"]) == 3


def test_a_line_for_the_matched_summary_is_shown_where_it_is_asked_for() -> None:
    llm = Says(repeat)
    rewrite = make(llm=llm, summarize=True).rewrite(ask("green tea?", TALK))
    topic, question = llm.prompts
    assert (topic.task, question.task) == ("topic", "rewrite")
    assert [exchange["user"] for exchange in topic.inputs["history"]] == [
        turn.question for turn in TALK if turn.id in rewrite.trace["match"]["summary"]["turns"]
    ]
    assert rewrite.trace["topic"] == "tea and kettles"
    assert "tea and kettles" in question.messages[-1].content
    plain = Says(repeat)
    make(llm=plain).rewrite(ask("green tea?", TALK))
    assert len(plain.prompts) == 1
    rambling = make(llm=Says("x" * 301), summarize=True).rewrite(ask("green tea?", TALK))
    assert rambling.trace["topic"] == ""
    assert "no line" in rambling.trace["topic_missing"]


def test_a_prompt_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "own.jinja"
    own.write_text("{{ history | length }} {{ question }}", encoding="utf-8")
    llm = Says(repeat)
    stage = make(llm=llm, prompt=own, temperature=None, max_tokens=None)
    stage.rewrite(ask("now?", TALK))
    assert [message.content for message in llm.prompts[0].messages] == ["3 now?"]
    assert llm.prompts[0].sampling == {}
    assert (
        len(
            {
                tuple(t.hash for t in each.prompt_templates)
                for each in (stage, make(), make(summarize=True))
            }
        )
        == 3
    )
    with pytest.raises(DataError, match=r"nowhere\.jinja"):
        make(prompt=tmp_path / "nowhere.jinja")


# The report
# ------------------------------------------------------------------------------------------------------


def records_of(*talks: Sequence[str], mode: str = "gold", **parameters: Any) -> list[TurnRecord]:
    scripts = [
        Conversation(
            f"c{n}", tuple(Turn(f"c{n}<::>{i}", text, text) for i, text in enumerate(talk, 1))
        )
        for n, talk in enumerate(talks)
    ]
    pipeline = toys.pipeline(rewriter=make(**parameters))
    return list(ConversationWorkers(pipeline, scripts, Settings(history=mode, workers=1)).records())


def test_the_report_counts_chains_and_says_why_each_turn_was_selected() -> None:
    records = records_of(
        ["tea", "tea", "moon", "tea"], ["bread"], ["moon", "chess", "chess", "chess", "chess"]
    )
    report = report_history(records)
    assert report is not None
    numbers = report.numbers
    assert numbers["chains"] == 5  # tea x 3, moon; bread; moon, chess x 4
    assert numbers["mean_length"] == 2.0
    assert numbers["per_cent"] == {"1": 60.0, "2": 0.0, "3": 20.0, "4+": 20.0}
    assert numbers["paper"]["mean_length"] == 1.73
    assert list(numbers["paper"]["per_cent"].values()) == [32, 40, 21, 6]
    assert numbers["follow_ups"] == 7
    assert numbers["mean_available"] == pytest.approx((1 + 2 + 3 + 1 + 2 + 3 + 4) / 7, abs=1e-4)
    assert numbers["mean_selected"] == pytest.approx((1 + 2 + 3 + 1 + 2 + 3 + 3) / 7, abs=1e-4)
    assert "1.73" in report.lines[0]
    json.dumps(numbers)
    lines = [json.loads(line) for line in report.files["analysis/dhrag.jsonl"].splitlines()]
    assert [line["turn_id"] for line in lines] == [record.turn_id for record in records]
    last = lines[3]
    assert (
        [reason["turn_id"] for reason in last["reasons"]]
        == last["selected"]
        == ["c0<::>1", "c0<::>2", "c0<::>3"]
    )
    assert {
        "relevance",
        "recency",
        "cluster_bonus",
        "summary_bonus",
        "chain_bonus",
        "chain",
    } <= set(last["reasons"][0])


def test_the_report_is_silent_on_others_and_counts_no_hidden_chains() -> None:
    assert report_history([]) is None
    other = TurnRecord("c", "c<::>1", "default", 1, "q", trace={"rewriter": {"selected": []}})
    assert (
        report_history([other, TurnRecord("c", "c<::>2", "default", 2, "q", error="down")]) is None
    )
    report = report_history(records_of(["tea", "tea"], mode="none"))
    assert report is not None
    assert report.numbers["chains"] == report.numbers["follow_ups"] == 0
    assert report.lines == ()
