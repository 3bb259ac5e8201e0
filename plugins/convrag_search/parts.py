"""`search=decompose`: a question of several parts is searched for part by part."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import Ge

from convrag import LLMError, Query, Question, Search, SearchStep
from convrag.sdk.llm.json_stage import JsonStage
from convrag.sdk.llm.rewriter import clean_reply

_AFTER_QUESTION_MARK = re.compile(r"(?<=[?？؟])\s*")


@dataclass(kw_only=True, eq=False)
class DecomposeSearch(JsonStage, Search):
    """Search for each part of a question: "How tall is it, and who built it?" has two parts.

    A language model writes the parts as questions that stand alone. Without one, the question is
    cut after question marks; each part takes the place of the rewrite's first query. A question of
    one part is searched for as the rewriter says. The passages of the parts alternate, so that each
    part has its best among the first. Where the model's reply cannot be used, there is one search,
    and the record says why.

    Source: Least-to-most prompting (Zhou et al. 2022) and the decomposition of MultiHop-RAG's
    baselines (Tang and Yang 2024), without an answer for each part.

    Args:
        llm: a language model; one that works by rules is not asked.
        parts: the most parts.
        prompt: a Jinja file to use instead of this package's parts.jinja; it is given `question`,
            `history` (a list of `user` and `assistant`, oldest first) and `parts` (the most).
    """

    wording = "parts"
    parts: Annotated[int, Ge(2)] = 4
    max_tokens: Annotated[int | None, Ge(1)] = 300

    def plan(self, question: Question, steps: Sequence[SearchStep], seconds: float) -> SearchStep:
        """Plan a search for each part; one request to the model before the first."""
        try:
            parts = self._find_parts(question, steps)[: self.parts]
        except LLMError as error:
            return SearchStep(question.queries, fallback=str(error))
        if len(parts) < 2 or len(steps) == len(parts):
            return SearchStep(() if steps else question.queries)
        part = parts[len(steps)]
        queries: tuple[Query, ...] = (Query(part),)
        if not self._has_model:
            # The other queries are the rewriter's additions from the conversation.
            first, *others = question.queries
            queries = (replace(first, text=part), *others)
        return SearchStep(queries, {} if steps else {"parts": parts})

    @property
    def _has_model(self) -> bool:
        return self.llm.tasks is None

    def _find_parts(self, question: Question, steps: Sequence[SearchStep]) -> list[str]:
        """Find the parts before the first search, and read them from its trace later."""
        if steps:
            return list(steps[0].trace.get("parts", []))
        if self._has_model:
            return self._ask_for_parts(question)
        return [part for part in _AFTER_QUESTION_MARK.split(question.text.strip()) if part]

    def _ask_for_parts(self, question: Question) -> list[str]:
        """Ask the model for the different parts. Raises LLMError."""
        from convrag_search.replies import Parts

        reply = self.ask(question, Parts, parts=self.parts)
        return list(dict.fromkeys(filter(None, map(clean_reply, reply.parts))))
