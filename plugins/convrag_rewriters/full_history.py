"""`rewriter=full_history`: an LLM rewrites the question, given the whole conversation."""

from pathlib import Path

from convrag import LLM, PromptTemplate, Question, Rewrite, Rewriter
from convrag.sdk.llm.rewriter import LLMRewriter, format_exchanges
from convrag.sdk.llm.sampling import MaxTokens, Temperature


class FullHistoryRewriter(Rewriter):
    """Ask the LLM for a stand-alone question, with the whole conversation in the prompt.

    The first question of a conversation is not rewritten. If the LLM fails, or its reply is no
    question, the original question is used, and the record gives the reason.

    Args:
        llm: the language model that rewrites.
        prompt: a Jinja file to use instead of this package's rewrite.jinja; it is given `question`
            and `history` (a list of `user` and `assistant`, oldest first).
        temperature: 0 gives the likeliest rewrite; None leaves it to the llm.
        max_tokens: the longest reply, in tokens, far more than a question needs; None leaves it to
            the llm.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        prompt: Path | None = None,
        temperature: Temperature | None = 0.0,
        max_tokens: MaxTokens | None = 200,
    ) -> None:
        template = PromptTemplate("rewrite", package="convrag_rewriters", path=prompt)
        self.llm_rewriter = LLMRewriter(
            llm, template, temperature=temperature, max_tokens=max_tokens
        )
        self.prompt_templates = (template,)

    def rewrite(self, question: Question) -> Rewrite:
        """Ask the LLM; nothing is asked for a first turn, unless the user has a profile."""
        if not question.history and not question.profile:
            return Rewrite.of(question.text)
        return self.llm_rewriter.rewrite(question, {}, history=format_exchanges(question.history))
