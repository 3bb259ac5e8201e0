"""`rewriter=rag_fusion`: several queries for one question."""

from pathlib import Path
from typing import Annotated

from annotated_types import Ge

from convrag import LLM, LLMError, PromptTemplate, Query, Question, Rewrite
from convrag.sdk.llm_rewriter import JsonRewriter


class RAGFusionRewriter(JsonRewriter):
    """Search for a question and for n other queries that a language model writes for it (RAG-Fusion).

    Each query has a source of its own, so that retriever=fused searches for it by itself; fusion=rrf fuses the ranks as
    published. One request asks for the question that stands alone and for the queries. Where its reply cannot be used,
    the question is searched for as it stands, and the record says why.

    Source: Rackauckas 2024, "RAG-Fusion: a New Take on Retrieval-Augmented Generation", after Raudaschl 2023. Both have
    single questions. The prompt is ours.

    Args:
        llm: a language model.
        n: the most queries beside the question. Default: as in Raudaschl's code.
        prompt: a Jinja file to use instead of this package's rag_fusion.jinja; it is given `n`, `question` and
            `history` (a list of `user` and `assistant`, oldest first).
        temperature: 0 gives the likeliest reply; None leaves it to the llm.
        max_tokens: the longest reply, in tokens; None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        n: Annotated[int, Ge(1)] = 4,
        prompt: Path | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 400,
    ) -> None:
        template = PromptTemplate("rag_fusion", package="convrag_published_rewriters", path=prompt)
        super().__init__(llm, template, temperature=temperature, max_tokens=max_tokens)
        self.n = n

    def rewrite(self, question: Question) -> Rewrite:
        """One request to the model (two where its reply cannot be read)."""
        from convrag_published_rewriters.replies import QueriesReply

        try:
            reply = self.ask(question, QueriesReply, n=self.n)
        except LLMError as error:
            return Rewrite.of(question.text, fallback=str(error), prompt=self.template.hash)
        texts = list(dict.fromkeys([reply.question, *reply.queries[: self.n]]))
        queries = [Query(text, source=f"query{number}") for number, text in enumerate(texts)]
        return Rewrite(tuple(queries), {"prompt": self.template.hash})
