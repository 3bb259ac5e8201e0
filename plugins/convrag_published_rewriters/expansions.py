"""`rewriter=hyde`: invented passages; `rewriter=rag_fusion`: several queries for one question."""

from pathlib import Path
from typing import Annotated

from annotated_types import Ge

from convrag import LLM, LLMError, PromptTemplate, Query, Question, Rewrite
from convrag.sdk.llm_rewriter import JsonRewriter
from convrag.sdk.parallel import map_parallel


class HyDERewriter(JsonRewriter):
    """Search for the question that stands alone, and for passages that a language model invents for it (HyDE).

    A search by vectors takes the mean of the question and of n passages, a search by words the question. Where the
    model fails, the question is searched for as it stands, and the record says why.

    Source: Gao et al. 2022, "Precise Zero-Shot Dense Retrieval without Relevance Labels". It has single questions: a
    follow-up is rewritten first. The prompts are ours.

    Args:
        llm: a language model.
        n: passages, a request for each. Default: eight, as its authors sampled.
        prompt: a Jinja file to use instead of this package's samples.jinja; see rewriter=llm4cs.
        temperature: above 0, so that passages differ; None leaves it to the llm. Default: as its authors did.
        max_tokens: the longest reply, in tokens; None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        n: Annotated[int, Ge(1)] = 8,
        prompt: Path | None = None,
        temperature: float | None = 0.7,
        max_tokens: int | None = 400,
    ) -> None:
        template = PromptTemplate("samples", package="convrag_published_rewriters", path=prompt)
        super().__init__(llm, template, temperature=temperature, max_tokens=max_tokens)
        self.n = n

    def rewrite(self, question: Question) -> Rewrite:
        """A request for each passage, and one before them for a question with a history."""
        from convrag_published_rewriters.replies import QuestionReply, TextReply

        def invent(attempt: int) -> str:
            return self.ask(question, TextReply, attempt, step="response", standalone=text).text

        text = question.text
        try:
            if question.history or question.profile:
                text = self.ask(question, QuestionReply, step="rewrite").question
            passages = list(map_parallel(invent, range(self.n)))
        except LLMError as error:
            return Rewrite.of(question.text, fallback=str(error), prompt=self.template.hash)
        share = 1 / (1 + self.n)
        dense = (Query(each, share, search="dense", source="hyde") for each in passages)
        queries = (Query(text, share, source="hyde"), *dense)  # one source: retriever=fused searches for them at once
        return Rewrite(queries, {"prompt": self.template.hash, "passages": passages})


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
        texts = list(dict.fromkeys([reply.question, *reply.queries]))[: self.n + 1]
        queries = tuple(Query(text, source=f"query{number}") for number, text in enumerate(texts))
        return Rewrite(queries, {"prompt": self.template.hash})
