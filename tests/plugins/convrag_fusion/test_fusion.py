"""`rewriter=ensemble`, `rewriter=reformulate` and `retriever=fused`."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from convrag import Hit, Passage, Query, Question, Retriever, Rewrite, Rewriter, Turn
from convrag.api.errors import ConfigError, LLMError, RunStopped, UnknownName
from convrag.config.compose import compose
from convrag.sdk.search.fusion import reciprocal_rank_fusion
from convrag.store.usage_meter import UsageMeter
from convrag.testing import RecordedLLM, RetrieverContract, RewriterContract, TinyDataset, question
from convrag.turn.wiring import Wiring
from convrag_fusion.retriever import FusedRetriever, group_queries
from convrag_fusion.rewriters import EnsembleRewriter, ReformulateRewriter
from convrag_retrieval.bm25 import BM25Retriever
from convrag_rewriters.baselines import NoRewriter
from convrag_rewriters.blend import BlendRewriter

HISTORY = (
    Turn("c<::>1", "Who painted the Mona Lisa?", "Leonardo da Vinci painted it around 1503."),
)
ASKED = Question("Where is it?", "c", "c<::>2", number=2, history=HISTORY)
KINDS = ("standalone", "keywords", "entities", "answer", "context")


def join(*rewriters: Rewriter, weights: Sequence[float] | None = None) -> EnsembleRewriter:
    places = dict.fromkeys(("second", "third")) | dict(
        zip(("first", "second", "third"), rewriters, strict=False)
    )
    return EnsembleRewriter(**places, weights=weights)  # type: ignore[arg-type]


class TestEnsemble(RewriterContract):
    def make(self) -> EnsembleRewriter:
        return join(NoRewriter(), BlendRewriter(), weights=[1, 0.5])


class Given(Rewriter):
    """Gives the queries that it was made with, or fails as it was told."""

    def __init__(
        self, *queries: Query, error: Exception | None = None, wait: threading.Barrier | None = None
    ) -> None:
        self.queries, self.error, self.wait = queries, error, wait

    def rewrite(self, question: Question) -> Rewrite:
        if self.wait:
            self.wait.wait(60)
        if self.error:
            raise self.error
        return Rewrite(self.queries, {"made": len(self.queries)})


def test_queries_keep_their_weights_times_their_rewriters_and_name_it() -> None:
    ensemble = join(
        Given(Query("a"), Query("b", 0.5)), Given(Query("a", search="dense")), weights=[1, 3]
    )
    rewrite = ensemble.rewrite(ASKED)
    assert rewrite.queries == (
        Query("a", 1.0, source="first"),
        Query("b", 0.5, source="first"),
        Query("a", 3.0, search="dense", source="second"),
    )
    assert rewrite.trace["of"]["first"] == {"queries": ["a", "b"], "trace": {"made": 2}}
    assert not rewrite.fallback


def test_an_ensemble_in_an_ensemble_names_both() -> None:
    inner = join(Given(Query("a")), weights=[0.5])
    (query,) = join(inner, weights=[0.5]).rewrite(ASKED).queries
    assert (query.source, query.weight) == ("first/first", 0.25)


def test_one_that_fails_falls_back_by_itself() -> None:
    rewrite = join(Given(error=LLMError("no reply")), Given(Query(" ")), Given(Query("a"))).rewrite(
        ASKED
    )
    expected = [("first", "Where is it?"), ("second", "Where is it?"), ("third", "a")]
    assert [(query.source, query.text) for query in rewrite.queries] == expected
    assert rewrite.trace["of"]["first"]["fallback"] == "LLMError: no reply"
    wanted = {
        "queries": ["Where is it?"],
        "trace": {"made": 1},
        "fallback": "the rewriter gave no query",
    }
    assert rewrite.trace["of"]["second"] == wanted
    assert not rewrite.fallback


def test_only_an_ensemble_of_failures_is_one() -> None:
    rewrite = join(Given(error=ValueError("x")), Given()).rewrite(ASKED)
    assert rewrite.fallback == "first: ValueError: x; second: the rewriter gave no query"


@pytest.mark.parametrize("error", [RunStopped("too dear"), ImportError("half a module")])
def test_a_run_that_must_stop_and_a_library_that_is_broken_are_no_fallback(
    error: Exception,
) -> None:
    with pytest.raises(type(error)):
        join(Given(Query("a")), Given(error=error)).rewrite(ASKED)


def test_a_rewriter_of_weight_0_gives_no_query() -> None:
    both = join(Given(Query("a")), Given(Query("b")), weights=[0, 1])
    assert [query.text for query in both.rewrite(ASKED).queries] == ["b"]


def test_all_rewrite_at_once_and_their_usage_counts() -> None:
    together = threading.Barrier(3)
    meter = UsageMeter()
    with meter.measure_stage("rewriter"):
        rewrite = join(*(Given(Query(name), wait=together) for name in ("a", "b", "c"))).rewrite(
            ASKED
        )
    assert [query.text for query in rewrite.queries] == ["a", "b", "c"]


@pytest.mark.parametrize("weights", [[-1.0], [float("nan")], [0.0], [1.0, 1.0], []])
def test_impossible_weights(weights: Sequence[float]) -> None:
    with pytest.raises(ConfigError, match="weights"):
        join(NoRewriter(), weights=weights)


def test_a_command_chooses_up_to_five_and_leaves_out_what_it_does_not_want() -> None:
    def choose(*overrides: str) -> dict[str, str]:
        rewriter = Wiring(compose("rewriter=ensemble", "tracker=none", *overrides)).get("rewriter")
        return {place: type(each).__name__ for place, each in rewriter.of.items()}

    usual = {"first": "FullHistoryRewriter", "second": "MMRRewriter", "third": "BlendRewriter"}
    assert choose() == usual
    assert choose("rewriter.third=null") == {place: usual[place] for place in ("first", "second")}
    expected = {
        "first": "NoRewriter",
        "second": "MMRRewriter",
        "third": "BlendRewriter",
        "fifth": "LastNRewriter",
    }
    assert choose("rewriter.first=none", "rewriter.fifth=last_n", "rewriter.fifth.n=1") == expected
    five = Wiring(compose("rewriter=five_rewrites")).get("rewriter")
    assert [each.kind for each in five.of.values()] == list(KINDS)
    with pytest.raises(UnknownName, match="rewriter=ensemble: parameter 'of' does not exist"):
        compose("rewriter=ensemble", "rewriter.of=[mmr]")


class TestReformulate(RewriterContract):
    def make(self) -> ReformulateRewriter:
        return ReformulateRewriter(
            llm=RecordedLLM(replies={"": "Where is the Mona Lisa?"}), kind="entities"
        )


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_prompt_of_its_own(kind: Any) -> None:
    rewriter = ReformulateRewriter(
        llm=RecordedLLM(replies={"": "Where is the Mona Lisa?"}), kind=kind
    )
    rewrite = rewriter.rewrite(ASKED)
    assert rewrite.queries == (Query("Where is the Mona Lisa?"),)
    assert rewrite.trace["kind"] == kind
    others = [
        ReformulateRewriter(llm=RecordedLLM(replies={"": "x"}), kind=each)
        for each in KINDS
        if each != kind
    ]  # type: ignore[arg-type]
    assert rewriter.prompt_templates[0].source not in [
        each.prompt_templates[0].source for each in others
    ]
    prompt = rewriter.prompt_templates[0].render(
        question="Where is it?", history=[{"user": "Who?", "assistant": "He."}]
    )  # type: ignore[attr-defined]
    assert [message.role for message in prompt.messages] == ["system", "user"]
    assert "User: Who?" in prompt.messages[1].content
    assert prompt.messages[1].content.endswith("Where is it?")


def test_a_first_question_is_reformulated_where_that_says_more() -> None:
    first = Question("Who painted the Mona Lisa?")
    assert ReformulateRewriter(llm=RecordedLLM(replies={"": "x"})).rewrite(first).queries == (
        Query(first.text),
    )
    keywords = ReformulateRewriter(
        llm=RecordedLLM(replies={"": "painter Mona Lisa"}), kind="keywords"
    )
    assert keywords.rewrite(first).queries == (Query("painter Mona Lisa"),)


class TestFused(RetrieverContract):
    @pytest.fixture(autouse=True)
    def _with_store(self, convrag_store: Any) -> None:
        self.store = convrag_store

    def make(self) -> FusedRetriever:
        return FusedRetriever(base=BM25Retriever(dataset=TinyDataset(), store=self.store))


class Ranked(Retriever):
    """Gives each text of a query a ranking; of several, the last one's. Remembers what it was asked."""

    def __init__(self, **rankings: str) -> None:
        self.rankings = rankings
        self.asked: list[list[tuple[str, float]]] = []

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        assert not any(query.source for query in queries)
        self.asked.append([(query.text, query.weight) for query in queries])
        ids = self.rankings[queries[-1].text]
        return [Hit(Passage(id_, id_), float(len(ids) - rank)) for rank, id_ in enumerate(ids)][:k]


