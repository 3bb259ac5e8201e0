"""`task=chat`: a conversation at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from omegaconf import DictConfig

from convrag import ConfigError, PromptTemplate, Task, UnknownName

if TYPE_CHECKING:
    from convrag_tasks.chat.line_input import LineReader


class ChatTask(Task):
    """Talk at the terminal: see each query before it is searched for, the sources, and what to ask next.

    Type a question, or a command: /help lists them. Each conversation is kept in a database, from which it goes on by
    its id, with the data set and the configuration that it was begun with. Lines may also be piped in.

    Args:
        conversation: id of the conversation to go on with, or the name of a new one; None begins one with a name of its
            own.
        conversations: the database of the conversations: an SQLite file, or an address as SQLAlchemy has it
            (postgresql+psycopg://user@host/database); None is the file conversations.db in the folder of the store.
        suggestions: follow-up questions that the llm suggests after each answer; 0 asks for none and costs nothing.
        confirm: wait before each search, so that the query can be replaced.
        domain: the corpus to talk about; needed where the data set has more than one.
        show: trace shows below each answer what the rewriter did and why (the gate's reasons), what was searched for,
            how many passages were found and shown, tokens by part of the prompt, seconds.
        prompt: a Jinja file to use instead of convrag.sdk's suggest.jinja; it is given `question`, `answer`, `titles`
            (of passages that were found and not cited) and `count`.

    Raises:
        ConfigError: suggestions is negative.
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(
        self,
        *,
        conversation: str | None = None,
        conversations: str | None = None,
        suggestions: int = 3,
        confirm: bool = False,
        domain: str | None = None,
        show: Literal["trace"] | None = None,
        prompt: Path | None = None,
    ) -> None:
        if suggestions < 0:
            raise ConfigError(f"task.suggestions={suggestions}: it must be at least 0")
        self.conversation = conversation
        self.conversations = conversations
        self.suggestions = suggestions
        self.confirm = confirm
        self.domain = domain
        self.show = show
        self.template = PromptTemplate("suggest", package="convrag.sdk", path=prompt)
        self.prompt_templates = (self.template,)

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Read questions and answer them until /quit or the end of the input; 1 where the run was stopped."""
        from convrag import Conversations, Pipeline
        from convrag.sdk.tasks.configuration import check_configuration, settings_of
        from convrag.sdk.tasks.turns import Wiring, ending_conversations
        from convrag_tasks.chat.conversation import ChatConversation, make_conversation_id
        from convrag_tasks.chat.follow_ups import FollowUpSuggester
        from convrag_tasks.chat.inspection import Inspection
        from convrag_tasks.chat.line_input import make_reader
        from convrag_tasks.chat.loop import ChatLoop
        from convrag_tasks.chat.resume_command import format_resume_command
        from convrag_tasks.chat.screen import Screen

        wiring = Wiring(config)
        conversations = Conversations(self.conversations or wiring.store.path / "conversations.db")
        pipeline = Pipeline.for_conversations(wiring, settings_of(config), conversations)
        llm = wiring.get("llm") if self.suggestions else None
        wiring.check()
        conversation_id = self.conversation or make_conversation_id()
        if existing := conversations.get(conversation_id):
            check_configuration(existing, pipeline.configuration)
        domain = self._choose_domain(existing.domain if existing else self.domain, pipeline.domains)
        wiring.prepare()

        screen = Screen(trace=self.show == "trace")
        reader = make_reader(wiring.store.path / "chat_history", lambda: loop.commands, plain=screen.is_plain)
        read_query = partial(_read_query, reader) if self.confirm else None
        session = conversations.begin(conversation_id, domain, configuration=pipeline.configuration)
        chat = ChatConversation(pipeline, screen, session, read_query)
        suggester = FollowUpSuggester(llm, self.template, self.suggestions) if llm else None
        loop = ChatLoop(chat, suggester, Inspection(chat, folder))
        with ending_conversations([pipeline.watch.observers], lambda line: screen.print_line(line, "dim")):
            status = loop.run(reader)
        if chat.records:
            screen.print_line("To go on:", "dim")
            screen.print_command(format_resume_command(sys.orig_argv, sys.argv[1:], chat.id))
        return status

    def _choose_domain(self, domain: str | None, known: Sequence[str]) -> str:
        """The corpus to talk about. Raises ConfigError where it is unknown, not chosen, or not the conversation's."""
        if domain is None and len(known) > 1:
            raise ConfigError(f"task.domain=...: choose the corpus to talk about: {', '.join(known)}")
        chosen = known[0] if domain is None else domain
        if chosen not in known:
            raise UnknownName("task.domain: corpus", chosen, known)
        if self.domain not in (None, chosen):
            raise ConfigError(f"task.domain={self.domain}: this conversation is about {chosen}; begin another one")
        return chosen


def _read_query(reader: LineReader) -> str:
    """Read what to search for instead of the query that is shown; empty for that one."""
    return (reader.read("Enter to search, or type another query: ") or "").removeprefix("/query ").strip()
