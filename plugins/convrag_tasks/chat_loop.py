"""The loop of a chat: reads lines, and answers questions or carries out commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from convrag import ConversationChanged, ConversationsUnusable, RunStopped
from convrag.cli.signals import resume
from convrag.store.atomic import write_atomically
from convrag.store.file_names import encode_name
from convrag_tasks.chat_conversation import ChatConversation, format_transcript, make_conversation_id
from convrag_tasks.chat_follow_ups import FollowUpSuggester

HELP = """\
/query TEXT     answer the last question again from what is found for TEXT
/rewrite on|off whether questions are rewritten before the search
/1, /2, ...     ask a suggested question
/history        show the conversation
/save [FILE]    write the conversation as Markdown
/reset          begin a new conversation; this one stays on disk
/help           show this
/quit           leave; the end of the input does the same
Everything else is a question."""


class ChatLoop:
    """Reads lines until the user leaves.

    Args:
        chat: the conversation.
        suggester: suggests follow-up questions; None for none.
        folder: where /save writes by default.
    """

    def __init__(self, chat: ChatConversation, suggester: FollowUpSuggester | None, folder: Path) -> None:
        self.chat = chat
        self.terminal = chat.terminal
        self.suggester = suggester
        self.folder = folder
        self.suggested: list[str] = []
        self.commands: dict[str, Callable[[str], None]] = {
            "query": self._answer_again,
            "rewrite": self._switch_rewriting,
            "history": self._show_history,
            "save": self._save_transcript,
            "reset": self._start_new,
            "help": lambda _: self.terminal.print_line(HELP),
        }

    def run(self) -> int:
        """Read lines until /quit, the end of the input, or an interrupt at the prompt; 1 where the run was stopped."""
        self._greet()
        while True:
            try:
                line = self.terminal.read_line()
            except KeyboardInterrupt:
                line = None
            if line in (None, "/quit", "/exit"):
                break
            try:
                self._handle_line(line or "")
            except KeyboardInterrupt:
                resume()
                self.terminal.print_line("\nInterrupted; this turn is not kept. /quit leaves.", "yellow")
            except RunStopped as error:
                self.terminal.print_line(str(error), "red")
                return 1
            except (ConversationChanged, ConversationsUnusable) as error:
                self.terminal.print_line(f"This turn is not kept: {error}", "red")
        if self.chat.conversation.history:
            self.terminal.print_line(f"To go on: task=chat task.conversation={self.chat.conversation.id}", "dim")
        return 0

    def _handle_line(self, line: str) -> None:
        name, _, rest = line.removeprefix("/").partition(" ")
        if not line.startswith("/"):
            if line:
                self._ask(line)
        elif name.isdecimal():
            self._ask_suggestion(int(name))
        elif name in self.commands:
            self.commands[name](rest.strip())
        else:
            self.terminal.print_line(f"There is no command /{name}.\n{HELP}", "yellow")

    def _ask(self, text: str, query: str = "") -> None:
        record = self.chat.ask_again(query) if query else self.chat.ask(text)
        self.suggested = self.suggester.suggest(record, self.terminal.print_line) if self.suggester else []
        for number, question in enumerate(self.suggested, start=1):
            self.terminal.print_line(f"  /{number} {question}", "green")

    def _ask_suggestion(self, number: int) -> None:
        if not 1 <= number <= len(self.suggested):
            self.terminal.print_line(f"There is no suggestion {number}.", "yellow")
            return
        self.terminal.print_line(f"> {self.suggested[number - 1]}")
        self._ask(self.suggested[number - 1])

    def _answer_again(self, text: str) -> None:
        if not text or not self.chat.conversation.history:
            self.terminal.print_line(
                "Ask a question first; then /query TEXT answers it again from another search.", "yellow"
            )
            return
        self._ask("", text)

    def _switch_rewriting(self, text: str) -> None:
        if text in ("on", "off"):
            self.chat.rewriter.on = text == "on"
        self.terminal.print_line(f"Rewriting is {'on' if self.chat.rewriter.on else 'off'}. (/rewrite on|off)")

    def _show_history(self, _: str) -> None:
        for turn in self.chat.conversation.history:
            self.terminal.print_line(f"> {turn.question}", "bold")
            self.terminal.print_line(turn.answer or "(no answer)")
        if not self.chat.conversation.history:
            self.terminal.print_line("Nothing was said yet.")

    def _save_transcript(self, text: str) -> None:
        conversation = self.chat.conversation
        path = Path(text).expanduser() if text else self.folder / f"{encode_name(conversation.id)}.md"
        try:
            write_atomically(path, format_transcript(conversation))
        except OSError as error:
            self.terminal.print_line(f"It could not be saved: {error}", "red")
            return
        self.terminal.print_line(f"Saved: {path}")

    def _start_new(self, _: str) -> None:
        self.chat.start(make_conversation_id())
        self.suggested = []
        self._greet()

    def _greet(self) -> None:
        conversation = self.chat.conversation
        turns = f", {len(conversation.history)} turns so far" if conversation.history else ""
        self.terminal.print_line(f"Conversation {conversation.id}{turns}. Ask away; /help lists the commands.", "dim")
