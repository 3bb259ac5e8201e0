"""Prints the inventory on a terminal: options in a few lines each, or with every parameter."""

from collections.abc import Iterable
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from convrag.sdk.output.console import make_console
from convrag.sdk.tasks.options import plugins
from convrag_kit.inventory import Entry, State, list_entries

_STATES: dict[State, tuple[str, str]] = {  # text and style
    "ready": ("ready", "green"),
    "faulty": ("ready, its plugin failed in part", "yellow"),
    "needs": ("needs", "yellow"),
    "claimed": ("claimed twice", "red"),
    "broken": ("broken", "red"),
}
_SIGNATURE_WIDTH = 36
"""Columns of a parameter's signature; its description has the rest of the line."""


def print_inventory(groups: Iterable[str], *, in_full: bool) -> None:
    """Print the options of these groups, then the plugins that failed to load.

    Args:
        groups: the stages, such as rewriter.
        in_full: with the details, file and parameter descriptions of each option.
    """
    console = make_console()
    for group in groups:
        console.print(Text(f"\n{group}", style="bold"))
        for entry in list_entries(group):
            body = _format_details(entry) if in_full else _format_summary(entry)
            console.print(Padding(_format_heading(entry), (0, 0, 0, 2)))
            console.print(Padding(body, (0, 0, 0, 6)))
    failures = plugins.load().registry.failures
    if failures:
        console.print(Text("\nplugins that failed, wholly or in part", style="bold"))
        for failure in failures:
            console.print(Padding(Text(str(failure), style="red"), (0, 0, 0, 2)))


def _format_heading(entry: Entry) -> Text:
    """Format the name, origin and state: `mmr  convrag 0.2.0 (convrag_mmr...)  ready`."""
    state, style = _STATES[entry.state]
    origin = f"  {entry.distribution} {entry.version}".rstrip() + f" ({entry.module})  "
    return Text.assemble((entry.name, "bold cyan"), (origin, "dim"), (state, style))


def _format_summary(entry: Entry) -> Text:
    lines = _format_help(entry)
    if entry.extends:
        lines.append(Text(_format_extension(entry), "dim"))
    elif entry.parameters:
        lines.append(Text(", ".join(map(_format_signature, entry.parameters)), "dim"))
    return Text("\n").join(lines)


def _format_details(entry: Entry) -> Group:
    lines = _format_help(entry)
    if entry.details and not entry.extends:
        paragraphs = [" ".join(part.split()) for part in entry.details.split("\n\n")]
        lines.append(Text("\n".join(paragraphs), "dim"))
    lines.append(Text(entry.file, "dim"))
    if entry.extends:
        lines.append(Text(_format_extension(entry)))
        return Group(Text("\n").join(lines), "")
    rows = Table.grid(padding=(0, 2))
    rows.add_column(max_width=_SIGNATURE_WIDTH, overflow="fold")
    rows.add_column()
    for parameter in entry.parameters:
        rows.add_row(Text(_format_signature(parameter), "cyan"), Text(parameter["help"]))
    return Group(Text("\n").join(lines), *([rows] if entry.parameters else []), "")


def _format_signature(parameter: dict[str, Any]) -> str:
    signature = f"{parameter['name']}: {parameter['type']}"
    if parameter["default"] == "required":
        return f"{signature} (required)"
    return f"{signature} = {parameter['default']}"


def _format_extension(entry: Entry) -> str:
    values = ", ".join(f"{name}={value}" for name, value in entry.values.items())
    return f"{entry.extends} with {values}" if values else f"{entry.extends} as it is"


def _format_help(entry: Entry) -> list[Text]:
    lines = [Text(entry.help)] if entry.help else []
    if entry.message:
        style = "yellow" if entry.state in ("needs", "faulty") else "red"
        lines.append(Text(entry.message, style=style))
    return lines
