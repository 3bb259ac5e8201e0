"""The commands that look at a conversation: its sources, a passage, why a query was searched for, the whole of it."""

import re
from collections.abc import Iterator
from pathlib import Path

from convrag import Passage, TurnRecord
from convrag.sdk.citations import find_cited_statements
from convrag.sdk.files import encode_name, write_atomically
from convrag.sdk.groups import OPTION_KEY
from convrag.sdk.sentences import find_sentence_spans
from convrag.sdk.transcript import find_source, format_transcript, list_sources
from convrag.sdk.words import stem_words
from convrag_tasks.chat.commands import Command
from convrag_tasks.chat.conversation import ChatConversation
from convrag_tasks.chat.screen import Span
from convrag_tasks.turn_trace import explain_query

_WORD = re.compile(r"\d+|[^\W\d_]{4,}")


class Inspection:
    """Carries out the commands that change nothing.

    Args:
        chat: the conversation.
        folder: where /save writes by default.
    """

    def __init__(self, chat: ChatConversation, folder: Path) -> None:
        self.chat = chat
        self.screen = chat.screen
        self.folder = folder

    def list_commands(self) -> Iterator[Command]:
        """Yield the commands."""
        yield Command("sources", "", "the passages that the last answer was generated from", self.show_sources)
        yield Command(
            "passage",
            "NUMBER",
            "a passage; what the answer cites of it is marked",
            self.show_passage,
            lambda: [str(source.number) for source in list_sources(self.chat.records)],
        )
        yield Command("why", "", "why the last query was searched for", self.explain_query)
        yield Command("history", "", "the conversation so far", self.show_history)
        yield Command("save", "[FILE]", "write the conversation as Markdown, with its sources", self.save_transcript)

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
        found = find_source(self.chat.records, int(number)) if number.isdecimal() and len(number) < 10 else None
        if found is None:
            numbers = ", ".join(str(source.number) for source in list_sources(self.chat.records))
            known = f" The last answer has {numbers}." if numbers else ""
            self.screen.print_line(f"/passage NUMBER shows a passage.{known}", "yellow")
            return
        place, source = found
        record = self.chat.records[place]
        if place + 1 < len(self.chat.records):
            self.screen.print_line(f"From the answer to: {record.original_query}", "dim")
        self.screen.show_passage(source, find_cited_spans(record, source.passage, source.number))

    def explain_query(self, _: str) -> None:
        """Show why the last query was searched for."""
        if not self.chat.has_turns():
            return
        rewriter = self.chat.pipeline.configuration.get("rewriter", {})
        lines = explain_query(self.chat.records, str(rewriter.get(OPTION_KEY, "")))
        width = max(len(heading) for heading, _ in lines)
        for heading, text in lines:
            self.screen.print_item(heading.ljust(width), text)

    def show_history(self, _: str) -> None:
        """Show the questions and answers."""
        for record in self.chat.records if self.chat.has_turns() else ():
            self.screen.print_line(f"> {record.original_query}", "bold")
            self.screen.print_markdown(record.answer.text or "(no answer)")

    def save_transcript(self, text: str) -> None:
        """Write the conversation to a file."""
        try:
            path = Path(text).expanduser() if text else self.folder / f"{encode_name(self.chat.id)}.md"
            write_atomically(path, format_transcript(self.chat.id, self.chat.records))
        except (OSError, ValueError, RuntimeError) as error:  # ValueError: a null byte; RuntimeError: ~nobody
            self.screen.print_line(f"It could not be saved: {error}", "red")
            return
        self.screen.print_line(f"Saved: {path}")


def find_cited_spans(record: TurnRecord, passage: Passage, number: int) -> list[Span]:
    """Find the parts of a passage that an answer cites, as (start, end) in its text, in order.

    A generator that knows them says so (`Answer.support`). For any other it is, for each sentence of the answer with
    the passage's number, the sentence of the passage that shares most of its longer words.

    Args:
        record: the turn.
        passage: of its evidence.
        number: by which the answer cites the passage.
    """
    if passage.id not in record.answer.citations:
        return []
    return record.answer.find_spans(passage.id) or _find_similar(record.answer.text, passage.text, number)


def _find_similar(answer: str, text: str, number: int) -> list[Span]:
    """For each sentence of the answer with the number, the sentence of the text that shares most words with it."""
    candidates = [(span, _find_stems(text[slice(*span)])) for span in find_sentence_spans(text)]
    spans = set()
    for start, end, numbers in find_cited_statements(answer):
        wanted = _find_stems(answer[start:end]) if number in numbers else set()
        shared = [(len(wanted & stems), span) for span, stems in candidates]
        best, span = max(shared, key=lambda each: each[0], default=(0, (0, 0)))
        if best:
            spans.add(span)
    return sorted(spans)


def _find_stems(text: str) -> set[str]:
    return set(stem_words(_WORD.findall(text.lower())))
