"""What was said in a conversation, as stems and as vectors: each turn is read once, and kept in the stage's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from convrag import Embedder, Turn
from convrag_condense.words import stem_content_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def read_stems(history: tuple[Turn, ...], memory: dict[str, Any]) -> set[str]:
    """The stems of the content words of all questions and answers.

    Args:
        history: the turns, oldest first.
        memory: the stage's of this conversation. Where the history is another one than before, it is read anew.
    """
    read: tuple[Turn, ...]
    stems: set[str]
    read, stems = memory.get("stems", ((), set()))
    if history[: len(read)] != read:
        read, stems = (), set()
    for turn in history[len(read) :]:
        stems.update(stem_content_words(turn.question), stem_content_words(turn.answer))
    memory["stems"] = history, stems
    return stems


def read_vectors(history: tuple[Turn, ...], memory: dict[str, Any], embedder: Embedder) -> NDArray[np.float32] | None:
    """The (n, d) float32 unit rows of all questions and answers that are not blank; None if there are none.

    Args:
        history: the turns, oldest first.
        memory: the stage's of this conversation. Where the history is another one than before, it is read anew; a
            memory that shows a part of it makes that happen at every turn.
        embedder: embeds each text once.
    """
    import numpy as np

    read: tuple[Turn, ...]
    rows: NDArray[np.float32] | None
    known: dict[str, NDArray[np.float32]] = memory.setdefault("known_vectors", {})
    read, rows = memory.get("vectors", ((), None))
    if history[: len(read)] != read:
        read, rows = (), None
    if texts := [text for turn in history[len(read) :] for text in (turn.question, turn.answer) if text.strip()]:
        if new := [text for text in dict.fromkeys(texts) if text not in known]:
            known.update(zip(new, embedder.embed(new), strict=True))
        added = np.stack([known[text] for text in texts])
        rows = added if rows is None else np.concatenate([rows, added])
    memory["vectors"] = history, rows
    return rows