class Scoring(Ranked):
    """Scores every passage, found or not: by its letter."""

    def scores(self, queries: Sequence[Query], ids: Sequence[str]) -> Mapping[str, float]:
        return {id_: -ord(id_) for id_ in ids}


def search(retriever: FusedRetriever, *queries: Query, k: int = 10) -> dict[str, float]:
    return {hit.passage.id: hit.score for hit in retriever.retrieve(queries, k)}


ONE, TWO = Query("one", source="a"), Query("two", 0.5, source="b")


def test_rankings_are_fused_by_weighted_reciprocal_ranks() -> None:
    base = Ranked(one="xyz", two="zw")
    expected = {"z": 1 / 63 + 0.5 / 61, "x": 1 / 61, "y": 1 / 62, "w": 0.5 / 62}
    assert search(FusedRetriever(base=base, fusion="weighted_rrf"), ONE, TWO) == pytest.approx(
        expected
    )
    plain = search(FusedRetriever(base=base, fusion="rrf"), ONE, TWO)
    assert plain == pytest.approx(reciprocal_rank_fusion(["xyz", "zw"], 60))
    assert base.asked[:2] == [[("one", 1.0)], [("two", 1.0)]]


def test_scores_are_fused_on_one_scale() -> None:
    base = Ranked(one="xyz", two="zw")
    found = search(FusedRetriever(base=base, depth=3), ONE, TWO, k=3)
    assert found == pytest.approx({"x": 1.0, "z": 0.5, "y": 0.5}), (
        "a full ranking: others have its lowest score"
    )
    found = search(FusedRetriever(base=base), ONE, TWO)
    assert found == pytest.approx({"x": 1.0, "z": 1 / 3 + 0.5, "y": 2 / 3, "w": 0.25}), (
        "others do not match"
    )


