"""What the rewriters that ask an LLM share: the prompt, the reply, and the way back to the question itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from convrag.errors import LLMError
from convrag.prompts import PromptTemplate
from convrag.stages import LLM
from convrag.types import Question, Rewrite, Turn
from convrag_baselines.cleaning import clean_reply

LONGEST = 400
"""Characters that a rewrite may have, unless the question is itself half as long: more is an answer or a lecture."""


class Asker:
    """Rewrites a question from chosen turns of its history with one call of an LLM.

    Args:
        llm: the language model.
        prompt: a Jinja file to use instead of this package's rewrite.jinja.
        temperature: of the call.
        max_tokens: of the reply.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(self, llm: LLM, prompt: Path | None, temperature: float | None, max_tokens: int | None) -> None:
        self.llm = llm
        self.template = PromptTemplate("rewrite", package="convrag_baselines", path=prompt)
        self.sampling = {"temperature": temperature, "max_tokens": max_tokens}

    def rewrite(self, question: Question, turns: Sequence[Turn], **trace: Any) -> Rewrite:
        """The rewrite; the question itself, with the reason, where the reply is of no use. No turns: no call."""
        trace = {"selected": [turn.id for turn in turns], **trace}
        if not turns:
            return Rewrite.of(question.text, **trace)
        history = [{"user": turn.question, "assistant": turn.answer} for turn in turns]
        prompt = self.template.render(self.sampling, question=question.text, history=history)
        trace["prompt"] = self.template.hash
        try:
            completion = self.llm.complete(prompt)
        except LLMError as error:
            return Rewrite.of(question.text, fallback=str(error), **trace)
        text = clean_reply(completion.text)
        if reason := _useless(text, question.text):
            return Rewrite.of(question.text, fallback=reason, **trace, reply=completion.text)
        return Rewrite.of(text, **trace, model=completion.model)


def _useless(text: str, question: str) -> str:
    if not text:
        return "the reply holds no question"
    if len(text) > max(LONGEST, 2 * len(question)):
        return f"the reply is no question: it has {len(text)} characters"
    return ""
