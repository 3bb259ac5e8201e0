"""A line by the LLM about one part of the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from convrag import LLM, LLMError, PromptTemplate, Turn
from convrag.sdk.llm_rewriter import clean_reply, format_exchanges

_MAX_TOKENS = 60  # a line of some twenty words, with room for long ones
_LONGEST = 300  # characters; more is no line


class TopicLine:
    """Says in one line what exchanges are about; where the LLM does not, nothing is said, and the trace says why."""

    def __init__(self, llm: LLM) -> None:
        self.llm = llm
        self.template = PromptTemplate("topic", package="convrag_dhrag")

    def of(self, turns: Sequence[Turn]) -> tuple[str, dict[str, Any]]:
        """Turns, oldest first -> the line, maybe empty, and what a trace should say of it."""
        sampling = {"temperature": 0.0, "max_tokens": _MAX_TOKENS}
        try:
            reply = self.llm.complete(self.template.render(sampling, history=format_exchanges(turns))).text
        except LLMError as error:
            return "", {"topic": "", "topic_missing": str(error)}
        line = clean_reply(reply)
        if not line or len(line) > _LONGEST:
            return "", {"topic": "", "topic_missing": f"the reply is no line: {reply[:_LONGEST]!r}"}
        return line, {"topic": line}
