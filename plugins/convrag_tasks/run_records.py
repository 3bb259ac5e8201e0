"""The records and the scores of a finished run, read from its folder."""

from dataclasses import dataclass, replace
from pathlib import Path

from convrag import DataError, TurnRecord
from convrag.sdk.jsonl import read_lines
from convrag.sdk.tasks.runs import read_records
from convrag.sdk.tasks.scores import read_summary


def read_run_records(folder: Path) -> list[TurnRecord]:
    """Read the records of a run, in the order of its files. Raises DataError where the folder holds none."""
    intermediate = folder / "intermediate"
    if not intermediate.is_dir():
        raise DataError("this is no folder of a finished run: it has no intermediate/", path=folder)
    records = list(read_records(intermediate))
    if not records:
        raise DataError("this run has no turns", path=intermediate)
    return records


def find_reason_of_stop(folder: Path) -> str:
    """Why a run ended early; empty if it did not, or its folder does not say. Raises DataError for broken metrics."""
    path = folder / "metrics.json"
    return read_summary(path).stopped if path.is_file() else ""


def mark_reused(record: TurnRecord) -> TurnRecord:
    """A record whose calls count as reused, and cost nothing now, because an earlier run made them."""
    usage = {
        stage: replace(usage, calls=0, failed=0, reused=usage.calls - usage.failed + usage.reused, spent_usd=0.0)
        for stage, usage in record.usage.items()
    }
    return replace(record, usage=usage)


def read_run_scores(folder: Path) -> dict[str, dict[str, float]]:
    """Read a run's scores.jsonl: turn id -> measure -> value. Raises DataError where it is missing or broken."""
    found: dict[str, dict[str, float]] = {}
    path = folder / "scores.jsonl"
    if not path.is_file():
        raise DataError("this is no folder of a finished run: it has no scores.jsonl", path=folder)
    for line in read_lines(path):
        row = line.parse(_ScoresRow, "the scores of a turn")
        found[row.turn_id] = row.scores
    return found


@dataclass(frozen=True)
class _ScoresRow:
    turn_id: str
    scores: dict[str, float]
