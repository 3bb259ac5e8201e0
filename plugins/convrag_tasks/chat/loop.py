"""The loop of a chat: reads lines, and answers questions or carries out commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from convrag import LLM, ConvragError, DataError, PromptTemplate, TurnRecord
from convrag.sdk.errors import OtherConfiguration, RunStopped
from convrag.sdk.follow_ups import suggest_follow_ups
from convrag.sdk.tasks.configuration import check_configuration
from convrag.sdk.tasks.signals import resume
from convrag_tasks.chat.background_display import carry_out
from convrag_tasks.chat.commands import Command, Commands
from convrag_tasks.chat.conversation import ChatConversation
from convrag_tasks.chat.inspection import Inspection
from convrag_tasks.chat.line_input import PlainReader

KEYS = "Alt-Enter, or Escape and Enter, begins a new line; arrows and Ctrl-R find what was typed; Tab completes."

LISTED = 20
"""Conversations that /list shows."""


class ChatLoop:
    """Reads lines until the user leaves.

    Args:
        chat: the conversation.
        suggester: suggests follow-up questions; None for none.
        inspection: the commands that look at the conversation.
    """

    def __init__(self, chat: ChatConversation, suggester: FollowUpSuggester | None, inspection: Inspection) -> None:
        self.chat = chat
        self.screen = chat.screen
        self.suggester = suggester
        self.suggested: list[str] = []
        others = [*inspection.list_commands(), *self._list_commands(), *Switching(chat, self._greet).list_commands()]
        self.commands = Commands([*others, *self._list_last_commands()])

    def run(self, reader: PlainReader) -> int:
        """Read lines until /quit, the end of the input, or Ctrl-C twice; 1 where the run was stopped."""
        self._greet()
        leaving = False  # whether Ctrl-C was the last thing that was typed
        while True:
            line = None
            self.screen.print_gap()
            try:
                line = reader.read()
                if line is None or line in ("/quit", "/exit"):
                    return 0
                leaving = False
                self._handle_line(line)
            except KeyboardInterrupt:
                resume()
                if line is not None:
                    self.screen.print_line("Interrupted; this turn is not kept. /quit leaves.", "yellow")
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
        yield Command("query", "TEXT", "answer the last question again from what is found for TEXT", self._answer_from)
        yield Command("again", "", "answer the last question again", self._answer_again)
        yield Command(
            "rewrite",
            "on|off",
            "whether questions are rewritten before the search",
            self._switch_rewriting,
            lambda: ("on", "off"),
        )

    def _list_last_commands(self) -> Iterator[Command]:
        yield Command("help", "", "this list", self._show_help)
        yield Command("quit", "", "leave; Ctrl-D does the same", lambda _: None)

    def _handle_line(self, line: str) -> None:
        name, _, rest = line.removeprefix("/").partition(" ")
        if not line.startswith("/"):
            if line:
                self._ask(line)
        elif name.isdecimal():
            self._ask_suggestion(name)
        elif name in self.commands:
            self.commands[name].run(rest.strip())
        else:
            self.screen.print_line(self.commands.explain_unknown(name), "yellow")

    def _ask(self, text: str) -> None:
        self.suggested = []
        self.chat.ask(text)
        self._suggest()

    def _suggest(self) -> None:
        """Show follow-up questions. Ctrl-C leaves them out: the turn is kept."""
        self.suggested = []
        suggester = self.suggester
        if suggester is None or suggester.failed:
            return
        record, said = self.chat.records[-1], list[tuple[str, str]]()

        def suggest(*_: object) -> list[str]:
            return suggester.suggest(record, lambda line, style: said.append((line, style)))

        try:
            self.suggested, _ = carry_out(self.screen, "Looking for what to ask next", suggest)
        except KeyboardInterrupt:
            resume()
        if said or self.suggested:
            self.screen.print_gap()
        for line, style in said:
            self.screen.print_line(line, style)
        for number, question in enumerate(self.suggested, start=1):
            self.screen.print_item(f"  /{number}", question, "green")

    def _ask_suggestion(self, name: str) -> None:
        number = int(name) if len(name) < 10 else 0
        if not 1 <= number <= len(self.suggested):
            self.screen.print_line(f"There is no suggestion {name[:20]}.", "yellow")
            return
        question = self.suggested[number - 1]
        self.screen.print_line(f"> {question}")
        self._ask(question)

    def _answer_from(self, text: str) -> None:
        if not text:
            self.screen.print_line("/query TEXT answers the last question again from another search.", "yellow")
        elif self._has_turns():
            self.chat.ask_again(text)
            self._suggest()

    def _answer_again(self, _: str) -> None:
        if self._has_turns():
            self.chat.ask_again()
            self._suggest()

    def _has_turns(self) -> bool:
        if not self.chat.records:
            self.screen.print_line("Ask a question first.", "yellow")
        return bool(self.chat.records)

    def _switch_rewriting(self, text: str) -> None:
        if text in ("on", "off"):
            self.chat.rewriter.on = text == "on"
        self.screen.print_line(f"Rewriting is {'on' if self.chat.rewriter.on else 'off'}. (/rewrite on|off)")

    def _show_help(self, _: str) -> None:
        lines = [*self.commands.list_help(), ("/1, /2, ...", "ask a suggested question")]
        width = max(len(usage) for usage, _ in lines)
        for usage, text in lines:
            self.screen.print_item(usage.ljust(width), text)
        self.screen.print_line(f"Everything else is a question. {KEYS}")

    def _greet(self) -> None:
        self.suggested = []
        turns = len(self.chat.records)
        so_far = f", {turns} {'turn' if turns == 1 else 'turns'} so far" if turns else ""
        self.screen.print_line(f"Conversation {self.chat.id}{so_far}. Ask away; /help lists the commands.", "dim")


class Switching:
    """Carries out the commands that change the conversation at hand.

    Args:
        chat: the conversation.
        greet: says which conversation it is.
    """

    def __init__(self, chat: ChatConversation, greet: Callable[[], None]) -> None:
        self.chat = chat
        self.screen = chat.screen
        self.conversations = chat.pipeline.conversations
        self._greet = greet

    def list_commands(self) -> Iterator[Command]:
        """Yield the commands."""
        yield Command("list", "", "the conversations that are kept", self.list_conversations)
        yield Command("open", "ID", "go on with one of them", self.open_conversation, self._list_ids)
        yield Command("reset", "", "begin a new conversation; this one is kept", self.start_new)

    def list_conversations(self, _: str) -> None:
        """Show the conversations that were used last, the newest one first."""
        found = self.conversations.list(LISTED)
        for info in found:
            here = " (this one)" if info.id == self.chat.id else ""
            turns = f"{info.turns} {'turn' if info.turns == 1 else 'turns'}"
            self.screen.print_line(f"{info.id}{here}", "bold")
            self.screen.print_line(f"  {info.updated.astimezone():%Y-%m-%d %H:%M}, {turns}: {info.title or '(empty)'}")
        if not found:
            self.screen.print_line("No conversation is kept yet.")

    def open_conversation(self, text: str) -> None:
        """Go on with another conversation, if it was begun with this configuration."""
        session = self.conversations.get(text) if text else None
        if session is None:
            unknown = f"There is no conversation {text}. " if text else ""
            self.screen.print_line(f"{unknown}/open ID goes on with a conversation; /list shows them.", "yellow")
            return
        try:
            check_configuration(session, self.chat.pipeline.configuration)
        except OtherConfiguration as error:
            self.screen.print_line(str(error), "yellow")
            return
        self.chat.go_on_with(session)
        self._greet()

    def start_new(self, _: str) -> None:
        """Begin a new conversation about the same corpus."""
        self.chat.start()
        self._greet()

    def _list_ids(self) -> list[str]:
        return [info.id for info in self.conversations.list(LISTED)]


class FollowUpSuggester:
    """Asks a language model for follow-up questions that the retrieved passages could answer.

    Args:
        llm: the language model. One that fails, as llm=extractive does, is not asked again.
        template: the prompt for the task "suggest".
        count: how many questions.
    """

    def __init__(self, llm: LLM, template: PromptTemplate, count: int) -> None:
        self.llm = llm
        self.template = template
        self.count = count
        self.failed = False

    def suggest(self, record: TurnRecord, show: Callable[[str, str], None]) -> list[str]:
        """Suggest at most `count` different questions; none for a turn without an answer, or where the model fails.

        Args:
            record: the turn that was answered.
            show: prints a line, which says so where the model fails, in a style.
        """
        if self.failed:
            return []
        try:
            return suggest_follow_ups(self.llm, self.template, record, self.count)
        except (RunStopped, DataError):  # the latter: a prompt of the user's
            raise
        except Exception as error:  # of any plugin: the chat goes on
            self.failed = True
            reason = str(error) if isinstance(error, ConvragError) else f"{type(error).__name__}: {error}"
            show(f"No suggestions from here on: {reason}", "dim")
            return []
