"""Reads lines, and does what they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from convrag import RunStopped
from convrag_tasks.chat_session import ChatSession, new_name
from convrag_tasks.chat_transcript import transcript
from convrag_tasks.suggesting import Suggester

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
    """From the first line to the last.

    Args:
        session: the conversation.
        suggester: says what to ask next, if anything.
        folder: where /save writes by default.
    """

    def __init__(self, session: ChatSession, suggester: Suggester | None, folder: Path) -> None:
        self.session = session
        self.screen = session.screen
        self.suggester = suggester
        self.folder = folder
        self.suggested: list[str] = []
        self.commands: dict[str, Callable[[str], None]] = {
            "query": self._query,
            "rewrite": self._rewrite,
            "history": self._history,
            "save": self._save,
            "reset": self._reset,
            "help": lambda _: self.screen.say(HELP),
        }

    def run(self) -> int:
        """Until /quit, the end of the input, or a second interruption; 1 where the run was stopped."""
        self._greet()
        while True:
            try:
                line = self.screen.read()
            except KeyboardInterrupt:
                line = None
            if line in (None, "/quit", "/exit"):
                break
            try:
                self._do(line or "")
            except KeyboardInterrupt:
                self.screen.say("\nInterrupted; this turn is not kept. /quit leaves.", "yellow")
            except RunStopped as error:
                self.screen.say(str(error), "red")
                return 1
        if self.session.conversation.history:
            self.screen.say(f"To go on: task=chat task.conversation={self.session.conversation.id}", "dim")
        return 0

    def _do(self, line: str) -> None:
        name, _, rest = line.removeprefix("/").partition(" ")
        if not line.startswith("/"):
            if line:
                self._ask(line)
        elif name.isdecimal():
            self._pick(int(name))
        elif name in self.commands:
            self.commands[name](rest.strip())
        else:
            self.screen.say(f"There is no command /{name}.\n{HELP}", "yellow")

    def _ask(self, text: str, query: str = "") -> None:
        record = self.session.ask_again(query) if query else self.session.ask(text)
        self.suggested = self.suggester.suggest(record, self.screen.say) if self.suggester else []
        for number, question in enumerate(self.suggested, start=1):
            self.screen.say(f"  /{number} {question}", "green")

    def _pick(self, number: int) -> None:
        if not 1 <= number <= len(self.suggested):
            self.screen.say(f"There is no suggestion {number}.", "yellow")
            return
        self.screen.say(f"> {self.suggested[number - 1]}")
        self._ask(self.suggested[number - 1])

    def _query(self, text: str) -> None:
        if not text or not self.session.conversation.history:
            self.screen.say("Ask a question first; then /query TEXT answers it again from another search.", "yellow")
            return
        self._ask("", text)

    def _rewrite(self, text: str) -> None:
        if text in ("on", "off"):
            self.session.rewriter.on = text == "on"
        self.screen.say(f"Rewriting is {'on' if self.session.rewriter.on else 'off'}. (/rewrite on|off)")

    def _history(self, _: str) -> None:
        for turn in self.session.conversation.history:
            self.screen.say(f"> {turn.question}", "bold")
            self.screen.say(turn.answer or "(no answer)")
        if not self.session.conversation.history:
            self.screen.say("Nothing was said yet.")

    def _save(self, text: str) -> None:
        conversation = self.session.conversation
        path = Path(text).expanduser() if text else self.folder / f"{conversation.id}.md"
        try:
            path.write_text(transcript(conversation), encoding="utf-8")
        except OSError as error:
            self.screen.say(f"It could not be saved: {error}", "red")
            return
        self.screen.say(f"Saved: {path}")

    def _reset(self, _: str) -> None:
        self.session.start(new_name())
        self.suggested = []
        self._greet()

    def _greet(self) -> None:
        conversation = self.session.conversation
        turns = f", {len(conversation.history)} turns so far" if conversation.history else ""
        self.screen.say(f"Conversation {conversation.id}{turns}. Ask away; /help lists the commands.", "dim")
