"""`rewriter=replay`: recorded rewrites, by turn."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from convrag import Question, Rewrite, Rewriter
from convrag.sdk.lazy import Lazy, collect_problems
from convrag_replay.recorded_files import REWRITE_SUFFIX, hash_files, read_rewrites


class ReplayRewriter(Rewriter):
    """Recorded rewrites from a BEIR file: compare with what others published, or run again without paying.

    Each line is {"_id": turn id, "text": rewrite}; MTRAG's prefix `|user|: ` is taken off, and of several utterances
    marked so the last one counts. Lines that a run wrote also hold `queries`, all of its queries with their weights,
    which are then searched for. A turn without a recorded rewrite keeps its question, and its record says so.

    Args:
        path: the file, or a folder whose *.jsonl files are read together (say, `datasets/` of an earlier run).
    """

    def __init__(self, *, path: Path) -> None:
        self.path = path
        self._rewrites = Lazy(partial(read_rewrites, path))

    def check(self) -> Iterable[str]:
        return collect_problems(self._rewrites)

    def content_hash(self) -> str:
        return hash_files(self.path, REWRITE_SUFFIX)

    def note(self) -> str:
        return f"The rewrites are replayed from {self.path}; this run made none."

    def rewrite(self, question: Question) -> Rewrite:
        queries = self._rewrites().get(question.turn_id, ())
        if any(query.text.strip() for query in queries):
            return Rewrite(queries)
        lacking = "is empty" if queries else "is missing"
        return Rewrite.of(question.text, fallback=f"the rewrite of turn {question.turn_id!r} {lacking} in {self.path}")
