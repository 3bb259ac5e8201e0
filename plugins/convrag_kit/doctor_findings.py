"""Findings of the doctor, and how they are printed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

Level = Literal["ok", "-", "warn", "fail"]

_STYLES: dict[Level, str] = {"ok": "green", "-": "dim", "warn": "yellow", "fail": "red"}


class Finding(NamedTuple):
    """One line of the report.

    Args:
        level: "ok", "-" (not installed or not set, and not needed), "warn" (unusual, but a run may work), or "fail" (a
            run would fail).
        subject: what was examined.
        message: what was found, and what to do about it.
    """

    level: Level
    subject: str
    message: str = ""


def print_findings(parts: Iterable[tuple[str, Iterable[Finding]]]) -> int:
    """Print the parts of a report, each below its title and without those that are empty; return how many failed."""
    from rich.table import Table
    from rich.text import Text

    from convrag.sdk.console import make_console

    console = make_console()
    failed = 0
    for title, findings in parts:
        rows = Table.grid(padding=(0, 1))
        for level, subject, message in findings:
            failed += level == "fail"
            rows.add_row(Text(f"  {level:<4}", _STYLES[level]), Text(f"{subject}: {message}" if message else subject))
        if rows.row_count:
            console.print(Text(f"\n{title}", style="bold"))
            console.print(rows)
    end = f"{failed} things are in the way of this configuration." if failed else "Nothing is in the way."
    console.print(f"\n{end if failed != 1 else 'One thing is in the way of this configuration.'}")
    return failed
