"""`search=never_needed`: a language model leaves out searches that nobody needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from convrag import Hit, LLMError, Question, Search, SearchStep
from convrag.sdk.llm.json_stage import JsonStage


@dataclass(kw_only=True, eq=False)
class NeverNeededSearch(JsonStage, Search):
    """Leave out needless searches ("Thanks!", "Make it shorter.") where an LLM finds them so.

    The answer then rests on the passages that the last one cited. The language model is not asked
    at the first question of a conversation. Where its reply cannot be used, the search is made, and
    the record says why. Without a language model, every search is made.

    Source: the retrieval decision of Self-RAG (Asai et al. 2023), by a prompt instead of a trained
        token.

    Args:
        llm: a language model; one that works by rules is not asked.
        prompt: a Jinja file to use instead of this package's needed.jinja; it is given `question`
            and `history` (a list of `user` and `assistant`, oldest first).
    """

    wording = "needed"
    max_tokens: Annotated[int | None, Ge(1)] = 100

    def plan(self, question: Question, steps: Sequence[SearchStep], seconds: float) -> SearchStep:
        """Plan one search, or none; at most one request to the model."""
        if steps:
            return SearchStep()
        if not question.history or self.llm.tasks is not None:
            return SearchStep(question.queries)
        from convrag_search.replies import Need

        try:
            need = self.ask(question, Need)
        except LLMError as error:
            return SearchStep(question.queries, fallback=str(error))
        if need.search:
            return SearchStep(question.queries)
        return SearchStep(trace={"why": need.why or "the model says so"})

    def join(self, question: Question, steps: Sequence[SearchStep], k: int) -> list[Hit]:
        """Return the passages found; without a search, those that the last answer cites."""
        if steps:
            return super().join(question, steps, k)
        cited = [passage for turn in question.whole_history[-1:] for passage in turn.passages]
        return [Hit(passage, 1 / rank) for rank, passage in enumerate(cited[:k], 1)]
