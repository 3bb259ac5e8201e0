"""`memory=relevant`: the turns that resemble the question, and the last ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from convrag import ConfigError, Embedder, Memory, MemoryView, Question, Report, Turn, TurnRecord
from convrag_memory.report import report_views

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DIGITS = 4  # of similarities: later digits differ between machines, and should not decide anything


class RelevantMemory(Memory):
    """Show the later stages the turns that resemble the question, and the last ones, in the order of the conversation.

    A turn resembles the question if its embedding (question and answer) is similar enough to the question's. The trace
    has the similarity of each turn that is seen (`similarities`). It is what rewriter=threshold does (the targeted
    rewrite of the DH-RAG authors), for all rewriters and generators.

    Args:
        embedder: embeds each turn, once, and the question.
        turns: the most turns that are seen, the last ones among them; the most similar are preferred (5: as
            rewriter=threshold).
        last: how many of the last turns are seen whatever their similarity, since most references point to the last
            one.
        threshold: the least cosine similarity, -1 to 1; -1 always shows as many turns as may be seen (.3: as
            rewriter=threshold; it depends on the embedder).

    Raises:
        ConfigError: a parameter is out of range.
    """

    libraries = ("numpy",)

    def __init__(self, *, embedder: Embedder, turns: int = 5, last: int = 1, threshold: float = 0.3) -> None:
        if turns < 1:
            raise ConfigError(f"memory.turns={turns}: it must be at least 1")
        if not 0 <= last <= turns:
            raise ConfigError(f"memory.last={last}: it must be from 0 to memory.turns={turns}")
        if not -1 <= threshold <= 1:
            raise ConfigError(f"memory.threshold={threshold}: it must be a cosine, from -1 to 1")
        self.embedder = embedder
        self.turns = turns
        self.last = last
        self.threshold = threshold

    def view(self, question: Question) -> MemoryView:
        """The similar turns and the last ones; one embedding of the question, and one of each turn that is new."""
        history = question.history
        if not history:
            return MemoryView(())
        query = self.embedder.embed([question.text], query=True)[0]
        rows = self._embed_turns(question)
        similarities = [round(float(value), _DIGITS) for value in rows @ query]
        always = range(max(len(history) - self.last, 0), len(history))
        others = (n for n in range(always.start) if similarities[n] >= self.threshold)
        similar = sorted(others, key=lambda n: (-similarities[n], -n))[: self.turns - len(always)]
        chosen = sorted([*similar, *always])
        trace = {
            "turns": len(history),
            "seen": len(chosen),
            "selected": [history[n].id for n in chosen],
            "similarities": {history[n].id: similarities[n] for n in chosen},
        }
        return MemoryView(tuple(history[n] for n in chosen), trace)

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """How much of the history was seen."""
        return report_views(records)

    def _embed_turns(self, question: Question) -> NDArray[np.float32]:
        """The vectors of the history, shape (turns, dimensions); the conversation's state keeps them by their texts.

        Texts are embedded one at a time, since a model may round differently in a batch: after a restart they must be
        equal.
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
