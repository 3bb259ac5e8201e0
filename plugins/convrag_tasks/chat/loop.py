"""The loop of a chat: reads lines, and answers questions or carries out commands, those that only
look among them.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

from convrag import ConvragError, TurnRecord
from convrag.sdk.data.transcript import find_source, format_transcript, list_sources
from convrag.sdk.errors import OtherConfiguration, RunStopped
from convrag.sdk.files import encode_name, write_atomically
from convrag.sdk.groups import OPTION_KEY
from convrag.sdk.llm.streaming import Stream
from convrag.sdk.output.printable import count
from convrag.sdk.tasks.configuration import check_configuration
from convrag.sdk.tasks.signals import resume
from convrag.sdk.text.support import find_unsupported
from convrag_tasks.chat.conversation import ChatConversation
from convrag_tasks.chat.line_input import Command, Later, PlainReader
from convrag_tasks.turn_trace import explain_query


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
        found = (
            find_source(self.chat.records, int(number))
            if number.isdecimal() and len(number) < 10
            else None
        )
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
        """Show why the last query was searched for, and which sentences of the answer its passages
        do not support.
        """
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

    def show_history(self, _: str) -> None:
        """Show the questions and answers."""
        for record in self.chat.records if self.chat.has_turns() else ():
            self.screen.print_line(f"> {record.original_query}", "bold")
            self.screen.print_markdown(record.answer.text or "(no answer)")

    def save_transcript(self, text: str) -> None:
        """Write the conversation to a file."""
        try:
            path = (
                Path(text).expanduser() if text else self.folder / f"{encode_name(self.chat.id)}.md"
            )
            write_atomically(path, format_transcript(self.chat.id, self.chat.records))
        except (
            OSError,
            ValueError,
            RuntimeError,
        ) as error:  # ValueError: a null byte; RuntimeError: ~nobody
            self.screen.print_line(f"It could not be saved: {error}", "red")
            return
        self.screen.print_line(f"Saved: {path}")


KEYS = "Alt-Enter, or Escape and Enter, begins a new line; arrows and Ctrl-R find what was typed; Tab completes."

LISTED = 20
"""Conversations that /list shows."""

Suggest = Callable[[TurnRecord], list[str]]
"""Gives follow-up questions to a turn."""


class ChatLoop:
    """Reads lines until the user leaves.

    Args:
        chat: the conversation.
        suggest: asks a language model for follow-up questions; None for none. Where it fails, as
            with llm=extractive, it is not asked again.
        inspection: the commands that look at the conversation.
    """

    def __init__(
        self, chat: ChatConversation, suggest: Suggest | None, inspection: Inspection
    ) -> None:
        self.chat = chat
        self.screen = chat.screen
        self.suggested: list[str] = []
        self._suggest = suggest
        self._later: Later | None = None
        self._conversations = chat.pipeline.conversations
        self.commands = {
            each.name: each for each in (*inspection.list_commands(), *self._list_commands())
        }

    def run(self, reader: PlainReader) -> int:
        """Read lines until /quit, the end of the input, or Ctrl-C twice; 1 where the run was
        stopped.
        """
        self._greet()
        leaving = False  # whether Ctrl-C was the last thing that was typed
        while True:
            line = None
            self.screen.print_gap()
            try:
                line = reader.read(later=self._later)
                if line is None or line in ("/quit", "/exit"):
                    return 0
                leaving = False
                self._handle_line(line)
            except KeyboardInterrupt:
                resume()
                if line is not None:
                    self.screen.print_line(
                        "Interrupted; this turn is not kept. /quit leaves.", "yellow"
                    )
                elif reader.leaves_at_interrupt or (leaving and not reader.typed):
                    return 0
                else:
                    leaving = True
                    self.screen.print_line("Ctrl-C again, or Ctrl-D, leaves.", "dim")
            except RunStopped as error:
                self.screen.print_line(str(error), "red")
                return 1
            except (ConvragError, OSError) as error:
                with suppress(ConvragError):
                    self.chat.reread()
                self.screen.print_line(f"This turn is not kept: {error}", "red")

    def _list_commands(self) -> Iterator[Command]:
        yield Command(
            "query",
            "TEXT",
            "answer the last question again from what is found for TEXT",
            self._answer_from,
        )
        yield Command("again", "", "answer the last question again", lambda _: self._answer_again())
        yield Command(
            "list", "", "the conversations that are kept", lambda _: self._list_conversations()
        )
        yield Command(
            "open", "ID", "go on with one of them", self._open_conversation, self._list_ids
        )
        yield Command(
            "reset", "", "begin a new conversation; this one is kept", lambda _: self._start_new()
        )
        yield Command("help", "", "this list", lambda _: self._show_help())
        yield Command("quit", "", "leave; Ctrl-D does the same", lambda _: None)

    def _handle_line(self, line: str) -> None:
        name, _, rest = line.removeprefix("/").partition(" ")
        choices = self._list_choices()
        if name.isdecimal() and not rest and (line.startswith("/") or choices):
            self.suggested = choices or self.suggested
            self._ask_suggestion(name)
        elif not line.startswith("/"):
            if line:
                self._ask(line)
        elif name in self.commands:
            self.commands[name].run(rest.strip())
        else:
            similar = get_close_matches(name[:40].lower(), self.commands, n=1)
            meant = f" Did you mean /{similar[0]}?" if similar else ""
            self.screen.print_line(
                f"There is no command /{name[:40]}.{meant} /help lists them.", "yellow"
            )

    def _list_choices(self) -> list[str]:
        """List what the last answer offers to choose from, if it asks back."""
        if not self.chat.records:
            return []
        decision = self.chat.records[-1].trace.get("generator", {}).get("decision", {})
        return list(decision["choices"]) if decision.get("outcome") == "asked" else []

    def _ask(self, text: str) -> None:
        self._drop_suggestions()
        self.chat.ask(text)
        self._suggest_questions()

    def _drop_suggestions(self) -> None:
        """Forget the suggestions; a call for others is given up."""
        self.suggested = []
        if self._later:
            self._later.stream.cancel()
        self._later = None

    def _suggest_questions(self) -> None:
        """Ask for follow-up questions in the background: nobody waits for them who can type
        already.
        """
        suggest, record = self._suggest, self.chat.records[-1]
        if self._list_choices():
            self.screen.print_line(
                "Type the number of your choice, or say it in your own words.", "dim"
            )
        if suggest is None or self._list_choices():
            return
        asking = Stream[None, list[str]](lambda _: suggest(record))
        asking.start()
        self._later = Later(asking, lambda: self._show_suggestions(asking))

    def _show_suggestions(self, asking: Stream[None, list[str]]) -> None:
        """Show follow-up questions as soon as they are there. Ctrl-C leaves them out: the turn is
        kept.
        """
        if self._later is None or self._later.stream is not asking:
            return
        failure = ""
        try:
            self.suggested = asking.record
        except KeyboardInterrupt:
            resume()
        except Exception as error:  # of any plugin: the chat goes on
            self._suggest = None
            failure = (
                str(error)
                if isinstance(error, ConvragError)
                else f"{type(error).__name__}: {error}"
            )
        self._later = None
        if failure:
            self.screen.print_line(f"No suggestions from here on: {failure}", "dim")
        for number, question in enumerate(self.suggested, start=1):
            self.screen.print_item(f"  /{number}", question, "green")
        if failure or self.suggested:
            self.screen.print_gap()

    def _ask_suggestion(self, name: str) -> None:
        number = int(name) if len(name) < 10 else 0
        if not 1 <= number <= len(self.suggested):
            self.screen.print_line(f"There is no suggestion {name[:20]}.", "yellow")
            return
        question = self.suggested[number - 1]
        self.screen.print_line(f"> {question}")
        self._ask(question)

    def _answer_from(self, text: str) -> None:
        if text:
            self._answer_again(text)
        else:
            self.screen.print_line(
                "/query TEXT answers the last question again from another search.", "yellow"
            )

    def _answer_again(self, query: str | None = None) -> None:
        if self.chat.has_turns():
            self._drop_suggestions()
            self.chat.ask_again(query)
            self._suggest_questions()

    def _list_conversations(self) -> None:
        """Show the conversations that were used last, the newest one first."""
        found = self._conversations.list(LISTED)
        for info in found:
            here = " (this one)" if info.id == self.chat.id else ""
            self.screen.print_line(f"{info.id}{here}", "bold")
            when, title = info.updated.astimezone(), info.title or "(empty)"
            self.screen.print_line(f"  {when:%Y-%m-%d %H:%M}, {count(info.turns, 'turn')}: {title}")
        if not found:
            self.screen.print_line("No conversation is kept yet.")

    def _list_ids(self) -> list[str]:
        return [info.id for info in self._conversations.list(LISTED)]

    def _open_conversation(self, text: str) -> None:
        """Go on with another conversation, if it was begun with this configuration."""
        session = self._conversations.get(text) if text else None
        if session is None:
            unknown = f"There is no conversation {text}. " if text else ""
            self.screen.print_line(
                f"{unknown}/open ID goes on with a conversation; /list shows them.", "yellow"
            )
            return
        try:
            check_configuration(session, self.chat.pipeline.configuration)
        except OtherConfiguration as error:
            self.screen.print_line(str(error), "yellow")
            return
        self.chat.go_on_with(session)
        self._greet()

    def _start_new(self) -> None:
        self.chat.start()
        self._greet()

    def _show_help(self) -> None:
        usages = [
            (f"/{each.name} {each.argument}".strip(), each.help) for each in self.commands.values()
        ]
        lines = [
            *usages,
            (
                "/1, /2, ...",
                "ask a suggested question; 1, 2, ... alone choose where the answer asks back",
            ),
        ]
        width = max(len(usage) for usage, _ in lines)
        for usage, text in lines:
            self.screen.print_item(usage.ljust(width), text)
        self.screen.print_line(f"Everything else is a question. {KEYS}")

    def _greet(self) -> None:
        self._drop_suggestions()
        turns = len(self.chat.records)
        so_far = f", {count(turns, 'turn')} so far" if turns else ", a new one"
        self.screen.print_line(
            f"Conversation {self.chat.id}{so_far}. Ask away; /help lists the commands.", "dim"
        )