def test_a_passage_that_was_not_found_is_scored_where_the_base_can() -> None:
    retriever = FusedRetriever(base=Scoring(one="xyz", two="zw"), depth=3)
    found = search(retriever, ONE, TWO)
    low = -ord("y")
    assert found["x"] == pytest.approx(
        (3 + ord("w")) / (3 + ord("w")) + 0.5 * (-ord("x") - low) / (2 - low), abs=0.01
    )


def test_z_scores() -> None:
    found = search(FusedRetriever(base=Ranked(one="xyz"), normalise="z_scores", depth=3), ONE)
    assert found == pytest.approx({"x": 1.5**0.5, "y": 0.0, "z": -(1.5**0.5)})


def test_the_queries_of_a_rewriter_are_searched_together_or_apart() -> None:
    queries = (
        Query("one", 2, source="a"),
        Query("two", 1, source="a"),
        Query("three", 0.5, source="b"),
    )
    base = Ranked(one="x", two="y", three="y")
    FusedRetriever(base=base, fusion="weighted_rrf").retrieve(queries, 5)
    assert base.asked == [[("one", 1.0), ("two", 0.5)], [("three", 1.0)]]
    base.asked.clear()
    nested = search(FusedRetriever(base=base, fusion="nested_rrf"), *queries)
    assert base.asked == [[("one", 1.0)], [("two", 1.0)], [("three", 1.0)]]
    assert nested == pytest.approx({"x": 2 / 61, "y": 2 / 62 + 0.5 / 61})


