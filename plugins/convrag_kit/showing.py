"""The inventory on a terminal: a few lines for each option, and all of it for a single stage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from convrag.registry import plugins
from convrag_kit.inventory import Entry, entries

_MARKS = {"ready": ("ready", "green"), "needs": ("needs", "yellow"), "claimed": ("claimed twice", "red")}
_BROKEN = ("broken", "red")
_SIGNATURE = 36  # columns; the rest is for what a parameter does


def show(groups: Iterable[str], *, in_full: bool) -> None:
    """Print the options of these groups, and below them the plugins that failed."""
    console = Console(highlight=False)
    for group in groups:
        console.print(Text(f"\n{group}", style="bold"))
        for entry in entries(group):
            console.print(Padding(_head(entry), (0, 0, 0, 2)))
            console.print(Padding(_in_full(entry) if in_full else _in_short(entry), (0, 0, 0, 6)))
    if failures := plugins.load().registry.failures:
        console.print(Text("\nplugins that failed, wholly or in part", style="bold"))
        for failure in failures:
            console.print(Padding(Text(str(failure), style="red"), (0, 0, 0, 2)))


def _head(entry: Entry) -> Text:
    """The name, where it comes from, and its state: `mmr  convrag 0.1.0 (convrag_mmr.rewriter:MMRRewriter)  ready`."""
    word, style = _MARKS.get(entry.state, _BROKEN)
    origin = f"  {entry.distribution} {entry.version}".rstrip() + f" ({entry.module})  "
    return Text.assemble((entry.name, "bold cyan"), (origin, "dim"), (word, style))


def _in_short(entry: Entry) -> Text:
    lines = _said(entry)
    if entry.extends:
        lines.append(Text(_extension(entry), "dim"))
    elif entry.parameters:
        lines.append(Text(", ".join(map(_signature, entry.parameters)), "dim"))
    return Text("\n").join(lines)


def _in_full(entry: Entry) -> Group:
    lines = _said(entry)
    if entry.details and not entry.extends:
        paragraphs = entry.details.split("\n\n")
        lines.append(Text("\n".join(" ".join(paragraph.split()) for paragraph in paragraphs), "dim"))
    lines.append(Text(entry.file, "dim"))
    if entry.extends:
        lines.append(Text(_extension(entry)))
        return Group(Text("\n").join(lines), "")
    rows = Table.grid(padding=(0, 2))
    rows.add_column(max_width=_SIGNATURE, overflow="fold")
    rows.add_column()
    for parameter in entry.parameters:
        rows.add_row(Text(_signature(parameter), "cyan"), Text(parameter["help"]))
    return Group(Text("\n").join(lines), *([rows] if entry.parameters else []), "")


def _signature(parameter: dict[str, Any]) -> str:
    required = parameter["default"] == "required"
    return f"{parameter['name']}: {parameter['type']}" + (" (required)" if required else f" = {parameter['default']}")


def _extension(entry: Entry) -> str:
    values = ", ".join(f"{name}={value}" for name, value in entry.values.items())
    return f"{entry.extends} with {values}" if values else f"{entry.extends} as it is"


def _said(entry: Entry) -> list[Text]:
    said = [Text(entry.help)] if entry.help else []
    return [*said, Text(entry.message, style="yellow" if entry.state == "needs" else "red")] if entry.message else said
