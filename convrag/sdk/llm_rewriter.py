"""What rewriters that ask an LLM share: the prompt, the reply, and the way back to the question itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from convrag.api.errors import LLMError
from convrag.api.stages import LLM
from convrag.api.types import Question, Rewrite, Turn
from convrag.sdk.prompts import PromptTemplate

_LABEL = re.compile(
    r"""^(?:
        (?:(?:sure|okay|certainly|here\s+is|here['’]s|the|your|rewritten|standalone|stand-alone|self-contained
            |reformulated|rephrased|condensed|revised|final|new|search)[\s,.!]*)*
        (?:question|query|rewrite|output)\s*:\s*
    )+""",
    re.IGNORECASE | re.VERBOSE,
)
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»", "„": "“"}

LONGEST = 400
"""Characters that a rewrite may have, unless the question is itself half as long: more is an answer or a lecture."""


class LLMRewriter:
    """Rewrites a question with one call of an LLM; where that comes to nothing, gives the question back and says why.

    Args:
        llm: the language model.
        template: the prompt for the task "rewrite".
        sampling: of the call (temperature, max_tokens, ...); None leaves a value to the llm.
    """

    def __init__(self, llm: LLM, template: PromptTemplate, **sampling: Any) -> None:
        self.llm = llm
        self.template = template
        self.sampling = sampling

    def rewrite(self, question: Question, trace: Mapping[str, Any], **inputs: Any) -> Rewrite:
        """Ask once.

        Args:
            question: what is to stand alone.
            trace: what the rewriter says of its choice; the prompt's hash and the model's name are added.
            inputs: what the template and llm=extractive read beside `question`; `history` as `exchanges` gives it.
        """
        prompt = self.template.render(self.sampling, question=question.text, **inputs)
        trace = {**trace, "prompt": self.template.hash}
        try:
            completion = self.llm.complete(prompt)
        except LLMError as error:
            return Rewrite.of(question.text, fallback=str(error), **trace)
        text = clean_reply(completion.text)
        if reason := _useless(text, question.text):
            return Rewrite.of(question.text, fallback=reason, **trace, reply=completion.text)
        return Rewrite.of(text, **trace, model=completion.model)


def format_exchanges(turns: Iterable[Turn]) -> list[dict[str, str]]:
    """Turns as a prompt's `history`: a `user` and an `assistant` text for each, in the order given."""
    return [{"user": turn.question, "assistant": turn.answer} for turn in turns]


def _useless(text: str, question: str) -> str:
    if not text:
        return "the reply holds no question"
    if len(text) > max(LONGEST, 2 * len(question)):
        return f"the reply is no question: it has {len(text)} characters"
    return ""


def clean_reply(reply: str) -> str:
    """The first line that is left without labels ("Standalone question:"), quotes, bold and fences; maybe none."""
    for line in reply.splitlines():
        if line.strip().startswith("```"):
            continue
        text = _unquoted(_LABEL.sub("", line.replace("**", "").strip()))
        if text:
            return text
    return ""


def _unquoted(text: str) -> str:
    """Without the quotation marks around the whole of it; those inside stay."""
    while len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    return text if text.strip("\"'`“”") else ""
