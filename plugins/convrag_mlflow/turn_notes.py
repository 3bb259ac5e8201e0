"""What is noted of the turns of a run while it goes on: all that their traces are made of when it has ended.

MLflow is not needed for it, and a turn costs one line in a file.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from convrag import Completion, Prompt, TurnRecord
from convrag.sdk.rows import make_plain
from convrag.sdk.strict_json import parse_json

Row = dict[str, Any]
"""A turn: "record" (as `TurnRecord.to_dict` gives it), "stages" (each that ended well: its "name", its "end" in
nanoseconds since 1970, how many "replies" there were by then, and the "ranking" after a retriever) and "replies". One
that belongs to no run has "start" and "end", in nanoseconds, too, and the "history" that it was asked with."""


def note_stage(stage: str, record: TurnRecord) -> Row:
    """A stage that has just ended, for "stages"."""
    noted: Row = {"name": stage, "end": time.time_ns(), "replies": len(record.replies)}
    if stage == "retriever":  # the record of the whole turn has the reranker's order and scores
        noted["ranking"] = [(hit.passage.id, make_plain(hit.score)) for hit in record.hits]
    return noted


def make_row(record: TurnRecord, stages: Sequence[Row]) -> Row:
    """A whole turn, with its stages as they were noted."""
    replies = [make_plain(_format_reply(*each)) for each in record.replies]
    return {"record": record.to_dict(), "stages": stages, "replies": replies}


class TurnNotes:
    """The turns of one run, each a line of JSON in a file.

    Args:
        path: of the file, which is there from the first turn on; None for one without a name, which ends with the
            process.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        self._closed = False
        self._stages: dict[tuple[str, str], list[Row]] = {}

    def watch(self, stage: str, record: TurnRecord) -> None:
        """Note that a stage has ended; from any thread."""
        if self._closed:
            return
        self._stages.setdefault((record.conversation_id, record.turn_id), []).append(note_stage(stage, record))

    def add(self, record: TurnRecord) -> None:
        """Note a whole turn; one whose stages were not watched, since this run has not asked it, is left out.

        Raises:
            OSError: the file cannot be written.
        """
        stages = self._stages.pop((record.conversation_id, record.turn_id), None)
        if stages is None:
            return
        if self._file is None:
            self._file = self.path.open("ab") if self.path else TemporaryFile("w+b")  # noqa: SIM115
        self._file.write(
            json.dumps(make_row(record, stages)).encode() + b"\n"
        )  # in ASCII: half a surrogate pair has no UTF-8
        self._file.flush()

    def read(self) -> Iterator[Row]:
        """Yield the turns in the order of `add`."""
        if self._file is not None and self.path is None:
            self._file.seek(0)
            yield from _parse_lines(self._file)
        elif self.path is not None:
            yield from read_turns(self.path)

    def close(self) -> None:
        """Note nothing more, and close the file, which removes one without a name."""
        self._closed = True
        self._stages.clear()
        if self._file is not None:
            with suppress(OSError):  # the rest of a turn that `add` could not write
                self._file.close()


def read_turns(path: Path) -> Iterator[Row]:
    """Yield the turns of a file; none where it is absent, and not the last one where its line was never completed."""
    try:
        with path.open("rb") as file:
            yield from _parse_lines(file)
    except FileNotFoundError:
        return


def _parse_lines(lines: BinaryIO) -> Iterator[Row]:
    for line in lines:
        try:
            row = parse_json(line)
        except ValueError:  # the process was killed while it wrote
            continue
        if isinstance(row, dict) and row.keys() >= {"record", "stages", "replies"}:
            yield row


def _format_reply(prompt: Prompt, completion: Completion) -> Row:
    """A call of a language model: what its span will show."""
    return {
        "task": prompt.task,
        "messages": [{"role": message.role, "content": message.content} for message in prompt.messages],
        "text": completion.text,
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.completion_tokens,
        "cached_tokens": completion.cached_tokens,
        "cost_usd": completion.cost_usd,
        "seconds": completion.seconds,
        "retries": completion.retries,
        "model": completion.model,
        "finish_reason": completion.finish_reason,
    }
