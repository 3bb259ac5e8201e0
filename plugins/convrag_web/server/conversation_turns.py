"""Turns of conversations that are kept: which model a conversation goes on with, and one turn of each at a time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from convrag import Conversations, TurnRecord
from convrag.sdk.errors import OtherConfiguration
from convrag.sdk.streaming import Stream
from convrag.sdk.tasks.configuration import find_differences
from convrag.sdk.tasks.turns import ConversationInfo, Session
from convrag_web.server.errors import RequestError
from convrag_web.server.served_models import ServedModel, ServedModels
from convrag_web.server.turn_runner import RunningTurn, Tell, TurnRunner

BUSY_SECONDS = 10.0
"""How long a request waits for the turn in progress of its conversation: one that was just cancelled ends soon."""

SUGGESTIONS_AT_ONCE = 16
"""How many requests may ask for suggestions at a time; others wait."""


class ConversationTurns:
    """Finds conversations, and takes their turns.

    Args:
        conversations: keeps them.
        models: by name.
        runner: runs the turns.
    """

    def __init__(self, conversations: Conversations, models: ServedModels, runner: TurnRunner) -> None:
        self.conversations = conversations
        self._models = models
        self._runner = runner
        self._suggesting = asyncio.Semaphore(SUGGESTIONS_AT_ONCE)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def find(self, id: str) -> Session:
        """Return a conversation. Raises RequestError where there is none."""
        if (session := self.conversations.get(id)) is None:
            raise RequestError(404, "there is no such conversation", code="not_found")
        return session

    def find_model(self, session: Session | ConversationInfo) -> ServedModel:
        """Return the model that a conversation was begun with: by its name, or the one with the same configuration.

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
        """Return the name of the model that a conversation goes on with, also one that was begun in the terminal.

        Where none can go on with it: the name with which it was begun, empty in the terminal.
        """
        try:
            return self.find_model(info).name
        except OtherConfiguration:
            return info.model

    async def ask(self, id: str, question: str, query: str | None) -> RunningTurn:
        """Start the next turn. Raises RequestError, OtherConfiguration."""

        def take_turn(session: Session, model: ServedModel, tell: Tell) -> TurnRecord:
            return model.pipeline.turn(id, question, query=query, listener=tell, stages=True)

        return await self._start(id, take_turn)

    async def regenerate(self, id: str, query: str | None) -> RunningTurn:
        """Start to answer the last question again. Raises RequestError, OtherConfiguration."""

        def take_turn(session: Session, model: ServedModel, tell: Tell) -> TurnRecord:
            if not session.history:
                raise RequestError(409, "the conversation has no turn yet: ask its first question", code="no_turn")
            return model.pipeline.regenerate(id, query=query, listener=tell, stages=True)

        return await self._start(id, take_turn)

    async def suggest(self, id: str) -> list[str]:
        """Suggest questions to ask next, none before the first turn. The llm's call ends where the client leaves."""

        def ask(_: object) -> list[str]:
            model = self.find_model(self.find(id))
            records = self.conversations.records(id)
            return model.suggest(records[-1]) if records else []

        async with self._suggesting:
            asking = Stream[None, list[str]](ask)
            async for _ in asking:
                pass
        return asking.record

    @asynccontextmanager
    async def hold(self, id: str) -> AsyncIterator[None]:
        """Let no turn of a conversation begin during the block. Raises RequestError where one is in progress."""
        lock = await self._acquire(id)
        try:
            yield
        finally:
            lock.release()

    async def _start(self, id: str, take_turn: Callable[[Session, ServedModel, Tell], TurnRecord]) -> RunningTurn:
        """Start a turn. The conversation is looked for in the turn's thread, which spares a thread of its own."""
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
            text = "a turn of this conversation is in progress; ask again when it has ended"
            raise RequestError(409, text, code="conversation_busy") from None
        return lock
