"""Stored conversations, and their turns: one turn of a conversation at a time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from secrets import token_hex
from weakref import WeakValueDictionary

from convrag import Conversations, TurnRecord
from convrag.sdk.errors import OtherConfiguration
from convrag.sdk.llm.streaming import Stream
from convrag.sdk.tasks.configuration import find_differences
from convrag.sdk.tasks.turns import ConversationInfo, Session
from convrag_web.server.errors import RequestError
from convrag_web.server.running_turn import RunningTurn, Tell
from convrag_web.server.served_model import ServedModel
from convrag_web.server.served_models import ServedModels
from convrag_web.server.turn_runner import TurnRunner

BUSY_SECONDS = 10.0
"""Seconds that a request waits for another turn of its conversation, which may just be ending."""

SUGGESTIONS_AT_ONCE = 16
"""The number of requests that may ask for suggestions at a time; others wait."""

TakeTurn = Callable[[Session, ServedModel, Tell], TurnRecord]


class ConversationTurns:
    """Finds conversations and their models, and takes their turns.

    Args:
        conversations: stores the conversations.
        models: the models by name.
        runner: runs the turns.
    """

    def __init__(
        self, conversations: Conversations, models: ServedModels, runner: TurnRunner
    ) -> None:
        self.conversations = conversations
        self._models = models
        self._runner = runner
        self._suggestion_slots = asyncio.Semaphore(SUGGESTIONS_AT_ONCE)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def find(self, id: str) -> Session:
        """Return a conversation. Raises RequestError if there is none."""
        session = self.conversations.get(id)
        if session is None:
            raise RequestError(404, "there is no such conversation", code="not_found")
        return session

    def find_record(self, id: str, number: int) -> TurnRecord:
        """Return the record of a turn, counted from 1. Raises RequestError if there is none."""
        self.find(id)
        record = self.conversations.find_record(id, number)
        if record is None:
            raise RequestError(404, "there is no such turn", code="not_found")
        return record

    def find_model(self, session: Session | ConversationInfo) -> ServedModel:
        """Return the model of a conversation: by its name, or one with the same configuration.

        Raises:
            OtherConfiguration: none of the models has its configuration.
        """
        if session.model in self._models:
            return self._models[session.model]
        differences = []
        for model in self._models.values():
            differences = find_differences(session.configuration, model.pipeline.configuration)
            if not differences:
                return model
        raise OtherConfiguration(session.id, differences)

    def name_model(self, info: ConversationInfo) -> str:
        """Return the name of the model that continues a conversation.

        If none can, it is the name with which the conversation began; empty in the terminal.
        """
        try:
            return self.find_model(info).name
        except OtherConfiguration:
            return info.model

    def can_go_on(self, info: ConversationInfo) -> bool:
        """Return whether the conversation's model still has the configuration it began with."""
        try:
            model = self.find_model(info)
        except OtherConfiguration:
            return False
        return not find_differences(info.configuration, model.pipeline.configuration)

    def begin(self, model: ServedModel, domain: str) -> Session:
        """Begin a conversation."""
        id = f"{datetime.now():%Y%m%d-%H%M%S}-{token_hex(4)}"
        return self.conversations.open(
            id, domain, configuration=model.pipeline.configuration, model=model.name
        )

    async def ask(
        self,
        id: str,
        question: str,
        query: str | None,
        *,
        filter: str | None = None,
        number: int | None = None,
    ) -> RunningTurn:
        """Start the next turn of a conversation.

        Args:
            id: the conversation's id.
            question: the question.
            query: the query to search for; None for a rewrite of the question.
            filter: the condition on the fields of passages; None for none.
            number: the number that the turn must get; None for any.

        Raises:
            RequestError: the conversation is busy, or too many turns wait.
        """

        def take_turn(session: Session, model: ServedModel, tell: Tell) -> TurnRecord:
            if number is not None and number != self.conversations.count_turns(id) + 1:
                message = "the conversation has gone on meanwhile; send the request again"
                raise RequestError(409, message, code="conversation_changed")
            return model.pipeline.turn(
                id, question, query=query, filter=filter, listener=tell, stages=True
            )

        return await self._start(id, take_turn)

    async def regenerate(self, id: str, query: str | None, filter: str | None) -> RunningTurn:
        """Start to answer the last question again; arguments and errors are those of `ask`."""

        def take_turn(session: Session, model: ServedModel, tell: Tell) -> TurnRecord:
            if not session.history:
                message = "the conversation has no turn yet: ask its first question"
                raise RequestError(409, message, code="no_turn")
            return model.pipeline.regenerate(
                id, query=query, filter=filter, listener=tell, stages=True
            )

        return await self._start(id, take_turn)

    async def suggest(self, id: str) -> list[str]:
        """Suggest questions to ask next; none before the first turn.

        The call of the llm ends when the client leaves, and after the time that a turn may take.
        """

        def ask_llm(_: object) -> list[str]:
            model = self.find_model(self.find(id))
            last = self.conversations.find_record(id, 0)
            return [] if last is None else model.suggest(last)

        suggesting = Stream[None, list[str]](ask_llm)
        async with self._suggestion_slots:
            try:
                async with asyncio.timeout(self._runner.seconds):
                    async for _ in suggesting:
                        pass
            except TimeoutError:
                self._runner.lost.add(suggesting)
                message = "the suggestions took too long (task.timeout)"
                raise RequestError(504, message, code="turn_timeout") from None
        return suggesting.record

    @asynccontextmanager
    async def hold(self, id: str) -> AsyncIterator[None]:
        """Let no turn of a conversation begin during the block.

        Raises:
            RequestError: a turn is in progress.
        """
        lock = await self._acquire(id)
        try:
            yield
        finally:
            lock.release()

    async def _start(self, id: str, take_turn: TakeTurn) -> RunningTurn:
        """Start a turn; its thread also looks up the conversation, which reads a database."""
        lock = await self._acquire(id)
        name = ""

        def find_and_take_turn(tell: Tell) -> TurnRecord:
            nonlocal name
            session = self.find(id)
            model = self.find_model(session)
            name = model.name
            return take_turn(session, model, tell)

        return await self._runner.start(find_and_take_turn, lambda: name, on_end=lock.release)

    async def _acquire(self, id: str) -> asyncio.Lock:
        lock = self._locks.setdefault(id, asyncio.Lock())
        try:
            async with asyncio.timeout(BUSY_SECONDS):
                await lock.acquire()
        except TimeoutError:
            message = "a turn of this conversation is in progress; ask again when it has ended"
            raise RequestError(409, message, code="conversation_busy") from None
        return lock
