"""The records of a run in memory and on disk, and its files: they take their places when the run
has finished.
"""

import shutil
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from convrag.api.errors import FolderInUse
from convrag.api.hookspecs import hookimpl
from convrag.api.passages import Hit
from convrag.api.records import Run, TurnRecord
from convrag.api.rows import format_query
from convrag.concurrency.cancellation import cleanup_at_exit
from convrag.concurrency.locks import hold_folder
from convrag.sdk.data.jsonl import read_lines
from convrag.sdk.data.trec import encode_id
from convrag.sdk.data.utterances import USER
from convrag.store.files import DiskError, encode_name, writing
from convrag.store.json_text import format_json, parse_json


class TurnRecords(Iterable[TurnRecord]):
    """The records of a run, which can be iterated several times.

    They come domain by domain, and within a domain in the order in which they were added.

    Args:
        in_memory: the number of records to keep in memory (some 30 kB each). The others are written
            to temporary files, one for each domain.
    """

    def __init__(self, in_memory: int = 5000) -> None:
        self._memory_left = in_memory
        self._in_memory: dict[str, list[TurnRecord]] = defaultdict(list)
        self._on_disk: dict[str, Path] = {}
        self._folder: TemporaryDirectory[str] | None = None

    def add(self, record: TurnRecord) -> None:
        """Add a record. Raises DiskError where the folder for temporary files cannot be used."""
        if self._memory_left > 0:
            self._memory_left -= 1
            self._in_memory[record.domain].append(record)
            return
        if self._folder is None:
            self._folder = _make_temporary_folder()
        path = self._on_disk.setdefault(
            record.domain, Path(self._folder.name, f"{len(self._on_disk)}.jsonl")
        )
        with writing(path), path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{to_json(record, replies=True)}\n")

    def __iter__(self) -> Iterator[TurnRecord]:
        for domain in sorted({*self._in_memory, *self._on_disk}):
            yield from self._in_memory.get(domain, ())
            if path := self._on_disk.get(domain):
                with path.open(encoding="utf-8") as file:
                    yield from map(from_json, file)

    def close(self) -> None:
        """Remove the temporary files."""
        if self._folder is not None:
            self._folder.cleanup()


def _make_temporary_folder() -> TemporaryDirectory[str]:
    try:
        return TemporaryDirectory(prefix="convrag-")
    except OSError as error:  # FileNotFoundError as well, which lists the folders that were tried
        raise DiskError(
            f"there is no folder for temporary files: {error}. Name one in TMPDIR."
        ) from error


def to_json(record: TurnRecord, *, replies: bool = False, top_level: str = "") -> str:
    """Format a record as a line of an intermediate file.

    Args:
        record: the record of a turn.
        replies: whether to add the prompts and replies of language models, which are long.
        top_level: a stage whose trace's entries stand at the top level too, beside the record's
            own; empty for none.
    """
    fields = record.to_dict(replies=replies)
    entries = record.trace.get(top_level, {})
    return format_json(
        fields | {name: entry for name, entry in entries.items() if name not in fields}
    )


def read_records(folder: Path) -> Iterator[TurnRecord]:
    """Yield the records in a run's `intermediate` folder, file by file. Raises DataError for a
    broken line.
    """
    for path in sorted(folder.glob("*.jsonl")):
        for line in read_lines(path):
            try:
                yield from_json(line.text)
            except (ValueError, TypeError) as error:
                raise line.error(f"this is no record of a turn ({error})") from error


def from_json(line: str) -> TurnRecord:
    """Parse a line that `to_json` made. Raises ValueError where it has another form."""
    return TurnRecord.from_dict(parse_json(line))


UNFINISHED = ".unfinished"


