"""The file of a conversation: a line that names it, then a line for each turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from convrag.api.errors import DataError
from convrag.api.types import EvidenceItem, Passage, Turn
from convrag.store.atomic import open_atomically
from convrag.store.strict_json import format_json, parse_json


@dataclass(frozen=True)
class SavedTurns:
    """What a conversation's file holds: its turns, and the size of its whole lines in bytes.

    A file of another size was changed from outside, or ends with a part of a line.
    """

    turns: tuple[Turn, ...]
    size: int


def save_turns(path: Path, head: Mapping[str, str], turns: Sequence[Turn], saved: SavedTurns | None) -> SavedTurns:
    """Write what the file lacks: new turns are appended, and where others have changed, all is written anew.

    A process that is killed while it appends leaves a part of a line. `read_turns` passes over it, and the next turn
    is not appended to it.

    Args:
        path: the file; its folder must exist.
        head: what the first line says of the conversation.
        turns: all its turns, oldest first.
        saved: what the file held after it was last written or read; None where that is not known.
    """
    kept = tuple(turns)
    if saved is not None and kept[: len(saved.turns)] == saved.turns and _size(path) == saved.size:
        with path.open("ab") as file:
            file.writelines(_to_line(asdict(turn)) for turn in kept[len(saved.turns) :])
    else:
        lines = [_to_line(head), *(_to_line(asdict(turn)) for turn in kept)]
        with open_atomically(path, "wb") as file:
            file.writelines(lines)
    return SavedTurns(kept, _size(path))


def read_turns(path: Path) -> tuple[dict[str, Any], SavedTurns]:
    """Read a conversation's file: the fields of its first line, and its turns. Raises DataError."""
    try:
        data = path.read_bytes()
        *lines, unfinished = data.split(b"\n")
        head, *rows = [parse_json(line) for line in lines]
        turns = tuple(_parse_turn(row) for row in rows)
        names = {name: head[name] for name in ("id", "domain")}
        if not all(isinstance(name, str) for name in names.values()):
            raise TypeError("id and domain must be texts")
        return names, SavedTurns(turns, len(data) - len(unfinished))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"this is not a saved conversation ({error!r}); move it away", path=path) from error


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else -1


def _to_line(row: Mapping[str, Any]) -> bytes:
    return f"{format_json(row)}\n".encode("utf-8", "surrogatepass")


def _parse_turn(row: dict[str, Any]) -> Turn:
    passages = tuple(Passage(**passage) for passage in row["passages"])
    shown = tuple(EvidenceItem(**{**item, "passage": Passage(**item["passage"])}) for item in row["shown"])
    return Turn(row["id"], row["question"], row["answer"], passages, shown=shown)
