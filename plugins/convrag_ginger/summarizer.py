"""`summarizer=llm`: one sentence for each cluster of nuggets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from convrag import LLM, Nugget, PromptTemplate, Summarizer
from convrag.sdk.sentences import get_first_sentence, remove_citations
from convrag_ginger.length_limit import truncate_sentence

_LABEL = re.compile(r"^(?:summary|sentence|answer)\s*:\s*", re.IGNORECASE)
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+")
_QUOTED = re.compile(r"""^(\*\*|["'`“])(?P<inner>[^"“”]+?)(\*\*|["'`”])$""")


class LlmSummarizer(Summarizer):
    """Ask the LLM to say in one sentence what the nuggets contribute to answering the query (GINGER).

    Only the first sentence of a reply counts. It is cut to the limit, at the end of a clause if possible. Where the
    reply is empty, the first sentence of the first nugget is quoted.

    Args:
        llm: the language model that summarises.
        prompt: a Jinja file to use instead of this package's summarize.jinja; it is given `question`, `nuggets` (a list
            of texts) and `words` (the limit).
        temperature: 0 gives the likeliest sentence (GINGER leaves it to the model); None leaves it to the llm.
        max_tokens: the longest reply, in tokens (100: GINGER); None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        prompt: Path | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 100,
    ) -> None:
        self.llm = llm
        self.sampling = {"temperature": temperature, "max_tokens": max_tokens}
        self.template = PromptTemplate("summarize", package="convrag_ginger", path=prompt)
        self.prompt_templates = (self.template,)

    def summarize(self, query: str, nuggets: Sequence[Nugget], words: int) -> str:
        """One call of the LLM; without nuggets no call, and an empty text. Raises LLMError."""
        texts = [" ".join(remove_citations(nugget.text).split()) for nugget in nuggets]
        if not texts:
            return ""
        prompt = self.template.render(self.sampling, question=query, nuggets=texts, words=words)
        sentence = get_first_sentence(clean_sentence(self.llm.complete(prompt).text))
        return truncate_sentence(sentence or get_first_sentence(texts[0]), words)


def clean_sentence(reply: str) -> str:
    """The first line of a reply that has text, without its label, bullet, quotation marks and citations."""
    for line in reply.splitlines():
        text = _LABEL.sub("", _BULLET.sub("", line.strip()))
        if text.startswith("```"):
            continue
        if quoted := _QUOTED.match(text):
            text = quoted["inner"]
        if text := remove_citations(text).strip():
            return text
    return ""
