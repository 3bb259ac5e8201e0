"""The base of rankers that ask a language model and show it the conversation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge

from convrag import LLM, Question, Ranker

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(kw_only=True, eq=False)
class ConversationRanker(Ranker):
    """Asks a language model about the first `depth` texts; the others follow in their order.

    As a reranker it shows the model the last exchanges and the question in its own words, then the
    rewrite. As the ranker of clusters it has the query alone.

    Args:
        llm: a language model.
        turns: exchanges before the question that the model sees.
        depth: texts that it ranks.
    """

    llm: LLM
    turns: Annotated[int, Ge(0)] = 3
    depth: Annotated[int, Ge(1)] = 100

    def check(self) -> Iterator[str]:
        """Say that it needs a language model, where there is none."""
        if self.llm.tasks is not None:
            yield (
                "it asks a language model, and the llm is none: choose one "
                "(llm=litellm llm.model=...)"
            )

    def score_for(self, question: Question, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score n texts for a question in its conversation: (n,) scores."""
        return self.score(describe_question(question, self.turns), texts)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score n texts: (n,) scores. Raises LLMError.

        Texts that the model did not see score below all others.
        """
        import numpy as np

        distinct = list(dict.fromkeys(texts[: self.depth]))
        scores: dict[str, float] = {}
        if distinct:
            scores = dict(zip(distinct, self.score_seen(query, distinct), strict=True))
        lowest = min(scores.values(), default=0.0) - 1
        return np.array([scores.get(text, lowest) for text in texts], dtype=np.float64)

    @abstractmethod
    def score_seen(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score the different texts that the model sees: one at least, at most `depth`."""


def describe_question(question: Question, turns: int) -> str:
    """Describe a question by the last exchanges, its own words, and its rewrite."""
    history = question.history[-turns:] if turns else ()
    if not history:
        return question.standalone
    lines = [f"User: {turn.question}\nAssistant: {turn.answer}" for turn in history]
    lines.append(f"User: {question.text}")
    if question.standalone != question.text:
        lines.append(f"(by itself: {question.standalone})")
    return "\n".join(lines)
