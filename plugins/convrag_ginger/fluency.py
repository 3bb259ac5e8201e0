"""Rephrases an answer as a whole, sentence by sentence, so that each keeps its citations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from convrag import LLM, LLMError, PromptTemplate
from convrag_ginger.summarizer import bare


class Rephrased(NamedTuple):
    """As many sentences as there were, and why they are the old ones, where they are."""

    sentences: list[str]
    kept: str = ""


class Editor:
    """Asks an LLM for one line for each sentence. The citations are not shown to it, so that it cannot lose them."""

    def __init__(self, llm: LLM, template: PromptTemplate, sampling: dict[str, Any]) -> None:
        self.llm = llm
        self.template = template
        self.sampling = sampling

    def rephrase(self, question: str, sentences: Sequence[str]) -> Rephrased:
        """One call; where it fails, or gives another number of lines, the sentences stay as they are."""
        prompt = self.template.render(self.sampling, question=question, text="\n".join(sentences))
        try:
            reply = self.llm.complete(prompt).text
        except LLMError as error:
            return Rephrased(list(sentences), str(error))
        lines = [text for line in reply.splitlines() if (text := bare(line))]
        if len(lines) != len(sentences):
            return Rephrased(list(sentences), f"the reply has {len(lines)} lines for {len(sentences)} sentences")
        return Rephrased(lines)
