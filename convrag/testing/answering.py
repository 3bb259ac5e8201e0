"""Contracts of the stages that make an answer."""

from __future__ import annotations

from typing import Any

from convrag.testing.samples import TEXTS, ask, passages, question
from convrag.testing.stage import StageContract
from convrag.types import Completion, Evidence, EvidenceItem, Hit, Nugget, Passage, Prompt


def evidence() -> Evidence:
    """The sample passages, numbered from 1."""
    return Evidence(tuple(EvidenceItem(n, passage, passage.content) for n, passage in enumerate(passages(), 1)))


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

    def test_it_counts_tokens(self) -> None:
        stage = self.make()
        assert stage.count_tokens("") == 0
        assert 0 < stage.count_tokens("tea") <= stage.count_tokens("green tea in a kettle")

    def test_the_request_tells_prompts_apart(self) -> None:
        stage = self.make()
        assert stage.request(ask("one?")) != stage.request(ask("two?"))
        assert stage.request(ask("one?")) == stage.request(ask("one?"))


class ContextContract(StageContract):
    """Passages in, numbered evidence out."""

    group = "context"

    def call(self, stage: Any) -> Any:
        hits = [Hit(passage, 4.0 - n) for n, passage in enumerate(passages())]
        return [(item.number, item.passage.id, item.text) for item in stage.assemble(question(), hits, []).items]

    def test_numbers_are_unique(self) -> None:
        numbers = [number for number, _, _ in self.call(self.make())]
        assert len(numbers) == len(set(numbers))
        assert all(number > 0 for number in numbers)

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

    def test_citations_are_in_the_evidence(self) -> None:
        known = {passage.id for passage in passages()}
        assert set(self.make().generate(question(), evidence()).citations) <= known

    def test_no_evidence_is_no_citation(self) -> None:
        assert self.make().generate(question(turns=0), Evidence()).citations == ()


class DetectorContract(StageContract):
    """A query and a passage in, nuggets with true offsets out."""

    group = "detector"

    def call(self, stage: Any) -> Any:
        return [(nugget.start, nugget.end) for nugget in stage.detect("Why does a kettle whistle?", passages()[0])]

    def test_nuggets_stand_in_the_passage(self) -> None:
        stage = self.make()
        for passage in [*passages(), Passage("empty", ""), Passage("lines", "One kettle.\n\nAnother\tkettle.")]:
            for nugget in stage.detect("kettle", passage):
                assert nugget.text == passage.text[nugget.start : nugget.end] != ""
                assert nugget.passage_id == passage.id


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
