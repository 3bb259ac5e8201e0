"""The records of a run, in memory and in temporary files, and as lines of JSON."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from convrag.api.records import TurnRecord
from convrag.sdk.data.jsonl import read_lines
from convrag.store.files import DiskError, writing
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
        """Add a record. Raises DiskError if the folder for temporary files cannot be used."""
        if self._memory_left > 0:
            self._memory_left -= 1
            self._in_memory[record.domain].append(record)
            return
        if self._folder is None:
            self._folder = _make_temporary_folder()
        path = self._find_file(self._folder, record.domain)
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

    def _find_file(self, folder: TemporaryDirectory[str], domain: str) -> Path:
        """Return the temporary file of a domain."""
        if domain not in self._on_disk:
            self._on_disk[domain] = Path(folder.name, f"{len(self._on_disk)}.jsonl")
        return self._on_disk[domain]


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
        top_level: a stage whose trace's entries are at the top level too, next to the record's own
            fields; empty for none.
    """
    fields = record.to_dict(replies=replies)
    for name, entry in record.trace.get(top_level, {}).items():
        fields.setdefault(name, entry)
    return format_json(fields)


def from_json(line: str) -> TurnRecord:
    """Parse a line that `to_json` made. Raises ValueError if it has another form."""
    return TurnRecord.from_dict(parse_json(line))


def read_records(folder: Path) -> Iterator[TurnRecord]:
    """Yield the records in a run's `intermediate` folder, file by file.

    Raises:
        DataError: a line is broken.
    """
    for path in sorted(folder.glob("*.jsonl")):
        for line in read_lines(path):
            try:
                yield from_json(line.text)
            except (ValueError, TypeError) as error:
                raise line.error(f"this is no record of a turn ({error})") from error
