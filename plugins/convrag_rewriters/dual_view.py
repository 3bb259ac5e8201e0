"""`rewriter=dual_view`: one request writes a rewrite for words, and one for vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from convrag import LLMError, Query, Question, Rewrite
from convrag.sdk.llm.json_stage import JsonRewriter
from convrag.sdk.llm.sampling import MaxTokens


@dataclass(kw_only=True, eq=False)
class DualViewRewriter(JsonRewriter):
    """Ask the LLM in one request for a rewrite for words and one for vectors (after DVCQR).

    A search by words wants the distinctive terms; a search by vectors wants a whole question with
    all conditions. The rewrite has a query for each kind of search, of equal weight, and later
    stages read the one for vectors. bm25 searches for the first, dense for the second, and hybrid,
    elasticsearch and opensearch for both, each on its side; a search by one kind alone gets the
    query that was written for it.

    The first question of a conversation is searched for as it is, and nothing is asked. So is a
    question for which the model gives no reply that can be read (it is asked once more); the record
    says why.

    Source: Li, Tu and Wang, "DVCQR: Dual-View Conversational Query Rewriting with Stage-wise
    Reinforcement Learning", ACL 2026, who train a model for it. This is the idea with any model;
    the prompt is ours.

    Args:
        llm: a language model.
        prompt: a Jinja file to use instead of this package's dual_view.jinja; it is given
            `question` and `history` (a list of `user` and `assistant`, oldest first).
    """

    wording = "dual_view"
    max_tokens: MaxTokens | None = 400

    def rewrite(self, question: Question) -> Rewrite:
        """Ask once, or twice where the reply cannot be read."""
        from convrag_rewriters.reply_forms import DualViewReply

        if not question.history and not question.profile:
            return Rewrite.of(question.text)
        trace: dict[str, Any] = {"prompt": self.template.hash}
        try:
            reply = self.ask(question, DualViewReply)
        except LLMError as error:
            return Rewrite.of(question.text, fallback=str(error), **trace)
        trace |= {"asked": reply.asked, "words": reply.words, "vectors": reply.vectors}
        if reply.words == reply.vectors:
            return Rewrite.of(reply.vectors, **trace)
        queries = (
            Query(reply.vectors, search="dense"),
            Query(reply.words, search="lexical"),
        )
        return Rewrite(queries, trace)
