"""`task=chat`: a conversation at the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from omegaconf import DictConfig

from convrag import ConfigError, PromptTemplate, Task, UnknownName


class ChatTask(Task):
    """Talk at the terminal: see each query before it is searched for, the sources, and what to ask next.

    Type a question, or a command: /help lists them. Conversations are kept in conversations.db in the store's
    folder, and can be taken up again by their ids, with the configuration that they began with. Lines may also be
    piped in.

    Args:
        conversation: id of the conversation to take up again, or the name of a new one; None begins one with a name of
            its own.
        suggestions: follow-up questions that the llm suggests after each answer; 0 asks for none and costs nothing.
        confirm: wait before each search, so that the query can be replaced.
        domain: the corpus to talk about; needed where the data set has more than one.
        show: trace shows below each answer what the rewriter did and why (the gate's reasons), what was searched for,
            how many passages were found and shown, tokens by part of the prompt, seconds.
        prompt: a Jinja file to use instead of this package's suggest.jinja; it is given `question`, `answer`, `titles`
            (of passages that were found and not cited) and `count`.

    Raises:
        ConfigError: suggestions is negative.
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(
        self,
        *,
        conversation: str | None = None,
        suggestions: int = 3,
        confirm: bool = False,
        domain: str | None = None,
        show: Literal["trace"] | None = None,
        prompt: Path | None = None,
    ) -> None:
        if suggestions < 0:
            raise ConfigError(f"task.suggestions={suggestions}: it must be at least 0")
        self.conversation = conversation
        self.suggestions = suggestions
        self.confirm = confirm
        self.domain = domain
        self.show = show
        self.template = PromptTemplate("suggest", package="convrag_tasks", path=prompt)
        self.prompt_templates = (self.template,)

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Read questions and answer them until /quit or the end of the input; 1 where the run was stopped."""
        from convrag import Conversations, Pipeline
        from convrag.config.compose import settings_of
        from convrag.turn.configuration import check_configuration
        from convrag.turn.wiring import Wiring
        from convrag_tasks.chat_conversation import ChatConversation, make_conversation_id
        from convrag_tasks.chat_follow_ups import FollowUpSuggester
        from convrag_tasks.chat_loop import ChatLoop
        from convrag_tasks.chat_terminal import Terminal

        wiring = Wiring(config)
        conversations = Conversations(wiring.store.path / "conversations.db")
        pipeline = Pipeline.from_wiring(wiring, settings_of(config), conversations)
        llm = wiring.get("llm") if self.suggestions else None
        wiring.check()
        conversation_id = self.conversation or make_conversation_id()
        existing = conversations.get(conversation_id)
        if existing:
            check_configuration(existing, pipeline.configuration)
        domain = self._choose_domain(existing.domain if existing else self.domain, pipeline.domains)
        wiring.prepare()

        chat = ChatConversation(
            pipeline,
            Terminal(confirm=self.confirm, trace=self.show == "trace"),
            conversations.begin(conversation_id, domain, configuration=pipeline.configuration),
        )
        suggester = FollowUpSuggester(llm, self.template, self.suggestions) if llm else None
        return ChatLoop(chat, suggester, folder).run()

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
