"""Contracts of memories, rewriters, searches, retrievers, rankers and selectors."""

from dataclasses import replace
from typing import Any

from convrag.api.conversations import MemoryView, Question, Turn
from convrag.api.passages import Hit, Selection
from convrag.api.queries import Query, Rewrite, SearchStep
from convrag.testing.call_contract import CallContract
from convrag.testing.samples import (
    BLANK_TEXTS,
    ODD_TEXTS,
    TEXTS,
    make_hits,
    odd_passages,
    odd_questions,
    question,
    rotate_passages,
)


class _QuestionContract(CallContract):
    """The tests of stages that get only a question."""

    shown: str
    """The field of a result that later stages read."""

    def make_input(self, asked: Question, steps: int) -> dict[str, Any]:
        return {"question": asked}

    def odd_inputs(self) -> list[dict[str, Any]]:
        return [{"question": each} for each in odd_questions()]

    def test_turns_one_after_the_other_equal_turns_from_the_start(self) -> None:
        """A stage can rebuild its data in `question.state(self)` from the history."""
        state: dict[object, dict[str, Any]] = {}
        stage = self.make()
        for turns in range(3):
            incremental = self.ask(
                stage, {"question": replace(question(turns=turns), stage_state=state)}
            )
        from_the_start = self.ask(stage, {"question": question(turns=2)})
        assert getattr(incremental, self.shown) == getattr(from_the_start, self.shown)


class MemoryContract(_QuestionContract):
    """A memory gives a view of a conversation's history."""

    group = "memory"
    method = "view"
    shown = "history"

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """Each turn is there once, in order, and one that the memory made has texts and a new id.

        A turn that keeps its id keeps its contents, too: stages know turns by their ids. Providers
        refuse empty messages.
        """
        history = arguments["question"].history
        assert isinstance(result, MemoryView)
        assert isinstance(result.history, tuple)
        assert all(isinstance(turn, Turn) and turn.id for turn in result.history)
        assert history or not result.history, "without a history nothing is seen"
        places = {turn.id: place for place, turn in enumerate(history)}
        seen = [places[turn.id] for turn in result.history if turn.id in places]
        assert seen == sorted(set(seen)), (
            "each turn is there once, in the order of the conversation"
        )
        for turn in result.history:
            if turn.id in places:
                is_unchanged = turn == history[places[turn.id]]
                assert is_unchanged, "a turn with another text needs an id of its own"
            else:
                assert turn.question.strip(), "a turn that the memory makes has a question"
                assert turn.answer.strip(), "a turn that the memory makes has an answer"


class RewriterContract(_QuestionContract):
    """A rewriter makes at least one standalone query of a question."""

    group = "rewriter"
    method = "rewrite"
    shown = "queries"

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """The queries have weights, and a question with words gives a query with words."""
        assert isinstance(result, Rewrite)
        has_words = any(query.text.strip() for query in result.queries)
        assert has_words or arguments["question"].text in BLANK_TEXTS
        assert all(query.weight > 0 for query in result.queries), "a weight is above 0"


class SearchContract(CallContract):
    """A search plans steps with queries, and ends."""

    group = "search"
    method = "plan"

    def make_input(self, asked: Question, steps: int) -> dict[str, Any]:
        queries = (Query(asked.text, turn_id=asked.turn_id),)
        earlier = []
        if steps % 2:
            earlier.append(SearchStep(queries, hits=tuple(make_hits(0))))
        asked = replace(asked, standalone=asked.text, queries=queries)
        return {"question": asked, "steps": earlier, "seconds": 0}

    def odd_inputs(self) -> list[dict[str, Any]]:
        return [self.make_input(asked, step) for asked in odd_questions() for step in range(2)]

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """The queries have weights; the pipeline fills in the hits."""
        assert isinstance(result, SearchStep)
        assert all(query.weight > 0 for query in result.queries), "a weight is above 0"
        assert not result.hits

    def test_it_ends_and_joins_what_was_found(self) -> None:
        stage = self.make()
        arguments = self.make_input(question(), 0)
        steps: list[SearchStep] = []
        while True:
            step = stage.plan(**{**arguments, "steps": steps})
            is_repeated = any(step.queries == made.queries for made in steps)
            if not step.queries or is_repeated:  # the pipeline makes no search twice
                break
            steps.append(replace(step, hits=tuple(make_hits(len(steps)))))
            assert len(steps) < 50, "it never ends"
        joined = stage.join(arguments["question"], steps, 3)
        assert len(joined) <= 3
        assert len({hit.passage.id for hit in joined}) == len(joined)
        scores = [hit.score for hit in joined]
        assert scores == sorted(scores, reverse=True)


