"""The base of rewriters that ask an LLM once: the prompt, its cleaned reply, and the fallback."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from convrag.api.conversations import Question, Turn
from convrag.api.errors import LLMError
from convrag.api.queries import Rewrite
from convrag.api.stage import LLM
from convrag.sdk.llm.prompts import PromptTemplate, add_profile

_LABEL = re.compile(
    r"""^(?:
        (?:(?:sure|okay|certainly|here\s+is|here['’]s|the|your|rewritten|standalone|stand-alone|self-contained
            |reformulated|rephrased|condensed|revised|final|new|search)[\s,.!]*)*
        (?:question|query|rewrite|output)\s*:\s*
    )+""",
    re.IGNORECASE | re.VERBOSE,
)
"""Labels that models put before a question ("Here is the rewritten question:")."""

_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»", "„": "“"}

MAX_CHARACTERS = 400
"""The longest rewrite, unless twice the question is longer.

A longer reply is an answer or an explanation.
"""


class LLMRewriter:
    """Rewrites a question with one call of an LLM.

    If that fails, the rewrite is the question, with the reason.

    Args:
        llm: the language model.
        template: the prompt for the task "rewrite".
        sampling: parameters of the call (temperature, max_tokens, ...); for None, the llm's own
            value is used.
    """

    def __init__(self, llm: LLM, template: PromptTemplate, **sampling: Any) -> None:
        self.llm = llm
        self.template = template
        self.sampling = sampling

    def rewrite(self, question: Question, trace: Mapping[str, Any], **inputs: Any) -> Rewrite:
        """Ask the LLM for a rewrite. The prompt mentions the question's profile where it has one.

        Args:
            question: the question to rewrite.
            trace: the trace of the rewriter; the prompt's hash and the model's name are added.
            inputs: the inputs of the template next to `question`, which llm=extractive reads, too;
                `history` comes from `format_exchanges`.
        """
        prompt = self.template.render(self.sampling, question=question.text, **inputs)
        prompt = add_profile(prompt, question.profile)
        trace = {**trace, "prompt": self.template.hash}
        try:
            completion = self.llm.complete(prompt)
        except LLMError as error:
            return Rewrite.of(question.text, fallback=str(error), **trace)
        text = clean_reply(completion.text)
        reason = _find_defect(text, question.text)
        if completion.finish_reason == "length" and "\n" not in completion.text.strip():
            reason = "the reply was cut at max_tokens"
        if reason:
            return Rewrite.of(question.text, fallback=reason, **trace, reply=completion.text)
        return Rewrite.of(text, **trace, model=completion.model)


def format_exchanges(turns: Iterable[Turn]) -> list[dict[str, str]]:
    """Format turns as the `history` of a prompt: a `user` and an `assistant` text for each."""
    return [{"user": turn.question, "assistant": turn.answer} for turn in turns]


def _find_defect(text: str, question: str) -> str:
    """Say why a cleaned reply is not a question; empty if it may be one."""
    if not text:
        return "the reply holds no question"
    if len(text) > max(MAX_CHARACTERS, 2 * len(question)):
        return f"the reply is not a question: it has {len(text)} characters"
    return ""


def clean_reply(reply: str) -> str:
    """Return the first line of a reply that is not empty, without labels, quotes and markup."""
    for line in reply.splitlines():
        if line.strip().startswith("```"):
            continue
        text = _strip_quotes(_LABEL.sub("", line.replace("**", "").strip()))
        if text:
            return text
    return ""


def _strip_quotes(text: str) -> str:
    """Remove quotation marks around the whole text; those inside stay."""
    while _is_quoted(text):
        text = text[1:-1].strip()
    return text if text.strip("\"'`“”") else ""


def _is_quoted(text: str) -> bool:
    """Whether a pair of quotation marks surrounds the whole text, and is not used inside it."""
    if len(text) < 2:
        return False
    return _QUOTES.get(text[0]) == text[-1] and text[0] not in text[1:-1]
