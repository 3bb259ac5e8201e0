"""Calls of language models: messages, prompts, replies and costs. All are immutable plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Role = Literal["system", "user", "assistant"]


class Message(NamedTuple):
    """One chat message, as it is sent to a model.

    Args:
        role: the speaker: "system", "user" or "assistant".
        content: the text.

    Example:
        >>> Message("user", "How hot should green tea be?").role
        'user'
    """

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request to a language model: the chat messages, and their content as named inputs.

    `PromptTemplate.render` makes one. Language models read `messages`; rule-based LLM stages read
    `task` and `inputs`.

    Args:
        task: the name of what is asked for ("rewrite", "answer").
        messages: the messages as they are sent.
        inputs: the values that the messages were made of, by name.
        sampling: parameters that override the llm's (temperature, max_tokens, ...).
        attempt: counts from 0. A second attempt is a new call, so the cached reply to the first is
            not used.
        room: tokens that the reply needs; a smaller max_tokens of the llm's own is raised to them.
        schema: the JSON schema of the reply, if it is to be JSON; its `title` names it. Servers
            that take one are sent it (`response_format`).
        reads_thoughts: whether a reply of thoughts alone counts as a reply, with an empty text:
            the stage that asks reads `Completion.reasoning` too. Otherwise it is an error.

    Example:
        >>> from dataclasses import replace
        >>> messages = (Message("user", "Rewrite: And mine?"),)
        >>> prompt = Prompt("rewrite", messages, {"question": "And mine?"})
        >>> replace(prompt, sampling={"temperature": 0.0}, attempt=1).attempt
        1
    """

    task: str
    messages: tuple[Message, ...]
    inputs: Mapping[str, Any] = field(default_factory=dict)
    sampling: Mapping[str, Any] = field(default_factory=dict)
    attempt: int = 0
    room: int = 0
    schema: Mapping[str, Any] = field(default_factory=dict)
    reads_thoughts: bool = False


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply.

    Args:
        text: the reply; if the model calls tools instead (`tools` in the sampling), its calls as
            JSON: a list of objects with `name` and `arguments`, the latter a text with the JSON
            that the model wrote.
        prompt_tokens: tokens of the prompt, as the model counts.
        completion_tokens: tokens of the reply.
        cached_tokens: prompt tokens that the provider had cached.
        cost_usd: the cost of the call in US dollars; None if the price is not known.
        seconds: the time of the original call, also if the reply comes from the store.
        retries: calls that failed before this one.
        model: the model that replied, as the provider names it.
        finish_reason: why the model ended the reply, as OpenAI names it: stop, length (cut at
            max_tokens), content_filter; empty if that is not known.
        first_words: likely first tokens -> the logarithm of their probability, if `logprobs` was
            asked for and the server returns them.
        reasoning: what the model thought before it replied; empty if it did not think, or keeps it
            to itself. It is shown folded, and is part of nothing else.
        reasoning_tokens: tokens of these thoughts, which `completion_tokens` contains.

    Example:
        >>> Completion("How hot should green tea be?", prompt_tokens=31, cost_usd=0.0001).text
        'How hot should green tea be?'
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    retries: int = 0
    model: str = ""
    finish_reason: str = ""
    first_words: Mapping[str, float] = field(default_factory=dict)
    reasoning: str = ""
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """The calls, tokens, costs and times of one stage in one turn.

    Args:
        calls: calls that were made in this run.
        reused: calls that were answered from the store. Tokens count for both.
        prompt_tokens: tokens of all prompts; 0 if only rules were asked (`LLM.tasks`).
        completion_tokens: tokens of all replies.
        cached_tokens: prompt tokens that the provider had cached.
        cost_usd: the cost of all calls when they were made, in US dollars.
        spent_usd: the cost of the calls that were made in this run.
        unpriced: replies without a known price.
        seconds: time spent in this run waiting for replies.
        retries: calls that failed and were made again.
        reused_seconds: time that the reused calls took when they were made, if it is known.
        failed: calls that raised an error.
        cut: replies that ended at max_tokens.
        filtered: replies that the provider's content filter ended.
        reasoning_tokens: tokens of thoughts, which `completion_tokens` contains.

    Example:
        >>> Usage(calls=1, seconds=0.5) + Usage(calls=2, seconds=1.0) == Usage(calls=3, seconds=1.5)
        True
    """

    calls: int = 0
    reused: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    spent_usd: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0
    retries: int = 0
    reused_seconds: float = 0.0
    failed: int = 0
    cut: int = 0
    filtered: int = 0
    reasoning_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies together; 0 if no language model was asked."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))