class RetrieverContract(CallContract):
    """A retriever finds at most k passages for queries, best first.

    Let `make` index convrag.testing.passages().
    """

    group = "retriever"
    method = "retrieve"
    domain = "default"

    def make_input(self, asked: Question, steps: int) -> dict[str, Any]:
        texts = [asked.text, *(turn.question for turn in asked.history)]
        queries = [
            Query(text, 1.0 / n, asked.turn_id, self.domain) for n, text in enumerate(texts, 1)
        ]
        return {"queries": queries, "k": 2 + steps % 3}

    def odd_inputs(self) -> list[dict[str, Any]]:
        texts = (*ODD_TEXTS, *BLANK_TEXTS, "zzzxxy", "kettle " * 500)
        kettle = [Query("kettle", domain=self.domain), Query("tea", domain=self.domain)]
        return [
            *({"queries": [Query(text, domain=self.domain)], "k": 3} for text in texts),
            *({"queries": kettle, "k": k} for k in (0, 1, 100)),
            {"queries": [], "k": 3},
        ]

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """At most k different passages, the best first; none without queries."""
        assert all(isinstance(hit, Hit) for hit in result)
        ids = [hit.passage.id for hit in result]
        scores = [hit.score for hit in result]
        assert len(ids) == len(set(ids)), "a passage is found twice"
        assert len(ids) <= (arguments["k"] if arguments["queries"] else 0)
        assert scores == sorted(scores, reverse=True), "the best come first"


class RankerContract(CallContract):
    """A ranker scores n texts for a query."""

    group = "ranker"
    method = "score"

    def make_input(self, asked: Question, steps: int) -> dict[str, Any]:
        return {"query": asked.text, "texts": [passage.text for passage in rotate_passages(steps)]}

    def odd_inputs(self) -> list[dict[str, Any]]:
        odd = [
            {"query": query, "texts": [*ODD_TEXTS, *BLANK_TEXTS]} for query in (*ODD_TEXTS[:2], "")
        ]
        return [*odd, *({"query": "copper kettle", "texts": list(TEXTS[:n])} for n in (0, 1, 2))]

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """One finite score for each text."""
        import numpy as np

        assert result.shape == (len(arguments["texts"]),), "each text gets a score"
        assert np.issubdtype(result.dtype, np.floating)
        assert np.isfinite(result).all(), "a score is not a finite number"

    def test_equal_texts_get_equal_scores(self) -> None:
        scores = self.make().score("copper kettle", [TEXTS[0]] * 3)
        assert len(set(scores.tolist())) == 1


class SelectorContract(CallContract):
    """A selector chooses some of the ranked passages."""

    group = "selector"
    method = "select"

    def make_input(self, asked: Question, steps: int) -> dict[str, Any]:
        return {"question": asked, "hits": make_hits(steps), "n": 2 + steps % 2}

    def odd_inputs(self) -> list[dict[str, Any]]:
        odd = [Hit(passage, 1.0) for passage in odd_passages()]
        few: list[list[Hit]] = [
            [Hit(hit.passage, 0.0) for hit in make_hits(0)],
            make_hits(0)[:1],
            [],
        ]
        return [
            *(
                {"question": question(text), "hits": odd, "n": 2}
                for text in (*ODD_TEXTS, *BLANK_TEXTS)
            ),
            *({"question": question(), "hits": hits, "n": 2} for hits in few),
        ]

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """Some of the passages that were found, each once, with the scores that ranked them."""
        assert isinstance(result, Selection)
        assert isinstance(result.hits, tuple)
        are_found = all(hit in arguments["hits"] for hit in result.hits)
        assert are_found, "only passages that were found are selected"
        ids = [hit.passage.id for hit in result.hits]
        assert len(ids) == len(set(ids)), "a passage is selected twice"

    def test_it_selects(self) -> None:
        stage = self.make()
        assert stage.select(question(), make_hits(0), 2).hits
        assert stage.select(question(), make_hits(0)[:1], 50).hits == tuple(make_hits(0)[:1])
