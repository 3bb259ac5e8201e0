"""`rewriter=themes`: the words of the conversation's themes beside the queries of any rewriter."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from convrag import Clusterer, Embedder, Pipeline, Query, Question, Rewrite, Rewriter, Turn
from convrag.api.errors import RunStopped
from convrag.sdk.search.queries import choose_queries
from convrag.testing import RewriterContract
from convrag_clusterers.topics import LsaClusterer
from convrag_fusion.retriever import group_queries
from convrag_rewriters.baselines import NoRewriter
from convrag_rewriters.themes import (
    Theme,
    ThemesRewriter,
    choose_words,
    expand_queries,
    find_telling_words,
    weigh_themes,
)

EXCHANGES = (
    ("How is green tea brewed?", "Green tea leaves are steeped in water of eighty degrees."),
    ("And white tea?", "White tea leaves are steeped a little cooler."),
    ("Who invented the bicycle?", "Karl Drais invented a bicycle without pedals."),
)
WORDS = ("tea", "leaves", "steeped", "bicycle", "pedals")


class Counted(Embedder):
    """Counts WORDS in a text; `texts` keeps what it embedded."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        self.texts += texts
        rows = np.array(
            [[text.lower().count(word) for word in WORDS] for text in texts], np.float32
        )
        return rows.reshape(-1, len(WORDS)) / np.maximum(
            np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9
        )


class Labelled(Clusterer):
    """Gives the labels and the words that it was made with."""

    def __init__(
        self,
        *labels: int,
        words: Mapping[int, Sequence[str]] | None = None,
        error: Exception | None = None,
    ) -> None:
        self.labels, self.words, self.error = labels, words or {}, error

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.int64]:
        if self.error:
            raise self.error
        return np.array(self.labels, np.int64)

    def describe(self, texts: Sequence[str], labels: Sequence[int]) -> Mapping[int, Sequence[str]]:
        return self.words


class Given(Rewriter):
    """Gives the queries that it was made with."""

    def __init__(self, *queries: Query) -> None:
        self.queries = queries

    def rewrite(self, question: Question) -> Rewrite:
        return Rewrite(
            self.queries, {"system": "given"}, "why it failed" if not self.queries[0].weight else ""
        )


def ask(text: str, *exchanges: tuple[str, str]) -> Question:
    history = tuple(Turn(f"c<::>{n}", *each) for n, each in enumerate(exchanges, 1))
    return Question(text, "c", f"c<::>{len(history) + 1}", number=len(history) + 1, history=history)


def make(
    base: Rewriter | None = None, clusterer: Clusterer | None = None, **parameters: Any
) -> ThemesRewriter:
    return ThemesRewriter(
        base=base or NoRewriter(),
        clusterer=clusterer or Labelled(0, 0, 1),
        embedder=Counted(),
        **parameters,
    )


class TestThemes(RewriterContract):
    def make(self) -> ThemesRewriter:
        return ThemesRewriter(base=NoRewriter(), clusterer=LsaClusterer(), embedder=Counted())


def test_the_theme_of_the_question_comes_first_and_words_go_by_weight() -> None:
    rewrite = make(words=4).rewrite(ask("Does tea keep its taste?", *EXCHANGES))
    asked, added = rewrite.queries
    assert asked == Query("Does tea keep its taste?", source="themes")
    first, second = rewrite.trace["themes"]
    assert first["turns"] == ["c<::>1", "c<::>2"]
    assert first["weight"] > second["weight"]
    assert len(first["words"]) == 3
    assert len(second["words"]) == 1
    assert added.text.split() == [*first["words"], *second["words"]]
    assert added.search == "lexical"
    assert "tea" not in added.text  # the question's own
    assert {"leaves", "steeped"} <= set(first["words"])


def test_words_together_are_a_share_of_the_queries_whatever_their_number() -> None:
    def measure(words: int, weight: float) -> float:
        rewrite = make(Given(Query("a b c d", 2.0)), words=words, weight=weight).rewrite(
            ask("Tea?", *EXCHANGES)
        )
        return rewrite.queries[1].weight * float(np.sqrt(len(rewrite.queries[1].text.split())))

    assert measure(1, 0.25) == pytest.approx(
        0.25 * 2 * 2
    )  # four words of weight 2 are a vector of length 4
    assert measure(6, 0.25) == pytest.approx(measure(1, 0.25))
    assert measure(6, 0.5) == pytest.approx(2 * measure(6, 0.25))


def test_without_a_history_nothing_changes() -> None:
    base = Given(Query("a", 0.5), Query("b", search="dense"))
    assert make(base).rewrite(ask("Tea?")) == base.rewrite(ask("Tea?"))


def test_the_words_of_the_clusterer_are_used_where_it_has_some() -> None:
    clusterer = Labelled(0, 0, 1, words={0: ["camellia sinensis", "tea"]})
    first, second = (
        make(clusterer=clusterer, words=6).rewrite(ask("Is tea good?", *EXCHANGES)).trace["themes"]
    )
    assert first["words"] == ["camellia sinensis"]
    assert "bicycle" in second["words"]


def test_an_outlier_is_a_theme_of_its_own() -> None:
    themes = (
        make(clusterer=Labelled(-1, -1, 0)).rewrite(ask("Is tea good?", *EXCHANGES)).trace["themes"]
    )
    assert sorted(theme["turns"] for theme in themes) == [["c<::>1"], ["c<::>2"], ["c<::>3"]]


