"""Contracts of the stages that search and choose: memories, rewriters, retrievers, rankers and selectors."""

from dataclasses import replace
from typing import Any

from convrag.api.types import Hit, MemoryView, Query, Question, Rewrite, Selection, Turn
from convrag.testing.calls import CallContract
from convrag.testing.samples import (
    BLANK_TEXTS,
    ODD_TEXTS,
    TEXTS,
    make_hits,
    odd_passages,
    odd_questions,
    question,
    questions,
    rotate_passages,
)


class MemoryContract(CallContract):
    """A memory gives a view of a conversation's history."""

    group = "memory"
    method = "view"

    def inputs(self) -> list[list[dict[str, Any]]]:
        return [[{"question": each} for each in asked] for asked in questions()]

    def odd_inputs(self) -> list[dict[str, Any]]:
        return [{"question": each} for each in odd_questions()]

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """The turns stand once and in order; one that the memory made has an id, a question and an answer of its own.

        A turn that keeps its id keeps its contents, too: stages know turns by their ids. Providers refuse empty
        messages.
        """
        history = arguments["question"].history
        assert isinstance(result, MemoryView)
        assert isinstance(result.history, tuple)
        assert all(isinstance(turn, Turn) and turn.id for turn in result.history)
        assert history or not result.history, "no history is none"
        places = {turn.id: place for place, turn in enumerate(history)}
        seen = [places[turn.id] for turn in result.history if turn.id in places]
        assert seen == sorted(set(seen)), "each turn stands once, in the order of the conversation"
        for turn in result.history:
            if turn.id in places:
                assert turn == history[places[turn.id]], "a turn with another text needs an id of its own"
            else:
                assert turn.question.strip(), "what the memory makes has a question"
                assert turn.answer.strip(), "what the memory makes has an answer"

    def test_turns_one_after_the_other_equal_turns_from_the_start(self) -> None:
        """A stage must be able to rebuild what it keeps in `question.state(self)` from the history."""
        kept: dict[object, dict[str, Any]] = {}
        stage = self.make()
        for turns in range(3):
            incremental = stage.view(replace(question(turns=turns), stage_state=kept))
        assert incremental.history == stage.view(question(turns=2)).history


class RewriterContract(CallContract):
    """A rewriter makes at least one standalone query of a question."""

    group = "rewriter"
    method = "rewrite"

    def inputs(self) -> list[list[dict[str, Any]]]:
        return [[{"question": each} for each in asked] for asked in questions()]

    def odd_inputs(self) -> list[dict[str, Any]]:
        return [{"question": each} for each in odd_questions()]

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """The queries have weights, and a question with words gives a query with words."""
        assert isinstance(result, Rewrite)
        has_words = any(query.text.strip() for query in result.queries)
        assert has_words or arguments["question"].text in BLANK_TEXTS
        assert all(query.weight > 0 for query in result.queries), "a weight is above 0"

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
        texts = (*ODD_TEXTS, *BLANK_TEXTS, "zzzxxy", "kettle " * 500)
        kettle = [Query("kettle", domain=self.domain), Query("tea", domain=self.domain)]
        few_or_none = [{"queries": kettle, "k": k} for k in (0, 1, 100)] + [{"queries": [], "k": 3}]
        return [{"queries": [Query(text, domain=self.domain)], "k": 3} for text in texts] + few_or_none

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """At most k different passages, the best first; no queries find nothing."""
        ids, scores = [hit.passage.id for hit in result], [hit.score for hit in result]
        assert len(ids) == len(set(ids)), "a passage comes twice"
        assert len(ids) <= (arguments["k"] if arguments["queries"] else 0)
        assert scores == sorted(scores, reverse=True), "the best come first"
        assert all(isinstance(hit, Hit) for hit in result)

    def _make_input(self, number: int, asked: Question) -> dict[str, Any]:
        """Make the queries of a question: its text, with more weight than each of the earlier ones."""
        texts = [asked.text, *(turn.question for turn in asked.history)]
        queries = [Query(text, 1.0 / n, asked.turn_id, self.domain) for n, text in enumerate(texts, 1)]
        return {"queries": queries, "k": 2 + number % 3}


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
        odd = [{"query": query, "texts": [*ODD_TEXTS, *BLANK_TEXTS]} for query in (*ODD_TEXTS[:2], "")]
        return [*odd, *({"query": "copper kettle", "texts": list(TEXTS[:n])} for n in (0, 1, 2))]

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """One finite score for each text."""
        import numpy as np

        assert result.shape == (len(arguments["texts"]),), "each text gets a score"
        assert np.issubdtype(result.dtype, np.floating)
        assert np.isfinite(result).all(), "a score is no number"

    def test_equal_texts_get_equal_scores(self) -> None:
        scores = self.make().score("copper kettle", [TEXTS[0]] * 3)
        assert len(set(scores.tolist())) == 1


class SelectorContract(CallContract):
    """A selector chooses some of the ranked passages."""

    group = "selector"
    method = "select"

    def inputs(self) -> list[list[dict[str, Any]]]:
        return [
            [{"question": each, "hits": make_hits(n + each.number), "n": 2 + n % 2} for each in asked]
            for n, asked in enumerate(questions())
        ]

    def odd_inputs(self) -> list[dict[str, Any]]:
        odd = [Hit(passage, 1.0) for passage in odd_passages()]
        few: list[list[Hit]] = [[Hit(hit.passage, 0.0) for hit in make_hits(0)], make_hits(0)[:1], []]
        return [
            *({"question": question(text), "hits": odd, "n": 2} for text in (*ODD_TEXTS, *BLANK_TEXTS)),
            *({"question": question(), "hits": hits, "n": 2} for hits in few),
        ]

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """Some of the passages that were found, unchanged and each once: the scores are those that ranked them."""
        assert isinstance(result, Selection)
        assert isinstance(result.hits, tuple)
        assert all(hit in arguments["hits"] for hit in result.hits), "only what was found is selected"
        assert len({hit.passage.id for hit in result.hits}) == len(result.hits), "a passage is selected twice"

    def test_it_selects(self) -> None:
        stage = self.make()
        assert stage.select(question(), make_hits(0), 2).hits
        assert stage.select(question(), make_hits(0)[:1], 50).hits == tuple(make_hits(0)[:1])
