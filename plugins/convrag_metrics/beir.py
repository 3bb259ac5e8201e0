"""Texts by turn, from files in BEIR's format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from convrag.errors import DataError

_SPEAKER = re.compile(r"^\|user\|:", re.MULTILINE)


def read_texts(path: Path) -> dict[str, str]:
    """Turn id -> text of a file, or of all *.jsonl files of a folder; of utterances marked |user|: the last.

    Raises:
        DataError: there is no such file, a line is none of BEIR's, or a turn occurs twice.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise DataError("this folder has no *.jsonl file", path=path)
    found: dict[str, str] = {}
    for file in files:
        for number, line in _lines(file):
            turn_id, text = _parsed(line, file, number)
            if turn_id in found:
                raise DataError(f"the turn {turn_id!r} occurs twice", path=file, line=number)
            found[turn_id] = text
    return found


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, from 1."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            yield from ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"it cannot be read ({error})", path=path) from error


def _parsed(line: str, path: Path, number: int) -> tuple[str, str]:
    try:
        row = json.loads(line)
        turn_id, text = row["_id"], row["text"]
    except (ValueError, TypeError, KeyError) as error:
        raise DataError('this must be {"_id": turn, "text": rewrite}', path=path, line=number) from error
    if not isinstance(turn_id, str) or not isinstance(text, str):
        raise DataError('"_id" and "text" must be strings', path=path, line=number)
    return turn_id, _SPEAKER.split(text)[-1].strip()