@pytest.mark.parametrize(
    ("clusterer", "reason"),
    [
        (Labelled(error=ValueError("out of order")), "no themes: ValueError: out of order"),
        (Labelled(0), "no themes: ConvragError: Labelled gave 1 labels for 3 texts"),
    ],
)
def test_where_themes_fail_the_base_is_searched_for(clusterer: Clusterer, reason: str) -> None:
    rewrite = make(Given(Query("a")), clusterer).rewrite(ask("Tea?", *EXCHANGES))
    assert (rewrite.queries, rewrite.fallback) == ((Query("a"),), reason)
    for error in (RunStopped("too dear"), ImportError("half a module")):
        with pytest.raises(type(error)):
            make(clusterer=Labelled(error=error)).rewrite(ask("Tea?", *EXCHANGES))


def test_the_trace_and_the_fallback_of_the_base_stay() -> None:
    rewrite = make(Given(Query("a", 0.0), Query("b"))).rewrite(ask("Tea?", *EXCHANGES))
    assert rewrite.trace["system"] == "given"
    assert rewrite.fallback == "why it failed"


def test_each_exchange_is_embedded_once() -> None:
    rewriter = make()
    question = ask("Tea?", *EXCHANGES)
    rewriter.rewrite(question)
    rewriter.rewrite(question)
    assert rewriter.embedder.texts.count("Tea?") == 2  # type: ignore[attr-defined]
    assert len(rewriter.embedder.texts) == 2 + len(EXCHANGES)  # type: ignore[attr-defined]


def test_a_base_for_vectors_alone_is_still_searched_by_words() -> None:
    """A query for words would else be the only one for them."""
    queries = expand_queries([Query("a", search="dense")], "tea", {"lexical": 0.5, "dense": 0.0})
    assert [query.text for query in choose_queries(queries, "lexical")] == ["a", "tea"]
    assert [query.text for query in choose_queries(queries, "dense")] == ["a"]


def test_a_dense_query_where_it_is_asked_for() -> None:
    queries = expand_queries(
        [Query("a"), Query("b", search="lexical")], "tea", {"lexical": 0.0, "dense": 0.5}
    )
    assert queries[2:] == (Query("tea", 0.5, search="dense", source="themes"),)


def test_queries_with_a_source_keep_it_and_others_are_searched_with_the_words() -> None:
    plain = expand_queries([Query("a"), Query("b", 0.5)], "tea", {"lexical": 0.5})
    assert len(group_queries(plain)) == 1
    named = expand_queries(
        [Query("a", source="mmr"), Query("b", source="blend")], "tea", {"lexical": 0.5}
    )
    assert [query.source for query in named] == ["mmr", "blend", "themes"]


def test_themes_are_weighed_by_mass_and_resemblance() -> None:
    near, heavy = Theme((0,), ("a",), 1.0, 0.5), Theme((1, 2), ("b",), 3.0, 0.0)
    assert weigh_themes([heavy, near]) == [
        near._replace(weight=0.625),
        heavy._replace(weight=0.375),
    ]
    assert [each.weight for each in weigh_themes([heavy, near._replace(resemblance=0.0)])] == [
        0.75,
        0.25,
    ]


def test_words_are_chosen_by_weight_each_once() -> None:
    one, two = (
        Theme((0,), ("brewing", "leaf", "cup"), 1, 1, 0.5),
        Theme((1,), ("cups", "milk"), 1, 0, 0.5),
    )
    assert [words for _, words in choose_words([one, two], "How is it brewed?", 4)] == [
        ["leaf", "cup"],
        ["milk"],
    ]


def test_telling_words_are_those_that_the_others_lack() -> None:
    texts = ["Kettle kettles water", "Water boils boils", "the"]
    assert find_telling_words(texts, [0, 1, 2], 2) == {
        0: ("Kettle", "water"),
        1: ("boils", "water"),
        2: (),
    }
    # 2 * log(1 + 3 / 4) of a word that both have is less than log(1 + 3 / 1) of its own
    assert find_telling_words(["kettle kettle water", "kettle kettle tea"], [0, 1], 1) == {
        0: ("water",),
        1: ("tea",),
    }


def test_it_works_on_the_bundled_sample_without_a_model(here: Path) -> None:
    chat = Pipeline.compose(
        "rewriter=themes", "generator=none", "retriever=fused", "retriever.base=bm25"
    )
    chat.turn("c", "Is the Moon or the Sun nearer to the Earth?")
    record = chat.turn("c", "How far away is it?")
    assert not record.error
    assert not record.fallbacks
    assert record.hits
    assert record.trace["rewriter"]["themes"]


def test_any_rewriter_may_be_its_base(here: Path) -> None:
    several = ("rewriter.base=ensemble", "rewriter.base.first=condense", "rewriter.base.third=null")
    chat = Pipeline.compose("rewriter=themes", *several, "generator=none", "retriever=bm25")
    chat.turn("c", "Is the Moon or the Sun nearer to the Earth?")
    record = chat.turn("c", "How far away is it?")
    assert not record.fallbacks
    sources = ["first", "second", "second", "themes"]
    assert [query.source for query in record.queries] == sources
    assert record.queries[-1].search == "lexical"
