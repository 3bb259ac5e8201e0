"""The commands of a chat that look at the conversation and change nothing."""

from collections.abc import Iterator
from pathlib import Path

from convrag.sdk.data.transcript import find_source, format_transcript, list_sources
from convrag.sdk.files import encode_name, write_atomically
from convrag.sdk.groups import OPTION_KEY
from convrag.sdk.llm.thoughts import list_thoughts
from convrag.sdk.text.support import find_unsupported
from convrag_tasks.chat.conversation import ChatConversation
from convrag_tasks.chat.line_input import Command
from convrag_tasks.turn_trace import explain_query


class Inspection:
    """The commands that look at a conversation and change nothing.

    Args:
        chat: the conversation.
        folder: the folder that /save writes to by default.
    """

    def __init__(self, chat: ChatConversation, folder: Path) -> None:
        self.chat = chat
        self.screen = chat.screen
        self.folder = folder

    def list_commands(self) -> Iterator[Command]:
        """Yield the commands."""
        yield Command(
            "sources", "", "the passages that the last answer was generated from", self.show_sources
        )
        yield Command(
            "passage",
            "NUMBER",
            "a passage; what the answer is known to rest on is marked",
            self.show_passage,
            lambda: [str(source.number) for source in list_sources(self.chat.records)],
        )
        yield Command(
            "why", "", "why the last query was searched for; what has no source", self.explain_query
        )
        yield Command(
            "thoughts", "", "what the models thought before the last answer", self.show_thoughts
        )
        yield Command("history", "", "the conversation so far", self.show_history)
        yield Command(
            "save",
            "[FILE]",
            "write the conversation as Markdown, with its sources",
            self.save_transcript,
        )

    def show_sources(self, _: str) -> None:
        """Show all passages of the last answer."""
        sources = list_sources(self.chat.records)
        if sources:
            self.screen.show_sources(sources)
        elif self.chat.has_turns():
            self.screen.print_line("The last answer has no passages.", "yellow")

    def show_passage(self, text: str) -> None:
        """Show the passage with a number."""
        if not self.chat.has_turns():
            return
        number = text.strip("[] ")
        found = None
        if number.isdecimal() and len(number) < 10:
            found = find_source(self.chat.records, int(number))
        if found is None:
            numbers = ", ".join(str(source.number) for source in list_sources(self.chat.records))
            known = f" The last answer has {numbers}." if numbers else ""
            self.screen.print_line(f"/passage NUMBER shows a passage.{known}", "yellow")
            return
        place, source = found
        record = self.chat.records[place]
        if place + 1 < len(self.chat.records):
            self.screen.print_line(f"From the answer to: {record.original_query}", "dim")
        self.screen.show_passage(source, record.answer.find_spans(source.passage.id))

    def explain_query(self, _: str) -> None:
        """Show why the last query was searched for, and the sentences that no passage supports."""
        if not self.chat.has_turns():
            return
        rewriter = self.chat.pipeline.configuration.get("rewriter", {})
        lines = explain_query(self.chat.records, str(rewriter.get(OPTION_KEY, "")))
        width = max(len(heading) for heading, _ in lines)
        for heading, text in lines:
            self.screen.print_item(heading.ljust(width), text)
        record = self.chat.records[-1]
        for start, end in find_unsupported(record):
            self.screen.print_item("No source".ljust(width), record.answer.text[start:end], "red")

    def show_thoughts(self, _: str) -> None:
        """Show what the models thought in the last turn, stage by stage."""
        if not self.chat.has_turns():
            return
        thoughts = list_thoughts(self.chat.records[-1])
        if not thoughts:
            self.screen.print_line("No model told any thoughts.", "yellow")
        for stage, text in thoughts.items():
            self.screen.print_line(f"{stage}:", "bold")
            self.screen.print_line(text, "dim")

    def show_history(self, _: str) -> None:
        """Show the questions and answers."""
        if not self.chat.has_turns():
            return
        for record in self.chat.records:
            self.screen.print_line(f"> {record.original_query}", "bold")
            self.screen.print_markdown(record.answer.text or "(no answer)")

    def save_transcript(self, text: str) -> None:
        """Write the conversation to a file."""
        try:
            path = self.folder / f"{encode_name(self.chat.id)}.md"
            if text:
                path = Path(text).expanduser()
            write_atomically(path, format_transcript(self.chat.id, self.chat.records))
        except (OSError, ValueError, RuntimeError) as error:
            # ValueError: a null byte; RuntimeError: ~nobody
            self.screen.print_line(f"It could not be saved: {error}", "red")
            return
        self.screen.print_line(f"Saved: {path}")
