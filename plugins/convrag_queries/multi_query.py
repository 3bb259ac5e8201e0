"""`rewriter=multi_query`: an ambiguous follow-up becomes several standalone readings, with weights."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge

from convrag import LLM, LLMError, PromptTemplate, Query, Question, Rewrite
from convrag.sdk.llm_rewriter import JsonRewriter


class MultiQueryRewriter(JsonRewriter):
    """Search for each reading of an ambiguous follow-up, by its weight: "Is it safe?" after "aspirin or ibuprofen?".

    A language model decides whether a question is ambiguous and writes its readings in the same request. A question
    with one reading gives one query. The weights of readings add up to 1. Each has a source of its own, so that
    retriever=fused searches for it by itself. Where the model's reply cannot be used, the question is searched for as
    it stands, and the record says why. So is the first question of a conversation, for which nothing is asked.

    Source: the wish of the seed perplexity_style_multi_turn.md; the words of ambiguity are from ClariQ (Aliannejadi et
    al. 2021), which asks the user instead.

    Args:
        llm: a language model.
        readings: the most of them.
        prompt: a Jinja file to use instead of this package's readings.jinja; it is given `question`, `history` (a list
            of `user` and `assistant`, oldest first) and `readings` (the most).
        temperature: 0 gives the likeliest reply; None leaves it to the llm.
        max_tokens: the longest reply, in tokens; None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        readings: Annotated[int, Ge(1)] = 3,
        prompt: Path | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 400,
    ) -> None:
        template = PromptTemplate("readings", package="convrag_queries", path=prompt)
        super().__init__(llm, template, temperature=temperature, max_tokens=max_tokens)
        self.readings = readings

    def rewrite(self, question: Question) -> Rewrite:
        """One request to the model (two where its reply cannot be read); none for a first question."""
        from convrag_queries.reply import ReadingsReply

        if not question.history and not question.profile:
            return Rewrite.of(question.text, ambiguous=False)
        trace: dict[str, Any] = {"prompt": self.template.hash}
        try:
            reply = self.ask(question, ReadingsReply, readings=self.readings)
        except LLMError as error:
            return Rewrite.of(question.text, fallback=str(error), ambiguous=False, **trace)
        if not (readings := reply.weigh_readings(question.text, self.readings)):
            return Rewrite.of(question.text, fallback="the reply holds no question", ambiguous=False, **trace)
        return _search(readings, trace | {"why": reply.why})


def _search(readings: Sequence[tuple[str, float]], trace: dict[str, Any]) -> Rewrite:
    """Queries for readings, heaviest first. A single reading is one plain query."""
    if len(readings) == 1:
        return Rewrite.of(readings[0][0], ambiguous=False, **trace)
    queries = [Query(text, weight, source=f"reading{n}") for n, (text, weight) in enumerate(readings, 1)]
    listed = [{"question": text, "weight": round(weight, 4)} for text, weight in readings]
    return Rewrite(tuple(queries), {"ambiguous": True, **trace, "readings": listed})
