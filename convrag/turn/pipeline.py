"""Stages put together: conversations are asked and answered through a Pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from convrag.api.errors import UnknownName
from convrag.api.records import TurnRecord
from convrag.api.stages import Context, Generator, Ranker, Retriever, Rewriter
from convrag.api.types import Question, Rewrite
from convrag.config.compose import compose, settings_of
from convrag.config.settings import Settings
from convrag.store.streaming import Stream
from convrag.turn.logs import WarnOnce
from convrag.turn.session import Conversations, Session, to_turn
from convrag.turn.turn import Listener, Plan, Stages, TurnInProgress
from convrag.turn.wiring import Wiring


class Pipeline:
    """Answers questions, one turn at a time; conversations may go on side by side, from several threads.

        chat = Pipeline.compose("rewriter=full_history", "llm=extractive")
        record = chat.turn("my-conversation", "What is BERT?")

    Args:
        rewriter: makes the question stand alone.
        retriever: finds passages.
        reranker: puts them in a better order.
        context: decides what of them the model sees.
        generator: answers.
        settings: how many passages to retrieve and to show.
        domains: the corpora that a conversation can be about.
        conversations: where they are held; by default all of them in memory.
    """

    def __init__(
        self,
        *,
        rewriter: Rewriter,
        retriever: Retriever,
        reranker: Ranker,
        context: Context,
        generator: Generator,
        settings: Settings | None = None,
        domains: Sequence[str] = ("default",),
        conversations: Conversations | None = None,
    ) -> None:
        self.stages = Stages(rewriter, retriever, reranker, context, generator)
        self.settings = settings or Settings()
        self.domains = tuple(domains)
        self.conversations = Conversations() if conversations is None else conversations
        self._warnings = WarnOnce()

    @classmethod
    def compose(cls, *overrides: str, conversations: Conversations | None = None) -> Pipeline:
        """The pipeline that the command would run with these overrides, checked and ready.

        Args:
            overrides: as on the command line.
            conversations: where they are held; `Conversations(folder)` keeps them on disk.

        Raises:
            ConfigError: something cannot be chosen or set.
            NotReady: something is missing: a key, a file, an extra.
        """
        config = compose(*overrides)
        wiring = Wiring(config)
        pipeline = cls.wired(wiring, settings_of(config), conversations)
        wiring.check()
        wiring.prepare()
        return pipeline

    @classmethod
    def wired(cls, wiring: Wiring, settings: Settings, conversations: Conversations | None = None) -> Pipeline:
        """The pipeline of a wiring, not yet checked."""
        stages = {group: wiring.get(group) for group in Stages._fields}
        domains = wiring.get("dataset").domains()
        return cls(**stages, settings=settings, domains=domains, conversations=conversations)

    def turn(
        self,
        conversation_id: str,
        text: str,
        *,
        domain: str | None = None,
        query: str | None = None,
        top_k: int | None = None,
        generate: bool = True,
        listener: Listener | None = None,
    ) -> TurnRecord:
        """Ask the next question of a conversation; a new id begins a new one.

        A turn that fails is a record with an `error`; the conversation goes on.

        Args:
            conversation_id: any name; equal names share their history.
            text: what the user says.
            domain: the corpus that a new conversation is about; needed where there is more than one.
            query: what to search for, instead of a rewrite of `text`.
            top_k: passages to retrieve in this turn, and to show; otherwise as in the settings.
            generate: whether to answer; without, the turn ends with its evidence.
            listener: is called with the pieces of the answer as they come.
        """
        conversation = self._open(conversation_id, domain)
        plan = Plan(query=query, top_k=top_k, generate=generate, listener=listener)
        with conversation.lock:
            record = self.answer(self._question(conversation, text), plan)
            conversation.add(to_turn(record))
            self.conversations.save(conversation)
        return record

    def stream(self, conversation_id: str, text: str, **options: Any) -> Stream[TurnRecord]:
        """As `turn`, but to be iterated over: the pieces of the answer as they come; then it has the `record`."""
        return Stream(lambda listener: self.turn(conversation_id, text, listener=listener, **options))

    def rewrite(self, conversation_id: str, text: str, *, domain: str | None = None) -> Rewrite:
        """What the next turn of a conversation would search for. The conversation stays as it is."""
        conversation = self._open(conversation_id, domain)
        with conversation.lock:
            return self._turn(self._question(conversation, text), Plan()).rewrite()

    def reset(self, conversation_id: str) -> None:
        """Forget a conversation; an unknown id is nothing to forget."""
        self.conversations.reset(conversation_id)

    def answer(self, question: Question, plan: Plan | None = None) -> TurnRecord:
        """Answer one question from its own history, keeping nothing. Raises RunStopped, and nothing else."""
        return self._turn(question, plan or Plan()).run()

    def _turn(self, question: Question, plan: Plan) -> TurnInProgress:
        return TurnInProgress(question, self.stages, self.settings, self._warnings, plan)

    def _question(self, conversation: Session, text: str) -> Question:
        return conversation.question(text, blind=self.settings.history == "none")

    def _open(self, conversation_id: str, domain: str | None) -> Session:
        """The conversation of that id, be it new. Raises UnknownName for a domain that is not there, or not said."""
        if known := self.conversations.get(conversation_id):
            return known
        if domain is None and len(self.domains) == 1:
            domain = self.domains[0]
        if domain not in self.domains:
            raise UnknownName("domain", str(domain), self.domains)
        return self.conversations.open(conversation_id, domain)
