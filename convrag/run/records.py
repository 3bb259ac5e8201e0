"""The records of a run in memory and on disk, where each is a line of JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from convrag.api.records import TurnRecord
from convrag.api.types import Answer, Completion, Evidence, EvidenceItem, Hit, Message, Passage, Prompt, Query
from convrag.run.record_rows import EvidenceRow, PassageRow, parse_row
from convrag.sdk.jsonl import read_lines
from convrag.store.disk import DiskError, writing
from convrag.store.strict_json import format_json

_TEXTS = ("text", "title", "url")


class TurnRecords(Iterable[TurnRecord]):
    """The records of a run, which can be iterated several times.

    They come domain by domain, and within a domain in the order in which they were added.

    Args:
        in_memory: the number of records to keep in memory (some 30 kB each). The others are written to temporary files,
            one for each domain.
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
        path = self._on_disk.setdefault(record.domain, Path(self._folder.name, f"{len(self._on_disk)}.jsonl"))
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
        raise DiskError(f"there is no folder for temporary files: {error}. Name one in TMPDIR.") from error


def to_json(record: TurnRecord, *, replies: bool = False, top_level: str = "") -> str:
    """Format a record as a line of an intermediate file.

    Args:
        record: the record of a turn.
        replies: whether to add the prompts and replies of language models, which are long.
        top_level: a stage whose trace's entries stand at the top level too, beside the record's own; empty for none.
    """
    fields = {
        "turn_id": record.turn_id,
        "conversation_id": record.conversation_id,
        "domain": record.domain,
        "turn": record.number,
        "original_query": record.original_query,
        "rewritten_query": record.rewritten_query,
        "queries": [{"text": query.text, "weight": query.weight} for query in record.queries],
        "trace": record.trace,
        "contexts": [_format_hit(hit) for hit in record.hits],
        "evidence": _format_evidence(record),
        "agent_response": record.answer.text,
        "citations": record.answer.citations,
        "timings": {stage: round(seconds, 6) for stage, seconds in record.timings.items()},
        "usage": {stage: asdict(usage) for stage, usage in record.usage.items()},
        "fallbacks": record.fallbacks,
        "error": record.error,
        "labels": record.labels,
    }
    if replies:
        fields["replies"] = [[asdict(prompt), asdict(completion)] for prompt, completion in record.replies]
    entries = record.trace.get(top_level, {})
    fields |= {name: entry for name, entry in entries.items() if name not in fields}
    return format_json(fields)


def read_records(folder: Path) -> Iterator[TurnRecord]:
    """Yield the records in a run's `intermediate` folder, file by file. Raises DataError for a broken line."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in read_lines(path):
            try:
                yield from_json(line.text)
            except (ValueError, TypeError) as error:
                raise line.error(f"this is no record of a turn ({error})") from error


def from_json(line: str) -> TurnRecord:
    """Parse a line that `to_json` made. Raises ValueError where it has another form."""
    row = parse_row(line)
    hits = tuple(Hit(_make_passage(context, context.metadata), context.score) for context in row.contexts)
    passages = {hit.passage.id: hit.passage for hit in hits}
    items = []
    for item in row.evidence:
        passage = passages.get(item.id) or _make_passage(item)
        shown = passage.text if item.shown is None else item.shown
        items.append(EvidenceItem(item.number, passage, shown, item.hint))
    return TurnRecord(
        conversation_id=row.conversation_id,
        turn_id=row.turn_id,
        domain=row.domain,
        number=row.turn,
        original_query=row.original_query,
        queries=tuple(Query(query.text, query.weight, row.turn_id, row.domain) for query in row.queries),
        hits=hits,
        evidence=Evidence(tuple(items)),
        answer=Answer(row.agent_response, row.citations),
        trace=row.trace,
        timings=row.timings,
        usage=row.usage,
        fallbacks=row.fallbacks,
        error=row.error,
        labels=row.labels,
        replies=tuple((_parse_prompt(prompt), Completion(**reply)) for prompt, reply in row.replies),
    )


def _format_evidence(record: TurnRecord) -> list[dict[str, Any]]:
    """Format the evidence by passage id. Passages that are not among the hits are written with their texts."""
    retrieved = {hit.passage.id for hit in record.hits}
    return [
        {"number": item.number, "id": item.passage.id, "hint": item.hint}
        | ({} if item.passage.id in retrieved else {name: getattr(item.passage, name) for name in _TEXTS})
        | ({} if item.text == item.passage.text else {"shown": item.text})
        for item in record.evidence.items
    ]


def _format_hit(hit: Hit) -> dict[str, Any]:
    passage = hit.passage
    return {
        "id": passage.id,
        "title": passage.title,
        "text": passage.text,
        "score": hit.score,
        "url": passage.url,
    } | ({"metadata": dict(passage.metadata)} if passage.metadata else {})


def _make_passage(row: PassageRow | EvidenceRow, metadata: Mapping[str, Any] | None = None) -> Passage:
    return Passage(row.id, row.text, row.title, row.url, metadata or {})


def _parse_prompt(row: Mapping[str, Any]) -> Prompt:
    return Prompt(**{**row, "messages": tuple(Message(*message) for message in row["messages"])})