class RunFolder:
    """The folder of a run. Files are written in a hidden subfolder, and all moved to their places
    when the run ends.

    Get it with `open_run_folder`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.unfinished = folder / UNFINISHED

    def append(self, name: str, lines: Iterable[str]) -> None:
        """Append lines to a file of the run. Raises DiskError where they cannot be written."""
        path = self.unfinished / name
        self._check_presence()
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write("".join(f"{line}\n" for line in lines))

    def publish(self) -> None:
        """Move every file to its place, replacing the files of an earlier run. Raises DiskError."""
        self._check_presence()
        with writing(self.folder):
            for path in sorted(self.unfinished.iterdir()):
                place = self.folder / path.name
                if place.is_dir():
                    shutil.rmtree(place)
                path.replace(place)
            self.unfinished.rmdir()

    def _check_presence(self) -> None:
        """Raise DiskError where somebody has removed the folder: what was written before is lost."""
        if not self.unfinished.is_dir():
            raise DiskError(
                f"{self.folder} was removed while this run wrote there. Run the same command again."
            )

    def discard(self) -> None:
        """Remove every file that is not published."""
        shutil.rmtree(self.unfinished, ignore_errors=True)


@contextmanager
def open_run_folder(folder: Path) -> Iterator[RunFolder]:
    """Hold a folder while a run is written into it. Files that are not published by the end of the
    block are deleted.

    Raises:
        FolderInUse: another process writes there.
    """
    files = RunFolder(folder)
    with hold_folder(folder):
        files.discard()  # a process that was killed has left them
        files.unfinished.mkdir()
        with cleanup_at_exit(files.discard):
            try:
                yield files
            finally:
                files.discard()


def discard_unfinished(folder: Path) -> None:
    """Remove the files that a killed process did not publish; nothing where another process writes
    there.
    """
    files = RunFolder(folder)
    if files.unfinished.exists():
        with suppress(FolderInUse), hold_folder(folder):
            files.discard()


class Writers:
    """An observer that writes the rewrite (BEIR), the record and the ranking (TREC run) of every
    turn.

    Args:
        folder: the folder of the run.
        top_level: a stage whose trace's entries stand at the top level of a record's line too;
            empty for none.
    """

    def __init__(self, folder: RunFolder, top_level: str = "") -> None:
        self.folder = folder
        self.top_level = top_level

    @hookimpl
    def convrag_turn_finished(self, run: Run, record: TurnRecord) -> None:
        """Append a turn to the files of its domain and to the TREC run."""
        file = f"{encode_name(record.domain)}.jsonl"
        self.folder.append(f"datasets/{file}", [format_beir_line(record)])
        self.folder.append(f"intermediate/{file}", [to_json(record, top_level=self.top_level)])
        self.folder.append("run.trec", format_trec_lines(record))


def format_beir_line(record: TurnRecord) -> str:
    """Format the first query and the answer as a line of BEIR's queries.jsonl, with MTRAG's prefix
    `|user|: `.

    `queries` holds all queries with their weights, so that rewriter=replay can search for the same.
    `domain` is there because the file's name may be a shortened one (see `encode_name`).
    """
    line = {
        "_id": record.turn_id,
        "domain": record.domain,
        "text": f"{USER}{record.rewritten_query}",
        "queries": [format_query(query) for query in record.queries],
        "agent_response": record.answer.text,
    }
    return format_json(line)


def format_trec_lines(record: TurnRecord, tag: str = "convrag") -> list[str]:
    """Format a ranking as lines of a TREC run, which have six columns. White space in ids is
    percent-encoded.

    Args:
        record: of the turn.
        tag: the name of the run, which is the last column.
    """
    turn = encode_id(record.turn_id)
    ranked = zip(record.hits, break_ties(record.hits), strict=True)
    return [
        f"{turn} Q0 {encode_id(hit.passage.id)} {rank} {score!r} {tag}"
        for rank, (hit, score) in enumerate(ranked, 1)
    ]


def break_ties(hits: Iterable[Hit]) -> list[float]:
    """Make the hits' scores strictly decreasing in single precision, with which trec_eval reads and
    sorts them.

    Otherwise trec_eval would sort hits with equal scores by their ids.
    """
    scores: list[float] = []
    ceiling = inf
    for hit in hits:
        score = min(round_to_single_precision(hit.score), ceiling)
        scores.append(score)
        ceiling = _find_next_below(score)
    return scores


def round_to_single_precision(value: float) -> float:
    """Round to the nearest 32-bit float; numbers beyond their range are returned unchanged."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return value


def _find_next_below(value: float) -> float:
    """Find the next smaller 32-bit float."""
    return round_to_single_precision(value - max(abs(value) * 2.0**-23, 2.0**-149))
