"""Contracts of LLMs, contexts, generators, detectors and summarizers."""

import json
from math import inf, nan
from typing import Any

from convrag.api.answers import Answer
from convrag.api.completions import Completion, Message, Prompt
from convrag.api.conversations import Question
from convrag.api.evidence import Evidence
from convrag.api.passages import Hit, Nugget, Passage
from convrag.concurrency.streaming import listen_with
from convrag.sdk.text.analysis import count_words
from convrag.testing.call_contract import CallContract
from convrag.testing.samples import (
    BLANK_TEXTS,
    ODD_TEXTS,
    TEXTS,
    make_evidence,
    make_hits,
    make_prompt,
    odd_passages,
    passages,
    question,
    rotate_passages,
)


class LLMContract(CallContract):
    """An LLM replies to prompts. It raises LLMError for one that it refuses; stages handle that."""

    group = "llm"
    method = "complete"

    def prompt(self) -> Prompt:
        """Make a prompt that the model can answer."""
        return make_prompt("How hot should green tea be?")

    def inputs(self) -> list[list[dict[str, Any]]]:
        inputs = super().inputs()
        inputs[0][0] = {"prompt": self.prompt()}
        return inputs

    def make_input(self, asked: Question, steps: int) -> dict[str, Any]:
        return {"prompt": make_prompt(asked.text)}

    def odd_inputs(self) -> list[dict[str, Any]]:
        return [{"prompt": make_prompt(text)} for text in (*ODD_TEXTS, *BLANK_TEXTS)]

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """A completion, which has a text if it can answer the prompt."""
        assert isinstance(result, Completion)
        assert result.text.strip() or arguments["prompt"] != self.prompt()

    def compare(self, result: Any) -> Any:
        return result.text

    def test_it_counts_tokens(self) -> None:
        stage = self.make()
        assert stage.count_tokens("") == 0
        assert 0 < stage.count_tokens("tea") <= stage.count_tokens("green tea in a kettle")
        assert all(stage.count_tokens(text) > 0 for text in ODD_TEXTS)

    def test_the_request_tells_prompts_apart(self) -> None:
        """The key of a cached reply is made of the request."""
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

    def make_input(self, asked: Question, steps: int) -> dict[str, Any]:
        messages = []
        for turn in asked.history:
            messages.append(Message("user", turn.question))
            messages.append(Message("assistant", turn.answer))
        return {"question": asked, "hits": make_hits(steps), "messages": messages}

    def odd_inputs(self) -> list[dict[str, Any]]:
        inputs = []
        for chosen in (passages()[:1], passages(), odd_passages(), []):
            hits = [Hit(passage, 4.0 - place) for place, passage in enumerate(chosen)]
            inputs.append({"question": question(), "hits": hits, "messages": []})
        return inputs

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """Items with different numbers, of passages that were found.

        A hint needs a message with the full text.
        """
        numbers = [item.number for item in result.items]
        assert len(numbers) == len(set(numbers)), "two passages have the same number"
        assert all(number > 0 for number in numbers)
        found = {hit.passage.id for hit in arguments["hits"]}
        assert {item.passage.id for item in result.items} <= found, "only what was found is shown"
        has_hint = any(item.hint for item in result.items)
        assert arguments["messages"] or not has_hint, "a hint to a text that nobody has seen"


class GeneratorContract(CallContract):
    """A generator answers questions from evidence."""

    group = "generator"
    method = "generate"

    def make_input(self, asked: Question, steps: int) -> dict[str, Any]:
        return {"question": asked, "evidence": make_evidence(*rotate_passages(steps))}

    def odd_inputs(self) -> list[dict[str, Any]]:
        odd = [
            {"question": question(each.text, turns=0), "evidence": make_evidence(each)}
            for each in odd_passages()
        ]
        return [*odd, {"question": question(turns=0), "evidence": Evidence()}]

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """A text that cites passages of the evidence, each once, and rests on parts of them."""
        assert isinstance(result, Answer)
        assert isinstance(result.text, str)
        texts = {item.passage.id: item.passage.text for item in arguments["evidence"].items}
        assert set(result.citations) <= set(texts), "only passages of the evidence are cited"
        assert len(result.citations) == len(set(result.citations)), "a passage is cited once"
        for support in result.support:
            assert 0 <= support.start < support.end <= len(result.text)
            for span in support.spans:
                assert span.passage_id in result.citations
                assert 0 <= span.start < span.end <= len(texts[span.passage_id])


class DetectorContract(CallContract):
    """A detector finds nuggets in passages, with correct offsets."""

    group = "detector"
    method = "detect"

    def make_input(self, asked: Question, steps: int) -> dict[str, Any]:
        return {"query": f"kettle? {asked.text}", "passage": rotate_passages(steps)[0]}

    def odd_inputs(self) -> list[dict[str, Any]]:
        metadata = {"most": inf, "none": nan, "tags": ("tea", ("hot",))}
        numbers = Passage("numbers", "A kettle.", metadata=metadata)
        lines = Passage("lines", "One kettle.\n\nAnother\tkettle.")
        hard = [*odd_passages(), *passages(), numbers, lines]
        odd_texts = [{"query": "kettle", "passage": passage} for passage in hard]
        odd_queries = [
            {"query": passage.text, "passage": passages()[0]} for passage in odd_passages()
        ]
        return odd_texts + odd_queries

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """Spans of the passage with its text, in its order."""
        passage = arguments["passage"]
        for nugget in result:
            span = passage.text[nugget.start : nugget.end]
            assert span, "a nugget has a text"
            assert nugget.text == span, "a nugget is a span of the passage"
            assert nugget.passage_id == passage.id
        starts = [nugget.start for nugget in result]
        assert starts == sorted(starts), "nuggets come in the order of the passage"


class SummarizerContract(CallContract):
    """A summarizer makes a sentence of nuggets."""

    group = "summarizer"
    method = "summarize"

    def make_input(self, asked: Question, steps: int) -> dict[str, Any]:
        passage = rotate_passages(steps)[0]
        nuggets = [*self.nuggets(), Nugget(passage.text, passage.id, 0, len(passage.text))]
        first = steps % len(nuggets)
        rotated = nuggets[first:] + nuggets[:first]
        return {"query": asked.text, "nuggets": rotated, "words": 20 + steps}

    def odd_inputs(self) -> list[dict[str, Any]]:
        odd = [
            {"query": text, "nuggets": [Nugget(text, "odd", 0, len(text))] * 2, "words": 35}
            for text in ODD_TEXTS
        ]
        return [
            *odd,
            {"query": "Why does a kettle whistle?", "nuggets": self.nuggets()[:1], "words": 35},
        ]

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """A text with words, at most as many as are wanted."""
        assert isinstance(result, str)
        assert result.strip(), "one nugget is enough for a sentence"
        length = count_words(result)
        assert length <= arguments["words"], "the sentence has more words than are wanted"

    def nuggets(self) -> list[Nugget]:
        """Make two nuggets about kettles."""
        return [Nugget(TEXTS[n], f"tea-{n + 1}", 0, len(TEXTS[n])) for n in (0, 2)]
