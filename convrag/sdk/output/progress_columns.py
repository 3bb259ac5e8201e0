"""What a row of progress shows: a bar, the count of parts, and the time that is left."""

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from convrag.sdk.output.console import make_console
from convrag.sdk.output.printable import format_duration


def make_display() -> Progress:
    """Make a display of progress on standard error that disappears when it ends."""
    description = TextColumn("{task.description}", markup=False)
    columns = (description, BarColumn(), _Count(), _Time())
    return Progress(*columns, console=make_console(stderr=True), transient=True)


class _Count(MofNCompleteColumn):
    """The number of parts that are done; empty for a step without parts."""

    def render(self, task: Task) -> Text:
        return Text("") if task.total is None else super().render(task)


class _Time(TimeRemainingColumn):
    """The time that is left; the time so far for a step without parts."""

    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text(format_duration(task.elapsed or 0.0), style="progress.elapsed")
        return super().render(task)
