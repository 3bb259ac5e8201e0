"""The commands that go from one conversation to another."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from convrag.sdk.errors import OtherConfiguration
from convrag.sdk.tasks.configuration import check_configuration
from convrag_tasks.chat.commands import Command
from convrag_tasks.chat.conversation import ChatConversation

LISTED = 20
"""Conversations that /list shows."""


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
