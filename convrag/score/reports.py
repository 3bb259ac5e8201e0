"""The reports of stages, metrics and observers on a run: checked, so that none of them costs the run, and joined."""

import logging
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from reprlib import repr as brief

from convrag.api.errors import ConvragError
from convrag.api.records import Report

log = logging.getLogger(__name__)

_TAKEN = (
    "metrics.json",
    "report.html",
    "run.json",
    "run.trec",
    "scores.jsonl",
    "summary.md",
    "datasets",
    "intermediate",
)
"""The files and folders that every run writes."""


def check_report(report: object) -> Report:
    """Return a report whose lines, numbers and files can be written. Raises ConvragError, which says what cannot."""
    if not isinstance(report, Report):
        raise ConvragError(f"its report is {brief(report)}, and no convrag.Report")
    title = f"its report {brief(report.title)}"
    texts = [report.title, *report.lines, *report.files, *dict(report.files).values()]
    if isinstance(report.lines, str) or not all(isinstance(text, str) for text in texts):
        raise ConvragError(f"{title}: title, lines and files must be texts, and lines a tuple of them")
    if not isinstance(report.numbers, Mapping):
        raise ConvragError(f"the numbers of {title} must be plain data by name, not {brief(report.numbers)}")
    for name in report.files:
        _check_file_name(name, title)
    return report


def keep_sound(reports: Iterable[Report]) -> list[Report]:
    """The reports that can be written; a warning says what is wrong with the others."""
    sound = []
    for report in reports:
        try:
            sound.append(check_report(report))
        except ConvragError as error:
            log.warning("a report was left out: %s", error)
    return sound


def join_reports(reports: Iterable[Report]) -> list[Report]:
    """Join reports with the same title: their lines (each once), numbers and files, in order."""
    joined: dict[str, Report] = {}
    for report in reports:
        before = joined.get(report.title, Report(report.title))
        joined[report.title] = Report(
            report.title,
            tuple(dict.fromkeys([*before.lines, *report.lines])),
            {**before.numbers, **report.numbers},
            {**before.files, **report.files},
        )
    return list(joined.values())


def _check_file_name(name: str, title: str) -> None:
    """Raise ConvragError for a file outside the run's folder, a hidden one, or one that the run writes itself."""
    path = PurePath(name)
    parts = path.parts
    if not parts or path.is_absolute() or any(part.startswith(".") for part in parts) or "\\" in name or "\0" in name:
        raise ConvragError(f"{title} writes {name!r}, which is no place in the run's folder: 'analysis/mine.jsonl' is")
    if parts[0] in _TAKEN:
        raise ConvragError(f"{title} writes {name!r}, which the run writes itself: 'analysis/{path.name}' is free")
