"""Trials of the chosen models: a token, a streamed reply, JSON, a vector, a ranking."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

from convrag import LLM, Completion, ConvragError, Embedder, Message, Prompt, Ranker
from convrag.sdk.errors import CutReply
from convrag.sdk.llm.streaming import listen_with
from convrag_kit.doctor_checks import ConfiguredStages, Finding

_QUESTION = "How far away is the Moon?"
_PASSAGES = ("Bread rises because of yeast.", "The Moon is 384,400 kilometres away from the Earth.")

_SCHEMA = {
    "title": "answer",
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
    "additionalProperties": False,
}


def try_models(stages: ConfiguredStages) -> Iterator[Finding]:
    """Ask each model of the configuration that nothing is in the way of, once for each ability.

    Those are language models, and embedders and rankers that ask a server or need a library of
    their own; a model that several stages share is asked once.
    """
    tried: set[int] = set()
    for place, stage in stages.wiring.stages.items():
        try_it = _find_trial(stage)
        if try_it is None or stages.problems[place] or id(stage) in tried:
            continue
        tried.add(id(stage))
        yield from _report(stages.wiring.describe_choice(place), stage, try_it)


def _report(choice: str, stage: Any, try_it: Callable[[Any], Iterator[str]]) -> Iterator[Finding]:
    """Yield a line for each result of a trial, and one for the error that ended it."""
    try:
        for result in try_it(stage):
            yield Finding("ok", choice, result)
    except ConvragError as error:
        yield Finding("fail", choice, str(error))
    except Exception as error:  # a plugin's own, which a run would meet, too
        yield Finding("fail", choice, f"{type(error).__name__}: {error}")


def _find_trial(stage: Any) -> Callable[[Any], Iterator[str]] | None:
    """Find how a stage is tried; None for one that is not a model."""
    if isinstance(stage, LLM):
        return _try_llm if stage.tasks is None else None
    if not stage.requires and not stage.endpoints():
        return None
    if isinstance(stage, Embedder):
        return _try_embedder
    return _try_ranker if isinstance(stage, Ranker) else None


@dataclass
class _Trial:
    """One call of a language model: its reply, or the error in its place, and its seconds."""

    completion: Completion | None
    error: ConvragError | None
    seconds: float
    pieces: int = 0

    @property
    def has_thoughts(self) -> bool:
        """Whether the model thought before it wrote, or instead."""
        if isinstance(self.error, CutReply):
            return "thought" in str(self.error)
        return self.completion is not None and bool(
            self.completion.reasoning or self.completion.reasoning_tokens
        )


def _try_llm(llm: LLM) -> Iterator[str]:
    """Ask for a token, a streamed reply, JSON by a schema, and probabilities of words.

    Raises LLMError where the model gives no reply at all.
    """
    first = _ask(llm, "Say yes.", {"max_tokens": 1})
    if first.error and not isinstance(first.error, CutReply):
        raise first.error
    yield f"replies, {first.seconds:.2f} s for a token"
    trials = [first]

    streamed = _ask(llm, "Count from 1 to 5.", {"max_tokens": 32}, stream=True)
    trials.append(streamed)
    if streamed.pieces > 1:
        yield f"streaming: {streamed.pieces} pieces in {streamed.seconds:.2f} s"
    else:
        yield "streaming: no, a reply comes in one piece"

    structured = _ask(llm, "How many legs has a dog?", {"max_tokens": 64}, schema=_SCHEMA)
    trials.append(structured)
    if _keeps_schema(structured.completion):
        yield f"JSON by a schema: yes, in {structured.seconds:.2f} s"
    else:
        yield "JSON by a schema: no; stages that need JSON look for it in the text"

    likely = _ask(llm, "Say yes.", {"max_tokens": 1, "logprobs": True, "top_logprobs": 5})
    trials.append(likely)
    has_words = likely.completion is not None and bool(likely.completion.first_words)
    yield f"probabilities of words (logprobs): {'yes' if has_words else 'no'}"

    thinks = any(trial.has_thoughts for trial in trials)
    yield f"thoughts before a reply: {'yes' if thinks else 'none seen'}"
    report = llm.report([])
    if report:
        yield from report.lines


def _ask(
    llm: LLM,
    text: str,
    sampling: Mapping[str, Any],
    *,
    schema: Mapping[str, Any] | None = None,
    stream: bool = False,
) -> _Trial:
    """Ask a model once; an error is a part of the result."""
    prompt = Prompt("doctor", (Message("user", text),), sampling=sampling, schema=schema or {})
    pieces: list[str] = []
    start = time.perf_counter()
    completion, error = None, None
    try:
        with listen_with(pieces.append if stream else None):
            completion = llm.complete(prompt)
    except ConvragError as caught:
        error = caught
    return _Trial(completion, error, time.perf_counter() - start, len(pieces))


def _keeps_schema(completion: Completion | None) -> bool:
    """Whether a reply is an object as the schema wants it, and nothing else."""
    try:
        data = json.loads(completion.text if completion else "")
    except ValueError:
        return False
    return isinstance(data, dict) and [*data] == ["number"] and isinstance(data["number"], int)


def _try_embedder(embedder: Embedder) -> Iterator[str]:
    """Embed a question. Raises ConvragError."""
    start = time.perf_counter()
    vectors = embedder.embed([_QUESTION], query=True)
    seconds = time.perf_counter() - start
    length = sqrt(float((vectors[0] ** 2).sum()))
    yield f"embeds: {vectors.shape[1]} dimensions, length {length:.2f}, {seconds:.2f} s for a text"


def _try_ranker(ranker: Ranker) -> Iterator[str]:
    """Rank two passages for a question. Raises ConvragError."""
    start = time.perf_counter()
    wrong, right = ranker.score(_QUESTION, _PASSAGES)
    seconds = time.perf_counter() - start
    order = "the answer first" if right > wrong else "the answer LAST: is it a ranking model?"
    yield f"ranks: {order} ({right:.3g} and {wrong:.3g}), {seconds:.2f} s for two passages"
