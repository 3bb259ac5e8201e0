"""`rewriter=multi_query` and `rewriter=rag_fusion`: readings and aspects of a question."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge

from convrag import LLMError, Query, Question, Rewrite
from convrag.sdk.llm.json_stage import JsonRewriter
from convrag.sdk.llm.sampling import MaxTokens


@dataclass(kw_only=True, eq=False)
class MultiQueryRewriter(JsonRewriter):
    """Search for each reading of an ambiguous follow-up, weighted; or for aspects of a question.

    After "aspirin or ibuprofen?", "Is it safe?" has two readings. A language model decides whether
    a question is ambiguous and writes its readings in the same request. A question with one reading
    gives one query. With kind=aspects (RAG-Fusion) it writes the question so that it stands alone,
    and queries that look at it from other sides. The weights of queries add up to 1. Each has a
    source of its own, so that retriever=fused searches for it by itself; fusion=rrf fuses the
    ranks, as RAG-Fusion does. Where the model's reply cannot be used, the question is searched for
    as it stands, and the record says why. So is the first question of a conversation, of which
    there is one reading; nothing is asked then.

    Source: the wish of the seed perplexity_style_multi_turn.md; the words of ambiguity are from
    ClariQ (Aliannejadi et al. 2021), which asks the user instead. Aspects: Rackauckas 2024,
    "RAG-Fusion: a New Take on Retrieval-Augmented Generation", after Raudaschl 2023, for single
    questions; the prompt is ours.

    Args:
        llm: a language model.
        kind: "readings" or "aspects".
        n: the most queries; of aspects, with the question itself (five, as in Raudaschl's code).
        prompt: a Jinja file to use instead of this package's readings.jinja or aspects.jinja; it is
            given `question`, `history` (a list of `user` and `assistant`, oldest first) and `n`.
    """

    kind: Literal["readings", "aspects"] = "readings"
    n: Annotated[int, Ge(1)] = 3
    max_tokens: MaxTokens | None = 400

    def __post_init__(self) -> None:
        self.wording = self.kind
        super().__post_init__()

    def rewrite(self, question: Question) -> Rewrite:
        """Ask the model for queries; nothing is asked for the reading of a first question."""
        from convrag_rewriters.readings import ReadingsReply

        if self.kind == "readings" and not question.history and not question.profile:
            return Rewrite.of(question.text)
        trace: dict[str, Any] = {"prompt": self.template.hash}
        try:
            reply = self.ask(question, ReadingsReply, n=self.n)
        except LLMError as error:
            return Rewrite.of(question.text, fallback=str(error), **trace)
        if not (readings := reply.weigh_readings(question.text, self.n)):
            return Rewrite.of(question.text, fallback="the reply holds no question", **trace)
        trace["why"] = reply.why
        if self.kind == "readings":
            trace["ambiguous"] = len(readings) > 1
        if len(readings) == 1:
            return Rewrite.of(readings[0][0], **trace)
        queries = [
            Query(text, weight, source=f"reading{n}")
            for n, (text, weight) in enumerate(readings, 1)
        ]
        listed = [{"question": text, "weight": round(weight, 4)} for text, weight in readings]
        return Rewrite(tuple(queries), trace | {"readings": listed})
