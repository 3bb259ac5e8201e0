"""How rows of progress look on a terminal (see convrag.sdk.progress)."""

from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from convrag.sdk.console import make_console
from convrag.sdk.progress_lines import format_duration


def make_display() -> Progress:
    """A display on standard error that leaves nothing behind, not yet started."""
    columns = TextColumn("{task.description}", markup=False), BarColumn(), _Count(), _Time()
    return Progress(*columns, console=make_console(stderr=True), transient=True)


class _Count(MofNCompleteColumn):
    """How many parts are done; nothing for a step without parts."""

    def render(self, task: Task) -> Text:
        return Text("") if task.total is None else super().render(task)


class _Time(TimeRemainingColumn):
    """The time that is left; of a step without parts, the time so far."""

    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text(format_duration(task.elapsed or 0.0), style="progress.elapsed")
        return super().render(task)
