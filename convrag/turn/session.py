"""The state of conversations: their turns, and the data that stages keep between turns."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from convrag.api.errors import DataError
from convrag.api.records import TurnRecord
from convrag.api.types import Question, Turn
from convrag.store.file_names import decode_name, encode_name
from convrag.turn.conversation_file import SavedTurns, read_turns, save_turns

MAX_CONVERSATIONS = 10_000
"""How many conversations are kept in memory by default."""


@dataclass
class Session:
    """A conversation in progress. Hold `lock` from `make_question` to `add_turn`, since turns must not overlap."""

    id: str
    domain: str = "default"
    history: list[Turn] = field(default_factory=list)
    stage_state: dict[object, dict[str, Any]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    saved: SavedTurns | None = field(default=None, repr=False, compare=False)

    def make_question(self, text: str, turn_id: str = "", *, hide_history: bool = False) -> Question:
        """Make the next question, with the history unless it is hidden."""
        number = len(self.history) + 1
        return Question(
            text=text,
            conversation_id=self.id,
            turn_id=turn_id or f"{self.id}<::>{number}",
            domain=self.domain,
            number=number,
            history=() if hide_history else tuple(self.history),
            stage_state=self.stage_state,
        )

    def add_turn(self, turn: Turn) -> None:
        """Append a finished turn, without its labels: later turns must not see them."""
        self.history.append(replace(turn, labels={}))


def to_turn(record: TurnRecord) -> Turn:
    """Convert a record to a turn of the history: the question with the generated answer, empty if the turn failed."""
    passages = tuple(item.passage for item in record.evidence.items)
    return Turn(record.turn_id, record.original_query, record.answer.text, passages, shown=record.evidence.items)


class Conversations:
    """The conversations of a pipeline by id, in memory and, if there is a folder, on disk.

    Args:
        folder: keeps a file for each conversation, from which it continues after a restart; made where it is missing.
        limit: the number of conversations in memory; the least recently used one is dropped first. One that is not on
            disk, too, begins anew if it goes on after that. None keeps all.
        ttl: seconds after which an unused conversation is dropped from memory.

    Raises:
        DataError: the folder is a file.
    """

    def __init__(
        self, folder: Path | str | None = None, *, limit: int | None = MAX_CONVERSATIONS, ttl: float | None = None
    ) -> None:
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None and self.folder.exists() and not self.folder.is_dir():
            raise DataError("this is a file, where a folder for conversations is needed", path=self.folder)
        self.limit = limit
        self.ttl = ttl
        self._in_memory: OrderedDict[str, tuple[Session, float]] = OrderedDict()
        self._referenced: WeakValueDictionary[str, Session] = WeakValueDictionary()
        """All conversations that are still referenced. A turn in progress keeps its conversation if memory drops it."""
        self._guard = threading.Lock()

    def get(self, conversation_id: str) -> Session | None:
        """Return the conversation with an id, from memory or disk; None if there is none. Raises DataError."""
        with self._guard:
            return self._find(conversation_id)

    def open(self, conversation_id: str, domain: str) -> Session:
        """Return the conversation with an id; if there is none, start one about `domain`. Raises DataError."""
        with self._guard:
            known = self._find(conversation_id)
            return known or self._keep_in_memory(Session(conversation_id, domain))

    def save(self, conversation: Session) -> None:
        """Write the new turns of a conversation to its file; without a folder, do nothing.

        Where earlier turns have changed, the file is written anew, whole or not at all.
        """
        if self.folder is None:
            return
        path = self._path(conversation.id)
        path.parent.mkdir(parents=True, exist_ok=True)
        head = {"id": conversation.id, "domain": conversation.domain}
        conversation.saved = save_turns(path, head, conversation.history, conversation.saved)

    def ids(self) -> list[str]:
        """Return the ids of all conversations, in memory and on disk, sorted."""
        with self._guard:
            saved = list(map(_read_id, self.folder.glob("*.jsonl"))) if self.folder else []
            return sorted({*self._in_memory, *saved})

    def reset(self, conversation_id: str) -> None:
        """Delete a conversation, also on disk; an unknown id has no effect."""
        with self._guard:
            self._in_memory.pop(conversation_id, None)
            self._referenced.pop(conversation_id, None)
            if self.folder is not None:
                self._path(conversation_id).unlink(missing_ok=True)

    def _find(self, conversation_id: str) -> Session | None:
        """Find a conversation in memory or on disk, after dropping those that have been unused for too long."""
        now = time.monotonic()
        while self._in_memory and self.ttl is not None:
            oldest, (_, used) = next(iter(self._in_memory.items()))
            if now - used <= self.ttl:
                break
            del self._in_memory[oldest]
        if conversation_id in self._in_memory:
            return self._keep_in_memory(self._in_memory[conversation_id][0])
        if (in_use := self._referenced.get(conversation_id)) is not None:
            return self._keep_in_memory(in_use)
        path = self._path(conversation_id) if self.folder is not None else None
        if path is None or not path.is_file():
            return None
        head, saved = read_turns(path)
        return self._keep_in_memory(Session(**head, history=list(saved.turns), saved=saved))

    def _keep_in_memory(self, conversation: Session) -> Session:
        """Put a conversation into memory as the most recently used one, and drop others beyond the limit."""
        self._referenced[conversation.id] = conversation
        self._in_memory[conversation.id] = (conversation, time.monotonic())
        self._in_memory.move_to_end(conversation.id)
        while self.limit is not None and len(self._in_memory) > self.limit:
            self._in_memory.popitem(last=False)
        return conversation

    def _path(self, conversation_id: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{encode_name(conversation_id)}.jsonl"


def _read_id(path: Path) -> str:
    """Read the id of a saved conversation: from the name of its file, or from the file where the name was cut."""
    name = decode_name(path.stem)
    return str(read_turns(path)[0]["id"]) if name is None else name
