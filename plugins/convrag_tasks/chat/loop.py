"""The loop of a chat: reads lines, and answers questions or carries out commands."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from difflib import get_close_matches

from convrag import ConfigError, ConvragError, TurnRecord
from convrag.sdk.errors import ConversationsUnusable, OtherConfiguration, RunStopped
from convrag.sdk.llm.streaming import Stream
from convrag.sdk.output.printable import count
from convrag.sdk.tasks.configuration import check_configuration
from convrag.sdk.tasks.signals import resume
from convrag_tasks.chat.conversation import ChatConversation
from convrag_tasks.chat.inspection import Inspection
from convrag_tasks.chat.line_input import Command, Later, PlainReader

KEYS = (
    "Alt-Enter, or Escape and Enter, begins a new line; arrows and Ctrl-R find what was typed; "
    "Tab completes."
)

LISTED = 20
"""The most conversations that /list shows."""

Suggest = Callable[[TurnRecord], list[str]]
"""A function that suggests follow-up questions to a turn."""


class ChatLoop:
    """A loop that reads lines until the user leaves.

    Args:
        chat: the conversation.
        suggest: asks a language model for follow-up questions; None for none. If it fails, as with
            llm=extractive, it is not asked again.
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
        commands = [*inspection.list_commands(), *self._list_commands()]
        self.commands = {command.name: command for command in commands}

    def run(self, reader: PlainReader) -> int:
        """Read lines until /quit, the end of the input, or Ctrl-C twice.

        Returns:
            1 where the run was stopped, else 0.

        Raises:
            ConversationsUnusable: the lines come from a pipe, and the conversations cannot be read
                or written.
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
                if isinstance(error, ConversationsUnusable) and reader.leaves_at_interrupt:
                    raise  # a script is to see it in the exit status
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
        yield Command(
            "filter",
            "CONDITION",
            "search only passages with such fields, as year>=2023; /filter off searches all again",
            self._set_filter,
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
        """Choose a suggestion, ask a question, or carry out a command."""
        if not line:
            return
        is_command = line.startswith("/")
        name, _, rest = line.removeprefix("/").partition(" ")
        choices = self._list_choices()
        is_number = name.isdecimal() and not rest
        if is_number and (is_command or choices):
            self.suggested = choices or self.suggested
            self._ask_suggestion(name)
        elif not is_command:
            self._ask(line)
        elif name in self.commands:
            self.commands[name].run(rest.strip())
        else:
            self._report_unknown_command(name[:40])

    def _report_unknown_command(self, name: str) -> None:
        similar = get_close_matches(name.lower(), self.commands, n=1)
        meant = f" Did you mean /{similar[0]}?" if similar else ""
        self.screen.print_line(f"There is no command /{name}.{meant} /help lists them.", "yellow")

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
        """Forget the suggestions, and cancel a call for others."""
        self.suggested = []
        if self._later:
            self._later.stream.cancel()
        self._later = None

    def _suggest_questions(self) -> None:
        """Ask for follow-up questions in the background: a user can type meanwhile."""
        if self._list_choices():
            self.screen.print_line(
                "Type the number of your choice, or say it in your own words.", "dim"
            )
            return
        suggest = self._suggest
        if suggest is None:
            return
        record = self.chat.records[-1]
        stream = Stream[None, list[str]](lambda _: suggest(record))
        stream.start()
        self._later = Later(stream, lambda: self._show_suggestions(stream))

    def _show_suggestions(self, stream: Stream[None, list[str]]) -> None:
        """Show follow-up questions as soon as they are there. Ctrl-C leaves them out."""
        if self._later is None or self._later.stream is not stream:
            return
        failure = ""
        try:
            self.suggested = stream.record
        except KeyboardInterrupt:
            resume()
        except ConvragError as error:
            failure = str(error)
        except Exception as error:  # of any plugin: the chat goes on
            failure = f"{type(error).__name__}: {error}"
        self._later = None
        if failure:
            self._suggest = None
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

    def _set_filter(self, text: str) -> None:
        """Set the filter of the turns to come, end it, or say what it is."""
        if text:
            try:
                self.chat.set_filter("" if text == "off" else text)
            except ConfigError as error:
                self.screen.print_line(f"The filter stays as it was: {error}", "yellow")
                return
        if self.chat.filter is None:
            self.screen.print_line(
                "All passages are searched; /filter product=kettle searches some.", "dim"
            )
        else:
            self.screen.print_line(
                f"From now on: {self.chat.filter}. /filter off searches all again.", "dim"
            )

    def _list_conversations(self) -> None:
        """Show the conversations that were used last, the newest one first."""
        found = self._conversations.list(LISTED)
        for info in found:
            here = " (this one)" if info.id == self.chat.id else ""
            self.screen.print_line(f"{info.id}{here}", "bold")
            when = f"{info.updated.astimezone():%Y-%m-%d %H:%M}"
            turns = count(info.turns, "turn")
            self.screen.print_line(f"  {when}, {turns}: {info.title or '(empty)'}")
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
            (f"/{command.name} {command.argument}".strip(), command.help)
            for command in self.commands.values()
        ]
        usages.append(
            (
                "/1, /2, ...",
                "ask a suggested question; 1, 2, ... alone choose where the answer asks back",
            )
        )
        width = max(len(usage) for usage, _ in usages)
        for usage, text in usages:
            self.screen.print_item(usage.ljust(width), text)
        self.screen.print_line(f"Everything else is a question. {KEYS}")

    def _greet(self) -> None:
        self._drop_suggestions()
        turns = len(self.chat.records)
        so_far = f", {count(turns, 'turn')} so far" if turns else ", a new one"
        self.screen.print_line(
            f"Conversation {self.chat.id}{so_far}. Ask away; /help lists the commands.", "dim"
        )
