"""Contracts of the stages that find nuggets and summarize them."""

from __future__ import annotations

from math import inf, nan
from typing import Any

from convrag.api.types import Nugget, Passage
from convrag.testing.calls import CallContract
from convrag.testing.conversations import questions, rotate_passages
from convrag.testing.samples import ODD_TEXTS, TEXTS, odd_passages, passages


class DetectorContract(CallContract):
    """A detector finds nuggets in passages, with correct offsets."""

    group = "detector"
    method = "detect"

    def inputs(self) -> list[list[dict[str, Any]]]:
        return [
            [{"query": f"kettle? {each.text}", "passage": rotate_passages(n + each.number)[0]} for each in asked]
            for n, asked in enumerate(questions())
        ]

    def odd_inputs(self) -> list[dict[str, Any]]:
        numbers = Passage("numbers", "A kettle.", metadata={"most": inf, "none": nan, "tags": ("tea", ("hot",))})
        return [{"query": "kettle", "passage": passage} for passage in [*odd_passages(), numbers] if passage.text]

    def test_nuggets_stand_in_the_passage(self) -> None:
        stage = self.make()
        for passage in [*passages(), Passage("lines", "One kettle.\n\nAnother\tkettle.")]:
            self._check_nuggets(stage, "kettle", passage)

    def test_odd_passages_do_no_harm(self) -> None:
        stage = self.make()
        for passage in odd_passages():
            if passage.text:
                self._check_nuggets(stage, "kettle", passage)
            self._check_nuggets(stage, passage.text, passages()[0])

    def test_nothing_is_in_an_empty_passage(self) -> None:
        assert list(self.make().detect("kettle", Passage("empty", ""))) == []

    def _check_nuggets(self, stage: Any, query: str, passage: Passage) -> None:
        """Check the nuggets of a passage: their texts, their offsets and their order."""
        nuggets = stage.detect(query, passage)
        for nugget in nuggets:
            assert nugget.text == passage.text[nugget.start : nugget.end] != ""
            assert nugget.passage_id == passage.id
        starts = [nugget.start for nugget in nuggets]
        assert starts == sorted(starts), "nuggets come in the order of the passage"


class SummarizerContract(CallContract):
    """A summarizer makes a sentence of nuggets."""

    group = "summarizer"
    method = "summarize"

    def inputs(self) -> list[list[dict[str, Any]]]:
        return [
            [{"query": each.text, "nuggets": self._list_nuggets(n + each.number), "words": 20 + n} for each in asked]
            for n, asked in enumerate(questions())
        ]

    def odd_inputs(self) -> list[dict[str, Any]]:
        return [{"query": text, "nuggets": [Nugget(text, "odd", 0, len(text))] * 2, "words": 35} for text in ODD_TEXTS]

    def nuggets(self) -> list[Nugget]:
        """Make two nuggets about kettles."""
        return [Nugget(TEXTS[n], f"tea-{n + 1}", 0, len(TEXTS[n])) for n in (0, 2)]

    def _list_nuggets(self, steps: int) -> list[Nugget]:
        """List nuggets in another order, with one that is no other's."""
        found = [*self.nuggets(), *(Nugget(p.text, p.id, 0, len(p.text)) for p in rotate_passages(steps)[:1])]
        steps %= len(found)
        return found[steps:] + found[:steps]

    def test_it_keeps_the_budget(self) -> None:
        assert 0 < len(self.make().summarize("Why does a kettle whistle?", self.nuggets(), 35).split()) <= 35

    def test_one_nugget_is_enough(self) -> None:
        assert self.make().summarize("Why does a kettle whistle?", self.nuggets()[:1], 35).strip()

    def test_odd_nuggets_do_no_harm(self) -> None:
        stage = self.make()
        for text in ODD_TEXTS:
            assert isinstance(stage.summarize(text, [Nugget(text, "odd", 0, len(text))] * 2, 35), str)
