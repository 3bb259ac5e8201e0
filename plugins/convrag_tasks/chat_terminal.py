"""The terminal of a chat: reads lines, and shows queries, answers and sources."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from convrag import Passage, Query, Turn, TurnRecord
from convrag.score.summary_page import list_cut_replies
from convrag.sdk.console import make_console
from convrag_tasks.turn_trace import format_turn_trace


class Terminal:
    """A terminal or a pipe.

    Args:
        confirm: wait before each search for the user to accept or replace the query.
        trace: show below each answer what happened in its turn.
    """

    def __init__(self, *, confirm: bool = False, trace: bool = False) -> None:
        self.console = make_console()
        self.confirm = confirm
        self.trace = trace
        self._shown = ""

    def print_line(self, text: str, style: str = "") -> None:
        """Print a line as it is, without markup or wrapping.

        Args:
            text: the line.
            style: one of Rich's styles.
        """
        self.console.print(text, style=style, soft_wrap=True)

    def read_line(self, prompt: str = "> ") -> str | None:
        """Read a line; None at the end of the input. Raises KeyboardInterrupt.

        Bytes that are no text in the terminal's encoding become "?".
        """
        if getattr(sys.stdin, "errors", "") != "replace" and hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(errors="replace")
        try:
            return input(prompt if sys.stdin.isatty() else "").strip()
        except EOFError:
            return None

    def show_queries(self, queries: Sequence[Query]) -> str:
        """Show what will be searched for; return the query that the user typed instead, if any."""
        more = f" (and {len(queries) - 1} more with weights)" if len(queries) > 1 else ""
        self.print_line(f"Searching for: {queries[0].text}{more}", "cyan")
        if not self.confirm:
            return ""
        return (self.read_line("Enter to search, or type another query: ") or "").removeprefix("/query ").strip()

    def start_answer(self, query: str | None) -> None:
        """Prepare for the pieces of an answer, and show the query if the user chose it."""
        self._shown = ""
        if query:
            self.print_line(f"Searching for: {query}", "cyan")

    def show_piece(self, text: str) -> None:
        """Show a piece of the answer while it is generated."""
        self._shown += text
        self.console.print(text, end="", soft_wrap=True)

    def finish_answer(self, record: TurnRecord, history: Iterable[Turn]) -> None:
        """Show what belongs to a complete answer: fallbacks, errors, corrections and sources."""
        shown = self._shown.strip()
        if shown:
            self.print_line("")
        for stage, reason in record.fallbacks.items():
            self.print_line(f"{stage}: {reason}", "yellow")
        if record.error:
            self.print_line(f"No answer: {record.error}", "red")
            if shown:
                self.print_line("What is shown above is not kept in the conversation.", "red")
        else:
            if shown != record.answer.text:
                self.print_line(
                    f"Corrected (citations of unknown passages are removed): {record.answer.text}", "yellow"
                )
            self.show_sources(record, history)
        for line in list_cut_replies(record.usage):
            self.print_line(line, "yellow")
        if self.trace:
            self.print_line(format_turn_trace(record), "dim")

    def show_sources(self, record: TurnRecord, history: Iterable[Turn]) -> None:
        """Show the passages of this turn, and those cited from earlier turns, with their numbers."""
        found: dict[str, Passage] = {passage.id: passage for turn in history for passage in turn.passages}
        found |= {item.passage.id: item.passage for item in record.evidence.items}
        numbers = {item.passage.id: item.number for item in record.evidence.items}
        numbers = dict(record.trace.get("generator", {}).get("numbers") or numbers)
        if not numbers:
            return
        self.print_line("Sources:", "bold")
        for passage_id, number in sorted(numbers.items(), key=lambda item: item[1]):
            cited = passage_id in record.answer.citations
            line = f"  [{number}] {describe_passage(found[passage_id])}"
            self.print_line(line if cited else f"{line} (not cited)", "" if cited else "dim")


def describe_passage(passage: Passage) -> str:
    """A passage in a line: its title or first words, and its URL or id."""
    words = passage.text.split()
    name = passage.title or " ".join(words[:10]) + (" ..." if len(words) > 10 else "")
    return f"{name} - {passage.url or passage.id}"
