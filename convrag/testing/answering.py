"""Contracts of the stages that make an answer."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from convrag.api.errors import LLMError
from convrag.api.types import Answer, Completion, Evidence, EvidenceItem, Hit, Nugget, Passage, Prompt
from convrag.store.streaming import listen_with
from convrag.testing.samples import BLANK_TEXTS, ODD_TEXTS, TEXTS, ask, odd_passages, passages, question
from convrag.testing.stage import StageContract


def evidence(*shown: Passage) -> Evidence:
    """Passages, the sample ones unless given, numbered from 1."""
    chosen = shown or tuple(passages())
    return Evidence(tuple(EvidenceItem(n, passage, passage.content) for n, passage in enumerate(chosen, 1)))


class LLMContract(StageContract):
    """A prompt in, a completion out."""

    group = "llm"

    def prompt(self) -> Prompt:
        """A prompt that the model can answer."""
        return ask("How hot should green tea be?")

    def call(self, stage: Any) -> Any:
        return stage.complete(self.prompt()).text

    def test_it_answers(self) -> None:
        completion = self.make().complete(self.prompt())
        assert isinstance(completion, Completion)
        assert completion.text.strip()

    def test_odd_prompts_are_answered_or_refused(self) -> None:
        """Refusing is to raise LLMError, which those who ask expect."""
        stage = self.make()
        for text in (*ODD_TEXTS, *BLANK_TEXTS):
            with suppress(LLMError):
                assert isinstance(stage.complete(ask(text)), Completion)

    def test_it_counts_tokens(self) -> None:
        stage = self.make()
        assert stage.count_tokens("") == 0
        assert 0 < stage.count_tokens("tea") <= stage.count_tokens("green tea in a kettle")
        assert all(stage.count_tokens(text) > 0 for text in ODD_TEXTS)

    def test_the_request_tells_prompts_apart(self) -> None:
        """A remembered reply is found again by it."""
        stage = self.make()
        assert stage.request(ask("one?")) != stage.request(ask("two?"))
        assert stage.request(ask("one?")) == stage.request(ask("one?"))
        json.dumps(stage.request(ask("one?")))

    def test_the_pieces_make_up_the_reply(self) -> None:
        stage = self.make()
        pieces: list[str] = []
        with listen_with(pieces.append):
            text = stage.complete(self.prompt()).text
        assert not pieces or stage.streams, "it streams, so its class says `streams = True`"
        assert not stage.streams or "".join(pieces).strip() == text.strip()


class ContextContract(StageContract):
    """Passages in, numbered evidence out."""

    group = "context"

    def call(self, stage: Any) -> Any:
        return self.show(stage, passages())

    def show(self, stage: Any, found: list[Passage]) -> list[tuple[int, str, str]]:
        """Number, passage id and text of the evidence that is made of passages, best first."""
        hits = [Hit(passage, 4.0 - n) for n, passage in enumerate(found)]
        return [(item.number, item.passage.id, item.text) for item in stage.assemble(question(), hits, []).items]

    def test_numbers_are_unique(self) -> None:
        numbers = [number for number, _, _ in self.call(self.make())]
        assert len(numbers) == len(set(numbers))
        assert all(number > 0 for number in numbers)

    def test_only_what_was_found_is_shown(self) -> None:
        stage = self.make()
        for found in (passages()[:1], passages(), odd_passages()):
            assert {shown for _, shown, _ in self.show(stage, found)} <= {passage.id for passage in found}

    def test_nothing_found_is_no_evidence(self) -> None:
        assert self.make().assemble(question(), [], []).items == ()

    def test_no_hint_without_the_text(self) -> None:
        """With no earlier messages there is nothing that a hint could point at."""
        hits = [Hit(passage, 1.0) for passage in passages()]
        assert not any(item.hint for item in self.make().assemble(question(), hits, []).items)


class GeneratorContract(StageContract):
    """A question and evidence in, an answer out."""

    group = "generator"

    def call(self, stage: Any) -> Any:
        return stage.generate(question(), evidence()).text

    def test_it_answers(self) -> None:
        answer = self.make().generate(question(), evidence())
        assert isinstance(answer, Answer)
        assert isinstance(answer.text, str)

    def test_citations_are_in_the_evidence(self) -> None:
        stage = self.make()
        for shown in (passages(), passages()[:1]):
            known = {passage.id for passage in shown}
            citations = stage.generate(question(), evidence(*shown)).citations
            assert set(citations) <= known
            assert len(citations) == len(set(citations))

    def test_no_evidence_is_no_citation(self) -> None:
        assert self.make().generate(question(turns=0), Evidence()).citations == ()

    def test_odd_texts_do_no_harm(self) -> None:
        stage = self.make()
        for text in (*ODD_TEXTS, *BLANK_TEXTS):
            assert isinstance(stage.generate(question(text), evidence(Passage("odd", text))).text, str)


class DetectorContract(StageContract):
    """A query and a passage in, nuggets with true offsets out."""

    group = "detector"

    def call(self, stage: Any) -> Any:
        return [(nugget.start, nugget.end) for nugget in stage.detect("Why does a kettle whistle?", passages()[0])]

    def test_nuggets_stand_in_the_passage(self) -> None:
        stage = self.make()
        for passage in [*passages(), Passage("lines", "One kettle.\n\nAnother\tkettle.")]:
            self._check(stage, "kettle", passage)

    def test_odd_passages_do_no_harm(self) -> None:
        stage = self.make()
        for passage in odd_passages():
            if passage.text:
                self._check(stage, "kettle", passage)
            self._check(stage, passage.text, passages()[0])

    def test_nothing_is_in_an_empty_passage(self) -> None:
        assert list(self.make().detect("kettle", Passage("empty", ""))) == []

    def _check(self, stage: Any, query: str, passage: Passage) -> None:
        nuggets = stage.detect(query, passage)
        for nugget in nuggets:
            assert nugget.text == passage.text[nugget.start : nugget.end] != ""
            assert nugget.passage_id == passage.id
        starts = [nugget.start for nugget in nuggets]
        assert starts == sorted(starts), "nuggets come in the order of the passage"


class SummarizerContract(StageContract):
    """Nuggets in, a sentence out."""

    group = "summarizer"

    def call(self, stage: Any) -> Any:
        return stage.summarize("Why does a kettle whistle?", self.nuggets(), 35)

    def nuggets(self) -> list[Nugget]:
        """Two nuggets about kettles."""
        return [Nugget(TEXTS[n], f"tea-{n + 1}", 0, len(TEXTS[n])) for n in (0, 2)]

    def test_it_keeps_the_budget(self) -> None:
        assert 0 < len(self.call(self.make()).split()) <= 35

    def test_one_nugget_is_enough(self) -> None:
        assert self.make().summarize("Why does a kettle whistle?", self.nuggets()[:1], 35).strip()

    def test_odd_nuggets_do_no_harm(self) -> None:
        stage = self.make()
        for text in ODD_TEXTS:
            assert isinstance(stage.summarize(text, [Nugget(text, "odd", 0, len(text))] * 2, 35), str)
