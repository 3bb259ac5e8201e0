"""The output of a chat, on a terminal or into a pipe."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from convrag import Passage, TurnRecord
from convrag.sdk.data.transcript import Source, describe_passage, list_sources
from convrag.sdk.llm.thoughts import count_thoughts, list_thoughts
from convrag.sdk.output.console import make_console
from convrag.sdk.output.printable import count
from convrag.sdk.tasks.scores import list_cut_replies
from convrag_tasks.chat.answer_display import AnswerDisplay, PlainDisplay
from convrag_tasks.chat.markdown import print_markdown
from convrag_tasks.chat.terminal_lines import text_width
from convrag_tasks.turn_trace import format_turn_trace

Span = tuple[int, int]


class Screen:
    """A screen that shows lines, queries, answers and sources.

    On a terminal text is wrapped, and Markdown is rendered; into a pipe, or on a terminal that
    cannot move its cursor (TERM=dumb), it goes as it is.

    Args:
        trace: show below each answer what happened in its turn.
    """

    def __init__(self, *, trace: bool = False) -> None:
        self.console = make_console()
        self.trace = trace
        self.is_plain = not self.console.is_terminal or self.console.is_dumb_terminal

    def print_gap(self) -> None:
        """Print an empty line on a terminal; a pipe has none."""
        if not self.is_plain:
            self.console.print()

    def print_line(self, text: str = "", style: str = "") -> None:
        """Print a line as it is, without markup.

        Args:
            text: the line.
            style: one of Rich's styles.
        """
        if self.is_plain:
            self.console.print(text, style=style, soft_wrap=True)
        else:
            self.console.print(text, style=style, width=text_width(self.console))

    def print_item(self, label: str, text: str, style: str = "") -> None:
        """Print a text after its label; on a terminal its further lines are indented, too."""
        if self.is_plain:
            self.print_line(f"{label} {text}", style)
            return
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(
            self.console.render_str(label, style=style), self.console.render_str(text, style=style)
        )
        self.console.print(grid, width=text_width(self.console))

    def print_markdown(self, text: str) -> None:
        """Print a text in Markdown; into a pipe, as it is."""
        if self.is_plain:
            self.print_line(text)
        else:
            print_markdown(self.console, text)

    def start_answer(self) -> PlainDisplay:
        """Begin to show an answer that is being generated."""
        display = PlainDisplay if self.is_plain else AnswerDisplay
        return display(self.console, self.print_line)

    def show_end_of_answer(self, records: Sequence[TurnRecord], shown: str) -> None:
        """Show what belongs to a complete answer: fallbacks, errors, corrections and sources.

        Args:
            records: the turns of the conversation, up to this one.
            shown: the text that was shown while it was generated.
        """
        record = records[-1]
        for stage, reason in record.fallbacks.items():
            self.print_line(f"{stage}: {reason}", "yellow")
        if record.error:
            self.print_line(f"No answer: {record.error}", "red")
            if shown.strip():
                self.print_line("What is shown above is not kept in the conversation.", "red")
        else:
            if shown.strip() != record.answer.text.strip():
                self.print_line(f"Corrected ({_explain_correction(record)}):", "yellow")
                self.print_markdown(record.answer.text)
            self._show_cited(list_sources(records))
        if list_thoughts(record):
            tokens = count(count_thoughts(record), "token")
            self.print_line(f"Thought for {tokens}: /thoughts shows the thoughts", "dim")
        for line in list_cut_replies(record.usage):
            self.print_line(line, "yellow")
        if self.trace:
            self.print_line(format_turn_trace(records), "dim")

    def show_sources(self, sources: Sequence[Source]) -> None:
        """Show the passages of an answer with their numbers."""
        self.print_line("Sources:", "bold")
        for source in sources:
            text = describe_passage(source.passage)
            style = ""
            if not source.cited:
                text += " (not cited)"
                style = "dim"
            self.print_item(f"  [{source.number}]", text, style)

    def show_passage(self, source: Source, spans: Sequence[Span]) -> None:
        """Show a passage, with the parts marked that the answer rests on."""
        passage = source.passage
        title = " ".join(passage.title.split())
        self.print_item(f"[{source.number}]", title or "(no title)", "bold")
        address = " - ".join(part for part in (passage.place, passage.url) if part)
        self.print_line(" ".join((address or passage.id).split()), "dim")
        if self.is_plain:
            self.print_line(_mark(passage, spans))
        else:
            text = Text(passage.text)
            for start, end in spans:
                text.stylize("bold reverse", start, end)
            self.console.print(text, width=text_width(self.console))
        if not source.cited:
            self.print_line("The answer does not cite it.", "dim")

    def _show_cited(self, sources: Sequence[Source]) -> None:
        """Show the sources that the answer cites, and how many others there are."""
        if not sources:
            return
        self.print_gap()
        cited = [source for source in sources if source.cited]
        if cited:
            self.show_sources(cited)
        others = len(sources) - len(cited)
        if others:
            verb = "is" if others == 1 else "are"
            text = f"{others} more {verb} not cited" if cited else "No passage is cited"
            self.print_line(f"  {text}: /sources lists all", "dim")


def _explain_correction(record: TurnRecord) -> str:
    """Say why the answer differs from what was shown while it was written."""
    if "generator" in list_thoughts(record):
        return "its thoughts are left out"
    return "citations of unknown passages are removed"


def _mark(passage: Passage, spans: Sequence[Span]) -> str:
    """Put ** around each span of a passage's text."""
    text = passage.text
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]}**{text[start:end]}**{text[end:]}"
    return text
