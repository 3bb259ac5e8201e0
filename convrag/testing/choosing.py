"""Contracts of the stages that choose what later stages see: memories and selectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from convrag.api.types import Hit, MemoryView, Selection, Turn
from convrag.testing.calls import CallContract
from convrag.testing.samples import (
    BLANK_TEXTS,
    ODD_TEXTS,
    make_hits,
    odd_passages,
    odd_questions,
    question,
    questions,
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
