"""`rewriter=replay`: recorded rewrites, by turn."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from convrag import DataError, Question, Rewrite, Rewriter
from convrag.sdk.jsonl import Line, read_lines_in
from convrag.sdk.lazy import Lazy, collect_problems
from convrag.sdk.utterances import last_utterance
from convrag_replay.hashing import hash_files


class ReplayRewriter(Rewriter):
    """Recorded rewrites from a BEIR file: compare with what others published, or run again without paying.

    Each line is {"_id": turn id, "text": rewrite}; MTRAG's prefix `|user|: ` is taken off, and of several utterances
    marked so the last one counts. A turn without a recorded rewrite keeps its question, and its record says so.

    Args:
        path: the file, or a folder whose *.jsonl files are read together (say, `datasets/` of an earlier run).
    """

    def __init__(self, *, path: Path) -> None:
        self.path = path
        self._rewrites = Lazy(partial(_read, path))

    def check(self) -> Iterable[str]:
        return collect_problems(self._rewrites)

    def content_hash(self) -> str:
        return hash_files(self.path, ".jsonl")

    def note(self) -> str:
        return f"The rewrites are replayed from {self.path}; this run made none."

    def rewrite(self, question: Question) -> Rewrite:
        text = self._rewrites().get(question.turn_id)
        if text:
            return Rewrite.of(text)
        lacking = "is empty" if text == "" else "is missing"
        return Rewrite.of(question.text, fallback=f"the rewrite of turn {question.turn_id!r} {lacking} in {self.path}")


def _read(path: Path) -> dict[str, str]:
    """Turn id -> recorded rewrite. Raises DataError."""
    rewrites: dict[str, str] = {}
    places: dict[str, Line] = {}
    for line in read_lines_in(path, ".jsonl"):
        row = line.json()
        turn_id, text = row.get("_id"), row.get("text")
        if not isinstance(turn_id, str) or not isinstance(text, str):
            raise line.error('a rewrite needs "_id" (the turn) and "text", both of them strings')
        if first := places.get(turn_id):
            raise line.error(f"turn {turn_id!r} has a rewrite already, in {first.path}, line {first.number}")
        rewrites[turn_id] = last_utterance(text)
        places[turn_id] = line._replace(text="")
    if not rewrites:
        raise DataError("it holds no rewrite", path=path)
    return rewrites
