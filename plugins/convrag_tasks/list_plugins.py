"""`task=plugins`: what can be chosen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from convrag import plugins
from convrag.errors import UnknownName
from convrag.stages import GROUPS, Task, options_group

if TYPE_CHECKING:
    from rich.table import Table


class ListPlugins(Task):
    """List the options of every stage, who brought them, and what failed to load.

    Args:
        stage: only this group.
    """

    def __init__(self, *, stage: str | None = None) -> None:
        if stage is not None and stage not in GROUPS:
            raise UnknownName("task.stage: group", stage, GROUPS)
        self.stage = stage

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Print the tables."""
        from rich.console import Console

        console = Console()
        groups = [self.stage] if self.stage else [group for group in GROUPS if group == options_group(group)]
        for group in groups:
            console.print(_table(group))
        for failure in plugins.load().registry.failures:
            console.print(str(failure), style="red", markup=False)
        return 0


def _table(group: str) -> Table:
    from rich.table import Table

    table = Table(title=group, title_justify="left", box=None, pad_edge=False)
    for heading in ("option", "from", "what it is", "parameters"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "option")
    for name, option in plugins.load().registry.options(group).items():
        origin = f"{option.distribution} {option.version}".strip()
        table.add_row(name, origin, option.help, ", ".join(option.configurable))
    return table
