"""Contracts of the stages that search: rewriters, retrievers and rankers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from convrag.api.types import Hit, Passage, Query, Question, Rewrite, Turn
from convrag.testing.calls import CallContract
from convrag.testing.conversations import questions, rotate_passages
from convrag.testing.samples import BLANK_TEXTS, ODD_TEXTS, TEXTS, question


class RewriterContract(CallContract):
    """A rewriter makes at least one standalone query of a question."""

    group = "rewriter"
    method = "rewrite"

    def inputs(self) -> list[list[dict[str, Any]]]:
        return [[{"question": each} for each in asked] for asked in questions()]

    def odd_inputs(self) -> list[dict[str, Any]]:
        return [{"question": question(text)} for text in (*ODD_TEXTS, *BLANK_TEXTS)]

    def test_a_follow_up_gives_queries(self) -> None:
        rewrite = self.make().rewrite(question())
        assert isinstance(rewrite, Rewrite)
        assert rewrite.text.strip()
        assert all(query.weight > 0 for query in rewrite.queries)

    def test_a_first_question_needs_no_history(self) -> None:
        assert self.make().rewrite(question(turns=0)).text.strip()

    def test_an_earlier_turn_may_have_failed(self) -> None:
        """A failed turn has no answer and no passages."""
        asked = replace(question(turns=0), history=(Turn("tea<::>1", "Why does a kettle whistle?"),), number=2)
        assert self.make().rewrite(asked).text.strip()

    def test_nothing_asked_does_no_harm(self) -> None:
        for text in BLANK_TEXTS:
            assert self.make().rewrite(question(text)).queries

    def test_unicode_goes_through(self) -> None:
        for text in ODD_TEXTS:
            history = (Turn("tea<::>1", text, text, (Passage("odd", text),)),)
            assert self.make().rewrite(replace(question(text), history=history, number=2)).text.strip()

    def test_turns_one_after_the_other_equal_turns_from_the_start(self) -> None:
        """A stage must be able to rebuild what it keeps in `question.state(self)` from the history."""
        kept: dict[object, dict[str, Any]] = {}
        stage = self.make()
        for turns in range(3):
            incremental = stage.rewrite(replace(question(turns=turns), stage_state=kept))
        assert incremental.queries == stage.rewrite(question(turns=2)).queries


class RetrieverContract(CallContract):
    """A retriever finds at most k passages for queries, best first. Let `make` index convrag.testing.passages()."""

    group = "retriever"
    method = "retrieve"
    domain = "default"

    def inputs(self) -> list[list[dict[str, Any]]]:
        return [[self._make_input(n, each) for each in asked] for n, asked in enumerate(questions())]

    def odd_inputs(self) -> list[dict[str, Any]]:
        return [{"queries": [Query(text, domain=self.domain)], "k": 3} for text in (*ODD_TEXTS, *BLANK_TEXTS)]

    def _make_input(self, number: int, asked: Question) -> dict[str, Any]:
        """Make the queries of a question: its text, with more weight than each of the earlier ones."""
        texts = [asked.text, *(turn.question for turn in asked.history)]
        queries = [Query(text, 1.0 / n, asked.turn_id, self.domain) for n, text in enumerate(texts, 1)]
        return {"queries": queries, "k": 2 + number % 3}

    def search(self, stage: Any, *texts: str, k: int = 3) -> list[Hit]:
        """Retrieve for queries of weight 1."""
        found: list[Hit] = stage.retrieve([Query(text, turn_id="tea<::>1", domain=self.domain) for text in texts], k)
        return found

    def test_the_best_come_first(self) -> None:
        hits = self.search(self.make(), "copper kettle")
        assert hits, "nothing was found for words of the passages"
        assert all(isinstance(hit, Hit) for hit in hits)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)

    def test_no_passage_comes_twice_and_k_is_kept(self) -> None:
        stage = self.make()
        for k in (1, 2, 100):
            ids = [hit.passage.id for hit in self.search(stage, "kettle", "tea", k=k)]
            assert len(ids) == len(set(ids)) <= k

    def test_nothing_asked_is_nothing_found(self) -> None:
        stage = self.make()
        assert self.search(stage) == []
        assert self.search(stage, "kettle", k=0) == []

    def test_odd_queries_do_no_harm(self) -> None:
        stage = self.make()
        for text in (*ODD_TEXTS, *BLANK_TEXTS, "zzzxxy", "kettle " * 500):
            assert len(self.search(stage, text)) <= 3


class RankerContract(CallContract):
    """A ranker scores n texts for a query."""

    group = "ranker"
    method = "score"

    def inputs(self) -> list[list[dict[str, Any]]]:
        return [
            [{"query": each.text, "texts": [p.text for p in rotate_passages(n + each.number)]} for each in asked]
            for n, asked in enumerate(questions())
        ]

    def odd_inputs(self) -> list[dict[str, Any]]:
        return [{"query": query, "texts": [*ODD_TEXTS, *BLANK_TEXTS]} for query in (*ODD_TEXTS[:2], "")]

    def test_each_text_gets_a_score(self) -> None:
        import numpy as np

        stage = self.make()
        for n in (0, 1, 2, 4):
            scores = stage.score("copper kettle", list(TEXTS[:n]))
            assert scores.shape == (n,)
            assert np.issubdtype(scores.dtype, np.floating)

    def test_odd_texts_get_scores_too(self) -> None:
        import numpy as np

        stage = self.make()
        texts = [*ODD_TEXTS, *BLANK_TEXTS]
        for query in (*ODD_TEXTS[:2], ""):
            scores = stage.score(query, texts)
            assert scores.shape == (len(texts),)
            assert np.isfinite(scores).all(), "a score is no number"

    def test_equal_texts_get_equal_scores(self) -> None:
        scores = self.make().score("copper kettle", [TEXTS[0]] * 3)
        assert len(set(scores.tolist())) == 1
