"""`memory=relevant`: the turns that resemble the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Interval

from convrag import ConfigError, Embedder, MemoryView, Question, Turn
from convrag_memory.reports import ReportingMemory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DIGITS = 4
"""Digits of similarities: later ones differ between machines, and should not decide anything."""


@dataclass(kw_only=True, eq=False)
class RelevantMemory(ReportingMemory):
    """Show the later stages the turns that resemble the question, and the last ones.

    They stay in the order of the conversation. A turn resembles the question if its embedding
    (question and answer) is similar enough to the question's. The trace has the similarity of each
    turn that is seen (`similarities`). rewriter=threshold does the same (the targeted rewrite of
    the DH-RAG authors); this does it for all rewriters and generators.

    Args:
        embedder: embeds each turn, once, and the question.
        turns: the most turns that are seen, the last ones among them; the most similar are
            preferred (5: as rewriter=threshold).
        last: how many of the last turns are seen whatever their similarity, since most references
            point to the last one.
        threshold: the least cosine similarity, -1 to 1; -1 always shows as many turns as may be
            seen (.3: as rewriter=threshold; it depends on the embedder).

    Raises:
        ConfigError: `last` is above `turns`.
    """

    libraries = ("numpy",)

    embedder: Embedder
    turns: Annotated[int, Ge(1)] = 5
    last: Annotated[int, Ge(0)] = 1
    threshold: Annotated[float, Interval(ge=-1, le=1)] = 0.3

    def __post_init__(self) -> None:
        if self.last > self.turns:
            raise ConfigError(
                f"memory.last={self.last}: it must be at most memory.turns={self.turns}"
            )

    def view(self, question: Question) -> MemoryView:
        """Return the similar turns and the last ones.

        Embeds the question, and each turn that is new.
        """
        history = question.history
        if not history:
            return MemoryView(())
        query = self.embedder.embed([question.text], query=True)[0]
        rows = self._embed_turns(question)
        similarities = [round(float(value), _DIGITS) for value in rows @ query]
        first_always = max(len(history) - self.last, 0)
        always = range(first_always, len(history))
        similar = [n for n in range(first_always) if similarities[n] >= self.threshold]
        similar.sort(key=lambda n: (-similarities[n], -n))
        chosen = sorted([*similar[: self.turns - len(always)], *always])
        trace = {
            "turns": len(history),
            "seen": len(chosen),
            "selected": [history[n].id for n in chosen],
            "similarities": {history[n].id: similarities[n] for n in chosen},
        }
        return MemoryView(tuple(history[n] for n in chosen), trace)

    def _embed_turns(self, question: Question) -> NDArray[np.float32]:
        """Return the vectors of the history, shape (turns, dimensions).

        The conversation's state caches them by their texts. Texts are embedded one at a time, since
        a model may round differently in a batch: after a restart they must be equal.
        """
        import numpy as np

        known = question.state(self)
        texts = [_format_turn(turn) for turn in question.history]
        for text in texts:
            if text not in known:
                known[text] = self.embedder.embed([text])[0]
        return np.stack([known[text] for text in texts])


def _format_turn(turn: Turn) -> str:
    return f"{turn.question}\n{turn.answer}".strip()
