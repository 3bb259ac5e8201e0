"""The output of `python -m convrag` alone: a conversation, scores in words, and next steps."""

from collections.abc import Sequence
from dataclasses import replace

from rich.table import Table

from convrag import Run, RunSummary, TurnRecord, hookimpl
from convrag.sdk.data.transcript import list_sources, name_passage
from convrag.sdk.output.console import make_console
from convrag.sdk.tasks.configuration import Command, read_place
from convrag.sdk.tasks.options import plugins
from convrag.sdk.tasks.scores import ADVICE, make_table, print_summary
from convrag_tasks.chat.terminal_lines import print_lines, render_lines, text_width

SHOWN = "spacesuits"
"""The conversation of the sample that is shown: most of its questions need a rewrite."""

TURNS = 3
"""The number of its turns that are shown."""

MEANINGS = {
    "nDCG@5": "relevant passages among the first five found; 1: all of them, on top",
    "ROUGE-L": "words in common with the reference answer, in its order; 1: the same words",
    "evidence_nDCG": "nDCG of the passages that the answer was written from",
}
"""Measure -> its meaning, for the main measures of the default run."""

NEXT_STEPS = (
    ("talk to it", "python -m convrag task=chat"),
    (
        "ask your own documents in the browser",
        "python -m convrag task=serve dataset=documents dataset.path=~/handbook",
    ),
    (
        "compare three rewriters",
        "python -m convrag -m rewriter=none,last_n,full_history generator=none history=gold",
    ),
)
"""Aims, and the command for each."""


def is_first_run(command: Command) -> bool:
    """Whether a command is `python -m convrag` over the bundled sample.

    Nothing may be chosen but the place of the store.
    """
    chosen = [
        override for override in command.overrides if not read_place(override).startswith("store.")
    ]
    return not chosen and not command.in_grid and command.names.get("dataset") == "sample"


class FirstRunDisplay:
    """An observer of a run that shows a conversation, the main scores and what to try next."""

    def __init__(self) -> None:
        self.console = make_console()
        self._records: list[TurnRecord] = []

    @hookimpl
    def convrag_turn_finished(self, run: Run, record: TurnRecord) -> None:
        """Keep the turns that are shown."""
        if record.conversation_id == SHOWN and record.number <= TURNS:
            self._records.append(record)

    def show_results(self, run: Run, summary: RunSummary) -> None:
        """Print a conversation, the scores and the remarks of the run."""
        self._print_heading(
            f"One of {run.conversations} conversations about the Moon and spaceflight, its first "
            "turns"
        )
        for place in range(1, len(self._records) + 1):
            self._print_turn(self._records[:place])
        self._print_heading("Scores of all conversations")
        shown = summary.main_measures or tuple(summary.overall)
        main = replace(summary, overall={name: summary.overall[name] for name in shown})
        self.console.print(make_table(main, MEANINGS), width=text_width(self.console))
        print_summary(
            run,
            summary,
            f"All {len(summary.overall)} measures: {run.folder}/summary.md",
            table=False,
            advice=ADVICE,
        )

    def show_next_steps(self) -> None:
        """Print three commands to try next, each on a line of its own, as it can be pasted."""
        self._print_heading("Try next")
        for number, (aim, command) in enumerate(NEXT_STEPS, 1):
            self.console.print(f"{number}. {aim}:")
            self.console.print(f"   {command}", style="bold", soft_wrap=True)
            if "task=serve" in command:
                missing = plugins.load().registry.get("task", "serve").missing_extra()
                if missing:
                    self.console.print(f"   (first: pip install '{missing.install}')")

    def _print_heading(self, text: str) -> None:
        self.console.print()
        self.console.print(f"{text}:", style="bold")

    def _print_turn(self, records: Sequence[TurnRecord]) -> None:
        """Print the last turn: its question, its rewrite, its cited sources and its answer."""
        record = records[-1]
        lines = [("Question", record.original_query, "bold")]
        if is_rewritten(record):
            lines.append(("Rewritten", record.rewritten_query, "cyan"))
        cited = [source for source in list_sources(records) if source.cited]
        label = "Sources" if len(cited) > 1 else "Source"
        for source in cited:
            lines.append((label, f"[{source.number}] {name_passage(source.passage)}", "dim"))
            label = ""
        if record.error:
            lines.append(("No answer", record.error, "red"))
        else:
            lines.append(("Answer", record.answer.text, ""))
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True, width=len("Rewritten"))
        grid.add_column(overflow="fold")
        for label, text, style in lines:
            grid.add_row(self.console.render_str(label), self.console.render_str(text, style=style))
        self.console.print()
        print_lines(self.console, render_lines(self.console, grid))


def is_rewritten(record: TurnRecord) -> bool:
    """Whether something else was searched for than the question, but for white space and case."""
    before = record.original_query.casefold().split()
    after = record.rewritten_query.casefold().split()
    return before != after
