"""A topic line: what a few exchanges of the conversation are about, in one line by the LLM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from convrag import LLM, LLMError, PromptTemplate, Turn
from convrag.sdk.llm_rewriter import clean_reply, format_exchanges

_MAX_TOKENS = 60  # the prompt asks for twenty words; there is room for long ones
_MAX_CHARACTERS = 300  # of a topic line; a longer reply is not used


class TopicSummarizer:
    """Asks an LLM what exchanges are about. Where there is no usable reply, the trace says why.

    Args:
        llm: the language model.
    """

    def __init__(self, llm: LLM) -> None:
        self.llm = llm
        self.template = PromptTemplate("topic", package="convrag_dhrag")

    def summarize(self, turns: Sequence[Turn]) -> tuple[str, dict[str, Any]]:
        """One call of the LLM. Turns, oldest first -> the topic line, maybe empty, and its entries in the trace."""
        sampling = {"temperature": 0.0, "max_tokens": _MAX_TOKENS}
        try:
            reply = self.llm.complete(self.template.render(sampling, history=format_exchanges(turns))).text
        except LLMError as error:
            return "", {"topic": "", "topic_missing": str(error)}
        line = clean_reply(reply)
        if not line or len(line) > _MAX_CHARACTERS:
            return "", {"topic": "", "topic_missing": f"the reply is no line: {reply[:_MAX_CHARACTERS]!r}"}
        return line, {"topic": line}
