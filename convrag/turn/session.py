"""The state of conversations: what was said, and the working memory that stages keep between turns."""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote
from weakref import WeakValueDictionary

from convrag.api.errors import DataError
from convrag.api.records import TurnRecord
from convrag.api.types import EvidenceItem, Passage, Question, Turn
from convrag.store.atomic import write_atomically


@dataclass
class Session:
    """One conversation as it goes on. Hold `lock` from the question to `add`: turns follow each other."""

    id: str
    domain: str = "default"
    history: list[Turn] = field(default_factory=list)
    stage_state: dict[object, dict[str, Any]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def question(self, text: str, turn_id: str = "", *, blind: bool = False) -> Question:
        """The next question, with what was said before (or, `blind`, without)."""
        number = len(self.history) + 1
        return Question(
            text=text,
            conversation_id=self.id,
            turn_id=turn_id or f"{self.id}<::>{number}",
            domain=self.domain,
            number=number,
            history=() if blind else tuple(self.history),
            stage_state=self.stage_state,
        )

    def add(self, turn: Turn) -> None:
        """Append a finished turn. Its labels stay behind: they say what later turns must not know."""
        self.history.append(replace(turn, labels={}))


def to_turn(record: TurnRecord) -> Turn:
    """What a later turn sees of this one: the question, and the answer that was given (none where it failed)."""
    passages = tuple(item.passage for item in record.evidence.items)
    return Turn(record.turn_id, record.original_query, record.answer.text, passages, shown=record.evidence.items)


class Conversations:
    """The conversations of a pipeline by id: bounded, and kept on disk where there is a folder for them.

    Args:
        folder: keeps each conversation in a file of its own, from which it goes on after a restart.
        limit: how many are held in memory; the one that was used longest ago goes first.
        ttl: seconds after which one that was not used is dropped from memory.
    """

    def __init__(self, folder: Path | None = None, *, limit: int | None = None, ttl: float | None = None) -> None:
        self.folder = folder
        self.limit = limit
        self.ttl = ttl
        self._held: OrderedDict[str, tuple[Session, float]] = OrderedDict()
        self._alive: WeakValueDictionary[str, Session] = WeakValueDictionary()
        """All that somebody still has, though they were dropped here: a turn that goes on must not lose its place."""
        self._guard = threading.Lock()

    def get(self, conversation_id: str) -> Session | None:
        """The conversation of that id, from memory or from disk; None where there is none. Raises DataError."""
        with self._guard:
            return self._get(conversation_id)

    def open(self, conversation_id: str, domain: str) -> Session:
        """The conversation of that id; a new one, about `domain`, where there is none."""
        with self._guard:
            found = self._get(conversation_id)
            return found or self._hold(Session(conversation_id, domain))

    def save(self, conversation: Session) -> None:
        """Write a conversation to its file, whole or not at all; without a folder there is nothing to do."""
        if self.folder is None:
            return
        path = self._path(conversation.id)
        path.parent.mkdir(parents=True, exist_ok=True)
        turns = [asdict(turn) for turn in conversation.history]
        row = {"id": conversation.id, "domain": conversation.domain, "turns": turns}
        write_atomically(path, json.dumps(row, ensure_ascii=False))

    def ids(self) -> list[str]:
        """The ids of all conversations, in memory and on disk, sorted."""
        with self._guard:
            kept = [unquote(path.stem) for path in self.folder.glob("*.json")] if self.folder else []
            return sorted({*self._held, *kept})

    def reset(self, conversation_id: str) -> None:
        """Forget a conversation, also on disk; an unknown id is nothing to forget."""
        with self._guard:
            self._held.pop(conversation_id, None)
            self._alive.pop(conversation_id, None)
            if self.folder is not None:
                self._path(conversation_id).unlink(missing_ok=True)

    def _get(self, conversation_id: str) -> Session | None:
        now = time.monotonic()
        while self._held and self.ttl is not None:
            oldest, (_, used) = next(iter(self._held.items()))
            if now - used <= self.ttl:
                break
            del self._held[oldest]
        if conversation_id in self._held:
            return self._hold(self._held[conversation_id][0])
        if (going := self._alive.get(conversation_id)) is not None:
            return self._hold(going)
        path = self._path(conversation_id) if self.folder is not None else None
        return self._hold(_read(path)) if path is not None and path.is_file() else None

    def _hold(self, conversation: Session) -> Session:
        self._alive[conversation.id] = conversation
        self._held[conversation.id] = (conversation, time.monotonic())
        self._held.move_to_end(conversation.id)
        while self.limit is not None and len(self._held) > self.limit:
            self._held.popitem(last=False)
        return conversation

    def _path(self, conversation_id: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{quote(conversation_id, safe='')}.json"


def _turn(row: dict[str, Any]) -> Turn:
    passages = tuple(Passage(**passage) for passage in row["passages"])
    shown = tuple(EvidenceItem(**{**item, "passage": Passage(**item["passage"])}) for item in row["shown"])
    return Turn(row["id"], row["question"], row["answer"], passages, shown=shown)


def _read(path: Path) -> Session:
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        return Session(row["id"], row["domain"], [_turn(turn) for turn in row["turns"]])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"this is no saved conversation ({error!r}); move it away", path=path) from error
