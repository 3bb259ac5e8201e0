"""What a chat shows, and what it reads."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console

from convrag import Passage, Query, Turn, TurnRecord


class Screen:
    """The terminal, or a pipe.

    Args:
        confirm: ask before each search.
    """

    def __init__(self, *, confirm: bool = False) -> None:
        self.console = Console(highlight=False)
        self.confirm = confirm
        self._shown = ""

    def say(self, text: str, style: str = "") -> None:
        """A line of text, as it is."""
        self.console.print(text, style=style, markup=False, soft_wrap=True)

    def read(self, prompt: str = "> ") -> str | None:
        """The next line; None at the end of the input. Raises KeyboardInterrupt."""
        try:
            return input(prompt if sys.stdin.isatty() else "").strip()
        except EOFError:
            return None

    def query(self, queries: Sequence[Query]) -> str:
        """Show what will be searched for; return what the user would rather search for, if anything."""
        more = f" (and {len(queries) - 1} more with weights)" if len(queries) > 1 else ""
        self.say(f"Searching for: {queries[0].text}{more}", "cyan")
        if not self.confirm:
            return ""
        return (self.read("Enter to search, or type another query: ") or "").removeprefix("/query ").strip()

    def begin(self, query: str | None) -> None:
        """A new answer is about to come; `query` is what the user wants to search for, if anything."""
        self._shown = ""
        if query:
            self.say(f"Searching for: {query}", "cyan")

    def piece(self, text: str) -> None:
        """A piece of the answer, as it comes."""
        self._shown += text
        self.console.print(text, end="", markup=False, soft_wrap=True)

    def turn(self, record: TurnRecord, history: Iterable[Turn]) -> None:
        """What there is to say once the answer is complete: what went wrong, what was changed, the sources."""
        shown = self._shown.strip()
        if shown:
            self.say("")
        for stage, reason in record.fallbacks.items():
            self.say(f"{stage}: {reason}", "yellow")
        if record.error:
            self.say(f"No answer: {record.error}", "red")
            return
        if shown != record.answer.text:
            self.say(f"Corrected (citations of unknown passages are removed): {record.answer.text}", "yellow")
        self.sources(record, history)

    def sources(self, record: TurnRecord, history: Iterable[Turn]) -> None:
        """The passages of this turn and those cited from earlier ones, by their numbers."""
        found: dict[str, Passage] = {passage.id: passage for turn in history for passage in turn.passages}
        found |= {item.passage.id: item.passage for item in record.evidence.items}
        numbers = {item.passage.id: item.number for item in record.evidence.items}
        numbers = dict(record.trace.get("generator", {}).get("numbers") or numbers)
        if not numbers:
            return
        self.say("Sources:", "bold")
        for passage_id, number in sorted(numbers.items(), key=lambda item: item[1]):
            cited = passage_id in record.answer.citations
            line = f"  [{number}] {described(found[passage_id])}"
            self.say(line if cited else f"{line} (not cited)", "" if cited else "dim")


def described(passage: Passage) -> str:
    """A passage in a line: its title or first words, and where it is."""
    words = passage.text.split()
    name = passage.title or " ".join(words[:10]) + (" ..." if len(words) > 10 else "")
    return f"{name} - {passage.url or passage.id}"
