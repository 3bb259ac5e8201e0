"""`rewriter=resolve`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from convrag import LLMError, Query, Question, Rewrite, Rewriter
from convrag.sdk.llm.json_stage import JsonRewriter
from convrag.sdk.llm.sampling import MaxTokens

if TYPE_CHECKING:
    from convrag_rewriters.model_references import Link


@dataclass(kw_only=True, eq=False)
class ResolveRewriter(JsonRewriter):
    """Replace references by what they name: "How high is it?" asks for the Eiffel Tower.

    A language model says in one request which words of the question stand for what, and which turn
    says so. The rewrite is the question with these words replaced, and nothing else; the trace has
    each with its antecedent and turn. A question without references stays as it is, word for word.
    So does the first question, for which nothing is asked.

    Where the reply cannot be read (it is asked for once more), names a turn that does not exist, or
    links words that are not in the question, the question is searched for as it is, and the record
    says why.

    `rewriter=resolve rewriter.then=mmr` has another rewriter go on from the resolved question.

    Args:
        llm: a language model.
        then: the rewriter that is given the resolved question, with the same history; none by
            default.
        prompt: a Jinja file to use instead of this package's resolve.jinja; it is given `question`
            and `history` (a list of `user` and `assistant`, oldest first, whose turns count from
            1).
    """

    wording = "resolve"
    then: Rewriter | None = None
    max_tokens: MaxTokens | None = 400

    def rewrite(self, question: Question) -> Rewrite:
        """Replace references with one request, or two where the reply cannot be read."""
        from convrag_rewriters.model_references import ReferencesReply, link_references, write_out

        links: list[Link] = []
        failure = ""
        if question.history:
            try:
                reply = self.ask(question, ReferencesReply)
                links = link_references(question.text, question.history, reply.references)
            except LLMError as error:
                failure = str(error)
            except ValueError as error:
                failure = f"the reply does not fit: {error}"
        trace: dict[str, Any] = {
            "resolved": write_out(question.text, links),
            "links": [link.describe() for link in links],
            "selected": list(dict.fromkeys(link.turn_id for link in links)),
            "prompt": self.template.hash,
        }
        if self.then is None:
            return Rewrite((Query(trace["resolved"]),), trace, failure)
        rewrite = self.then.rewrite(replace(question, text=trace["resolved"]))
        reasons = "; ".join(filter(None, (failure, rewrite.fallback)))
        return replace(rewrite, trace={**trace, **rewrite.trace}, fallback=reasons)
