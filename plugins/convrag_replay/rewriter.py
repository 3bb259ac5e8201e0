"""`rewriter=replay`: recorded rewrites, by turn."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from convrag import ConfigError, Dataset, Query, Question, Rewrite, Rewriter, UnknownName
from convrag.sdk.lazy import Lazy, collect_problems
from convrag_replay.recorded_files import REWRITE_SUFFIX, hash_files, read_rewrites


class ReplayRewriter(Rewriter):
    """Replay recorded rewrites from a BEIR file or the data set, such as published ones.

    Each line of a file is {"_id": turn id, "text": rewrite}; MTRAG's prefix `|user|: ` is taken
    off, and of several utterances marked so the last one counts. Lines that a run wrote also hold
    `queries`, all of its queries with their weights, which are then searched for. Without a file,
    the rewrites are those that were published with the data set: dataset=cast dataset.year=2020
    rewriter=replay rewriter.kind=manual. A turn without a recorded rewrite keeps its question, and
    its record says so.

    Args:
        dataset: has the rewrites, where no file is given.
        path: the file, or a folder whose *.jsonl files are read together (say, `datasets/` of an
            earlier run); without one, the data set's own rewrites.
        kind: which of the data set's rewrites: manual, automatic, resolved or golden, as it has
            them; needed where it has several.

    Raises:
        ConfigError: both a file and a kind are given.
    """

    def __init__(
        self, *, dataset: Dataset, path: Path | None = None, kind: str | None = None
    ) -> None:
        if path is not None and kind is not None:
            raise ConfigError(
                "rewriter.path is a file of rewrites, rewriter.kind the data set's: keep one of "
                "them"
            )
        self.path = path
        self.kind = kind
        self.dataset = dataset
        self._rewrites = Lazy(self._read)

    def check(self) -> Iterable[str]:
        return collect_problems(self._rewrites)

    def content_hash(self) -> str:
        return hash_files(self.path, REWRITE_SUFFIX) if self.path else ""

    def note(self) -> str:
        return f"The rewrites are replayed from {self._source}; this run made none."

    def rewrite(self, question: Question) -> Rewrite:
        queries = self._rewrites().get(question.turn_id, ())
        if any(query.text.strip() for query in queries):
            return Rewrite(queries)
        fault = "is empty" if queries else "is missing"
        reason = f"the rewrite of turn {question.turn_id!r} {fault} in {self._source}"
        return Rewrite.of(question.text, fallback=reason)

    @property
    def _source(self) -> str:
        if self.path:
            return str(self.path)
        return f"the data set ({self.kind})" if self.kind else "the data set"

    def _read(self) -> Mapping[str, tuple[Query, ...]]:
        if self.path:
            return read_rewrites(self.path)
        kinds = self.dataset.rewrites()
        if not kinds:
            raise ConfigError(
                "this data set has no rewrites: name a file of them, rewriter.path=FILE"
            )
        if self.kind is None and len(kinds) > 1:
            choices = " or ".join(kinds)
            raise ConfigError(
                f"this data set has several rewrites: choose one, rewriter.kind={choices}"
            )
        kind = self.kind or next(iter(kinds))
        if kind not in kinds:
            raise UnknownName("rewriter.kind", kind, list(kinds))
        return {turn_id: (Query(text),) for turn_id, text in kinds[kind].items()}