def test_queries_for_one_kind_of_search_belong_together() -> None:
    queries = (
        Query("w", search="lexical", source="a"),
        Query("v", search="dense", source="a"),
        Query("u", source="a"),
    )
    (group,) = group_queries(queries, apart=True)
    assert [[query.text for query in unit] for unit in group.units] == [["w", "v"], ["u"]]


WORDS, VECTORS, EITHER = (
    Query("w", search="lexical"),
    Query("v", search="dense"),
    Query("u", 0.5),
)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("source", ["", "a"])
@pytest.mark.parametrize(
    ("queries", "searched"),
    [
        ((WORDS, VECTORS), ["wv"]),
        ((WORDS, EITHER, VECTORS), ["wv", "u"]),
        ((EITHER, WORDS), ["uw"]),  # by vectors "u" is searched for, and never "w"
        ((EITHER, VECTORS), ["uv"]),
        ((EITHER, EITHER), ["u", "u"]),
        ((WORDS, WORDS), ["ww"]),
    ],
)
def test_a_query_for_words_is_not_searched_for_by_vectors(
    queries: Sequence[Query], searched: list[str], source: str, apart: bool
) -> None:
    """Each was searched for by itself if no rewriter was named, and so by both sides of hybrid."""
    given_by = [replace(query, source=source) for query in queries]
    groups = group_queries(given_by, apart=apart)
    found = ["".join(query.text for query in unit) for group in groups for unit in group.units]
    together = source and not apart
    assert found == (["".join(query.text for query in queries)] if together else searched)


def test_equal_queries_are_searched_once_and_count_for_each() -> None:
    base = Ranked(one="x", two="y")
    twice = (Query("one", source="a"), Query("one", source="b"), Query("two", source="c"))
    assert search(FusedRetriever(base=base, fusion="rrf"), *twice) == pytest.approx(
        {"x": 2 / 61, "y": 1 / 61}
    )
    assert len(base.asked) == 2


def test_a_rewrite_that_finds_what_no_other_finds_counts_less() -> None:
    base = Ranked(one="xyz", two="xzy", three="abc")
    queries = tuple(Query(text, source=text) for text in ("one", "two", "three"))
    equal = search(FusedRetriever(base=base, fusion="weighted_rrf"), *queries)
    weighed = search(FusedRetriever(base=base, fusion="weighted_rrf", agreement=1.0), *queries)
    assert equal["a"] == pytest.approx(1 / 61)
    assert weighed.get("a", 0.0) == 0.0
    assert weighed["x"] > equal["x"]
    assert search(
        FusedRetriever(base=Ranked(one="x", two="y"), agreement=1.0, fusion="rrf"), ONE, TWO
    ) == {
        "x": 1 / 61,
        "y": 1 / 61,
    }, "rankings that have nothing in common weigh the same"


@given(
    st.lists(
        st.tuples(
            st.text("abcdef", max_size=6).map(lambda text: "".join(dict.fromkeys(text))),
            st.floats(0, 2),
        )
    )
)
def test_any_rankings_give_a_sorted_ranking_without_repetitions(
    rankings: list[tuple[str, float]],
) -> None:
    base = Ranked(**{f"q{number}": ids for number, (ids, _) in enumerate(rankings)})
    queries = [
        Query(f"q{number}", weight, source=f"s{number % 3}")
        for number, (_, weight) in enumerate(rankings)
    ]
    for fusion in ("linear", "rrf", "weighted_rrf", "nested_rrf"):
        hits = FusedRetriever(base=base, fusion=fusion, agreement=0.5).retrieve(queries, 4)  # type: ignore[arg-type]
        assert len({hit.passage.id for hit in hits}) == len(hits) <= 4
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_the_questions_state_is_each_rewriters_own() -> None:
    asked = question()
    join(NoRewriter(), BlendRewriter()).rewrite(asked)
