"""The base of rankers that ask a language model: what it reads of the conversation, and how deep it
ranks.
"""

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
    """Asks a language model about the first `depth` texts; the others follow in the order in which they came.

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
        """It needs a language model."""
        if self.llm.tasks is not None:
            yield "it asks a language model, and the llm is none: choose one (llm=litellm llm.model=...)"

    def score_for(self, question: Question, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score n texts for a question in its conversation: (n,) scores."""
        return self.score(describe_question(question, self.turns), texts)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score n texts: (n,) scores, those of texts that the model did not see below all others.
        Raises LLMError.
        """
        import numpy as np

        distinct = list(dict.fromkeys(texts[: self.depth]))
        scores = (
            dict(zip(distinct, self.score_seen(query, distinct), strict=True)) if distinct else {}
        )
        lowest = min(scores.values(), default=0.0) - 1
        return np.array([scores.get(text, lowest) for text in texts], dtype=np.float64)

    @abstractmethod
    def score_seen(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score the different texts that the model sees: one at least, at most `depth`."""


def describe_question(question: Question, turns: int) -> str:
    """The last exchanges, the question as it was asked, and its rewrite where that says more."""
    history = question.history[-turns:] if turns else ()
    said = [f"User: {turn.question}\nAssistant: {turn.answer}" for turn in history]
    if not said:
        return question.standalone
    rewrite = (
        f"\n(by itself: {question.standalone})" if question.standalone != question.text else ""
    )
    return "\n".join([*said, f"User: {question.text}{rewrite}"])
