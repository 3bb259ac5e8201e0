"""The reports of stages, metrics and observers on a run: checked, so that none of them costs the run, and joined."""

from __future__ import annotations

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
    if not isinstance(report.title, str):
        raise ConvragError(f"the title of {title} is no text")
    if not isinstance(report.lines, list | tuple) or not all(isinstance(line, str) for line in report.lines):
        raise ConvragError(f"the lines of {title} must be a tuple of texts, not {brief(report.lines)}")
    if not isinstance(report.numbers, Mapping) or (odd := _find_odd(report.numbers, "numbers")):
        what = odd if isinstance(report.numbers, Mapping) else brief(report.numbers)
        raise ConvragError(f"the numbers of {title} must be plain data by name, not {what}")
    if not isinstance(report.files, Mapping):
        raise ConvragError(f"the files of {title} must be texts by name, not {brief(report.files)}")
    for name, text in report.files.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise ConvragError(f"the files of {title} must be texts by name, not {brief(name)}: {brief(text)}")
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


def _find_odd(value: object, place: str, depth: int = 50) -> str:
    """Describe the first value that is no plain data: "numbers.scores: {1, 2}"; empty where all is plain."""
    if isinstance(value, Mapping) and depth:
        pairs = [(f"{place}.{key}", item) for key, item in value.items()]
        odd_key = next((key for key in value if not isinstance(key, str | int | float)), None)
        return f"the key {brief(odd_key)} in {place}" if odd_key is not None else _find_first_odd(pairs, depth)
    if isinstance(value, list | tuple) and depth:
        return _find_first_odd([(f"{place}[{index}]", item) for index, item in enumerate(value)], depth)
    plain = value is None or isinstance(value, str | int | float) or hasattr(value, "tolist")
    return "" if plain else f"{place}: {brief(value)}"


def _find_first_odd(pairs: Iterable[tuple[str, object]], depth: int) -> str:
    return next((odd for place, item in pairs if (odd := _find_odd(item, place, depth - 1))), "")
