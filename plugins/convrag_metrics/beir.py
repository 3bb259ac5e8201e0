"""Texts by turn, from files in BEIR's format."""

from __future__ import annotations

from pathlib import Path

from convrag.sdk.jsonl import read_lines_in
from convrag.sdk.utterances import last_utterance


def read_texts(path: Path) -> dict[str, str]:
    """Turn id -> text of a file, or of all *.jsonl files of a folder; of utterances marked |user|: the last.

    Raises:
        DataError: there is no such file, a line is none of BEIR's, or a turn occurs twice.
    """
    found: dict[str, str] = {}
    for line in read_lines_in(path, ".jsonl"):
        row = line.json()
        turn_id, text = row.get("_id"), row.get("text")
        if not isinstance(turn_id, str) or not isinstance(text, str):
            raise line.error('this must be {"_id": turn, "text": rewrite}, both of them strings')
        if turn_id in found:
            raise line.error(f"the turn {turn_id!r} occurs twice")
        found[turn_id] = last_utterance(text)
    return found
