"""Contracts of the stages that answer: LLMs, contexts, generators, detectors and summarizers."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from convrag.api.errors import LLMError
from convrag.api.types import Answer, Completion, Evidence, Hit, Message, Passage, Prompt, Question
from convrag.store.streaming import listen_with
from convrag.testing.calls import CallContract
from convrag.testing.conversations import make_evidence, make_hits, questions, rotate_passages
from convrag.testing.samples import BLANK_TEXTS, ODD_TEXTS, make_prompt, odd_passages, passages, question


class LLMContract(CallContract):
    """An LLM replies to prompts."""

    group = "llm"
    method = "complete"

    def prompt(self) -> Prompt:
        """Make a prompt that the model can answer."""
        return make_prompt("How hot should green tea be?")

    def inputs(self) -> list[list[dict[str, Any]]]:
        prompts = [[make_prompt(each.text) for each in asked] for asked in questions()]
        prompts[0][0] = self.prompt()
        return [[{"prompt": prompt} for prompt in each] for each in prompts]

    def odd_inputs(self) -> list[dict[str, Any]]:
        return [{"prompt": make_prompt(text)} for text in (*ODD_TEXTS, *BLANK_TEXTS)]

    def compare(self, result: Any) -> Any:
        return result.text

    def test_it_answers(self) -> None:
        completion = self.make().complete(self.prompt())
        assert isinstance(completion, Completion)
        assert completion.text.strip()

    def test_odd_prompts_are_answered_or_refused(self) -> None:
        """To refuse a prompt is to raise LLMError, which stages that call an LLM handle."""
        stage = self.make()
        for text in (*ODD_TEXTS, *BLANK_TEXTS):
            with suppress(LLMError):
                assert isinstance(stage.complete(make_prompt(text)), Completion)

    def test_it_counts_tokens(self) -> None:
        stage = self.make()
        assert stage.count_tokens("") == 0
        assert 0 < stage.count_tokens("tea") <= stage.count_tokens("green tea in a kettle")
        assert all(stage.count_tokens(text) > 0 for text in ODD_TEXTS)

    def test_the_request_tells_prompts_apart(self) -> None:
        """The key of a remembered reply is made of the request."""
        stage = self.make()
        assert stage.request(make_prompt("one?")) != stage.request(make_prompt("two?"))
        assert stage.request(make_prompt("one?")) == stage.request(make_prompt("one?"))
        json.dumps(stage.request(make_prompt("one?")))

    def test_the_pieces_make_up_the_reply(self) -> None:
        stage = self.make()
        pieces: list[str] = []
        with listen_with(pieces.append):
            text = stage.complete(self.prompt()).text
        assert not pieces or stage.streams, "it streams: set `streams = True` in the class"
        assert not stage.streams or "".join(pieces).strip() == text.strip()


class ContextContract(CallContract):
    """A context makes numbered evidence of passages."""

    group = "context"
    method = "assemble"

    def inputs(self) -> list[list[dict[str, Any]]]:
        return [
            [{"question": each, "hits": make_hits(n + each.number), "messages": _say(each)} for each in asked]
            for n, asked in enumerate(questions())
        ]

    def odd_inputs(self) -> list[dict[str, Any]]:
        hits = [Hit(passage, 1.0) for passage in odd_passages()]
        return [{"question": question(), "hits": hits, "messages": []}]

    def assemble(self, stage: Any, retrieved: list[Passage]) -> list[tuple[int, str, str]]:
        """Let the stage make evidence of passages, best first, and return (number, passage id, text) of each item."""
        hits = [Hit(passage, 4.0 - n) for n, passage in enumerate(retrieved)]
        return [(item.number, item.passage.id, item.text) for item in stage.assemble(question(), hits, []).items]

    def test_numbers_are_unique(self) -> None:
        numbers = [number for number, _, _ in self.assemble(self.make(), passages())]
        assert len(numbers) == len(set(numbers))
        assert all(number > 0 for number in numbers)

    def test_only_what_was_found_is_shown(self) -> None:
        stage = self.make()
        for retrieved in (passages()[:1], passages(), odd_passages()):
            shown = {passage_id for _, passage_id, _ in self.assemble(stage, retrieved)}
            assert shown <= {passage.id for passage in retrieved}

    def test_nothing_found_is_no_evidence(self) -> None:
        assert self.make().assemble(question(), [], []).items == ()

    def test_no_hint_without_the_text(self) -> None:
        """Without earlier messages there is no full text that a hint could point to."""
        hits = [Hit(passage, 1.0) for passage in passages()]
        assert not any(item.hint for item in self.make().assemble(question(), hits, []).items)


class GeneratorContract(CallContract):
    """A generator answers questions from evidence."""

    group = "generator"
    method = "generate"

    def inputs(self) -> list[list[dict[str, Any]]]:
        return [
            [{"question": each, "evidence": make_evidence(*rotate_passages(n + each.number))} for each in asked]
            for n, asked in enumerate(questions())
        ]

    def odd_inputs(self) -> list[dict[str, Any]]:
        return [{"question": question(each.text), "evidence": make_evidence(each)} for each in odd_passages()]

    def test_it_answers(self) -> None:
        answer = self.make().generate(question(), make_evidence())
        assert isinstance(answer, Answer)
        assert isinstance(answer.text, str)

    def test_citations_are_in_the_evidence(self) -> None:
        stage = self.make()
        for shown in (passages(), passages()[:1]):
            known = {passage.id for passage in shown}
            citations = stage.generate(question(), make_evidence(*shown)).citations
            assert set(citations) <= known
            assert len(citations) == len(set(citations))

    def test_what_it_rests_on_is_in_the_cited_passages(self) -> None:
        answer = self.make().generate(question(), make_evidence())
        texts = {item.passage.id: item.passage.text for item in make_evidence().items}
        for support in answer.support:
            assert 0 <= support.start < support.end <= len(answer.text)
            for span in support.spans:
                assert span.passage_id in answer.citations
                assert 0 <= span.start < span.end <= len(texts[span.passage_id])

    def test_no_evidence_is_no_citation(self) -> None:
        assert self.make().generate(question(turns=0), Evidence()).citations == ()

    def test_odd_texts_do_no_harm(self) -> None:
        stage = self.make()
        for text in (*ODD_TEXTS, *BLANK_TEXTS):
            assert isinstance(stage.generate(question(text), make_evidence(Passage("odd", text))).text, str)


def _say(asked: Question) -> list[Message]:
    """List the earlier turns of a question as messages."""
    said = [(turn.question, turn.answer) for turn in asked.history]
    return [message for text, answer in said for message in (Message("user", text), Message("assistant", answer))]
