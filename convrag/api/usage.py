"""What the calls of models in a turn have taken: tokens, costs and times."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """The calls, tokens, costs and times of one stage in one turn.

    Args:
        calls: made in this run.
        reused: answered from the store. Tokens count for both.
        prompt_tokens: of all prompts; 0 where no language model was asked, but rules (`LLM.tasks`).
        completion_tokens: of all replies.
        cached_tokens: prompt tokens that the provider had cached.
        cost_usd: what all calls cost when they were made, in US dollars.
        spent_usd: what was spent in this run.
        unpriced: replies without a known price.
        seconds: spent in this run waiting for replies.
        retries: calls that failed and were made again.
        reused_seconds: that the reused calls took when they were made, if known.
        failed: of the calls, those that raised an error.
        cut: replies that ended at max_tokens.
        filtered: replies that the provider's content filter ended.

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

    @property
    def tokens(self) -> int:
        """Those of prompts and replies together; 0 where no language model was asked."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))
