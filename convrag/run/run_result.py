"""A finished run, read from its folder: its scores, and the records of its turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from convrag.api.errors import DataError, MissingExtra
from convrag.api.printable import format_table, format_text
from convrag.api.records import RunSummary, TurnRecord
from convrag.run.records import read_records
from convrag.score.summary import read_summary
from convrag.sdk.data.jsonl import read_lines

if TYPE_CHECKING:
    import pandas as pd

METRICS_FILE = "metrics.json"
SCORES_FILE = "scores.jsonl"
_TURN = ("turn_id", "conversation_id", "domain", "turn")


@dataclass(frozen=True)
class RunResult:
    """A run that has ended. `summary.overall` is measure -> score, `records()` yields the turns."""

    folder: Path
    summary: RunSummary

    def records(self) -> Iterator[TurnRecord]:
        """Yield the records of the turns, domain by domain. Raises DataError for a broken line."""
        return read_records(self.folder / "intermediate")

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each scored turn, with its ids and a column for each measure.

        A measure that a turn lacks is NaN.

        Raises:
            MissingExtra: pandas is not installed.
            DataError: a line is broken.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtra("pandas", "pandas", "to_dataframe") from error
        turns = list(read_scores(self.folder / SCORES_FILE))
        measures = dict.fromkeys(measure for turn in turns for measure in turn.scores)
        table = [{name: getattr(turn, name) for name in _TURN} | turn.scores for turn in turns]
        return pd.DataFrame(table, columns=[*_TURN, *measures])

    def _repr_html_(self) -> str:
        summary = self.summary
        counts = (
            f"{self.folder.name}: {summary.turns} turns, {summary.failed} failed, {summary.state}"
        )
        rows = []
        for measure, score in summary.overall.items():
            low, high = summary.intervals.get(measure, (score, score))
            domains = [
                f"{scores[measure]:.4f}" if measure in scores else ""
                for scores in summary.domains.values()
            ]
            rows.append((measure, f"{score:.4f}", f"{low:.4f} to {high:.4f}", *domains))
        head = ("Measure", "Overall", "95 % interval", *summary.domains)
        return f"<div><p>{format_text(counts)}</p>{format_table(head, rows)}</div>"


def read_run(folder: Path | str) -> RunResult:
    """Read a finished run from its folder.

    Raises:
        DataError: metrics.json is missing or damaged.
    """
    path = Path(folder)
    if not (path / METRICS_FILE).is_file():
        raise DataError("this is no folder of a finished run: it has no metrics.json", path=path)
    return RunResult(path, read_summary(path / METRICS_FILE))


@dataclass(frozen=True)
class ScoredTurn:
    """A line of a run's scores.jsonl."""

    turn_id: str
    conversation_id: str
    domain: str
    turn: int
    scores: dict[str, float]


def read_scores(path: Path) -> Iterator[ScoredTurn]:
    """Yield the turns of a run's scores.jsonl. Raises DataError for a broken line."""
    return (line.parse(ScoredTurn, "a line of a run's scores") for line in read_lines(path))
