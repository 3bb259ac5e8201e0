"""`rewriter=imagined`: what another rewriter searches for, and made-up passages that answer it."""

from __future__ import annotations

from dataclasses import replace

from convrag import LLM, LLMError, PromptTemplate, Query, Question, Rewrite, Rewriter, use
from convrag.sdk.llm.prompts import add_profile


class ImaginedRewriter(Rewriter):
    """Search also with passages that a language model makes up as answers to the question (HyDE).

    They need not be true: they have the words that true passages have. If the model fails, the
    other rewriter's queries are searched for. From Gao et al., "Precise zero-shot dense retrieval
    without relevance labels" (ACL 2023).

    Args:
        llm: writes the passages.
        first: makes the question standalone, so that the model need not know the conversation.
        passages: how many to write for each question.
        weight: of all passages together, beside the weights of the other queries (mostly 1).
        temperature: of the model; None takes its own. At 0, all passages are the same.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        first: Rewriter = use("auto"),
        passages: int = 1,
        weight: float = 1.0,
        temperature: float | None = 0.7,
    ) -> None:
        self.llm = llm
        self.first = first
        self.passages = passages
        self.weight = weight
        self.temperature = temperature
        self.template = PromptTemplate("imagined", package="imagined")
        self.prompt_templates = (self.template,)

    def rewrite(self, question: Question) -> Rewrite:
        """Return the first rewriter's queries and the passages; retrievers add their weighted
        scores or vectors.
        """
        rewrite = self.first.rewrite(question)
        prompt = self.template.render({"temperature": self.temperature}, question=rewrite.text)
        prompt = add_profile(prompt, question.profile)
        try:
            replies = [
                self.llm.complete(replace(prompt, attempt=n)).text.strip()
                for n in range(self.passages)
            ]
        except LLMError as error:
            return replace(rewrite, fallback=str(error))
        written = [reply for reply in replies if reply]
        if not written:
            return replace(rewrite, fallback="the model wrote no passage")
        made_up = [Query(passage, self.weight / len(written)) for passage in written]
        return replace(
            rewrite,
            queries=(*rewrite.queries, *made_up),
            trace={**rewrite.trace, "passages": written},
        )
