"""Contracts of the stages that choose what later stages see: memories and selectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from convrag.api.types import Hit, MemoryView, Passage, Question, Selection, Turn
from convrag.testing.calls import CallContract
from convrag.testing.conversations import make_hits, questions
from convrag.testing.samples import BLANK_TEXTS, ODD_TEXTS, odd_passages, question


class MemoryContract(CallContract):
    """A memory gives a view of a conversation's history."""

    group = "memory"
    method = "view"

    def inputs(self) -> list[list[dict[str, Any]]]:
        return [[{"question": each} for each in asked] for asked in questions()]

    def odd_inputs(self) -> list[dict[str, Any]]:
        return [{"question": question(text)} for text in (*ODD_TEXTS, *BLANK_TEXTS)]

    def test_it_views_the_history(self) -> None:
        view = self.make().view(question())
        assert isinstance(view, MemoryView)
        assert isinstance(view.history, tuple)
        assert all(isinstance(turn, Turn) for turn in view.history)

    def test_no_history_is_none(self) -> None:
        assert self.make().view(question(turns=0)).history == ()

    def test_each_turn_stands_once(self) -> None:
        ids = [turn.id for turn in self.make().view(question()).history]
        assert len(ids) == len(set(ids))

    def test_the_order_of_turns_stays(self) -> None:
        asked = question()
        places = {turn.id: place for place, turn in enumerate(asked.history)}
        seen = [places[turn.id] for turn in self.make().view(asked).history if turn.id in places]
        assert seen == sorted(seen)

    def test_what_it_made_itself_has_an_id_of_its_own(self) -> None:
        """A turn that keeps its id keeps its contents, too: stages know turns by their ids."""
        asked = question()
        said = {turn.id: turn for turn in asked.history}
        assert all(said.get(turn.id, turn) == turn for turn in self.make().view(asked).history)

    def test_what_it_made_itself_has_a_question_and_an_answer(self) -> None:
        """Providers refuse empty messages."""
        asked = question()
        made = [turn for turn in self.make().view(asked).history if turn not in asked.history]
        assert all(turn.question.strip() and turn.answer.strip() for turn in made)

    def test_an_earlier_turn_may_have_failed(self) -> None:
        """A failed turn has no answer and no passages."""
        asked = replace(question(turns=0), history=(Turn("tea<::>1", "Why does a kettle whistle?"),), number=2)
        assert all(turn.id for turn in self.make().view(asked).history)

    def test_odd_texts_do_no_harm(self) -> None:
        for text in (*ODD_TEXTS, *BLANK_TEXTS):
            history = (Turn("tea<::>1", text, text, (Passage("odd", text),)),)
            view = self.make().view(replace(question(text), history=history, number=2))
            assert all(turn.id for turn in view.history)

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
        hits = [Hit(passage, 1.0) for passage in odd_passages()]
        return [{"question": question(text), "hits": hits, "n": 2} for text in (*ODD_TEXTS, *BLANK_TEXTS)]

    def select(self, stage: Any, hits: list[Hit], n: int = 2, asked: Question | None = None) -> list[str]:
        """Let the stage select among hits; return the ids of the passages."""
        return [hit.passage.id for hit in stage.select(asked or question(), hits, n).hits]

    def test_it_selects(self) -> None:
        selection = self.make().select(question(), make_hits(0), 2)
        assert isinstance(selection, Selection)
        assert isinstance(selection.hits, tuple)
        assert selection.hits

    def test_only_what_was_found_is_selected(self) -> None:
        """Unchanged, too: the scores are those that ranked the passages."""
        hits = make_hits(1)
        assert all(hit in hits for hit in self.make().select(question(), hits, 3).hits)

    def test_each_passage_is_selected_once(self) -> None:
        selected = self.select(self.make(), make_hits(0), 4)
        assert len(selected) == len(set(selected))

    def test_nothing_found_is_nothing_selected(self) -> None:
        assert self.make().select(question(), [], 2).hits == ()

    def test_scores_may_be_equal(self) -> None:
        hits = [Hit(hit.passage, 0.0) for hit in make_hits(0)]
        assert self.make().select(question(), hits, 2).hits

    def test_fewer_may_be_found_than_are_wanted(self) -> None:
        hits = make_hits(0)[:1]
        assert self.make().select(question(), hits, 50).hits == tuple(hits)

    def test_odd_texts_do_no_harm(self) -> None:
        hits = [Hit(passage, 1.0) for passage in odd_passages()]
        for text in (*ODD_TEXTS, *BLANK_TEXTS):
            assert set(self.select(self.make(), hits, asked=question(text))) <= {hit.passage.id for hit in hits}
