"""Conversations side by side: the turns of each in order, the records in the data set's order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from convrag.api.errors import RunStopped
from convrag.api.records import TurnRecord
from convrag.api.types import Conversation
from convrag.config.settings import Settings
from convrag.sdk.progress import turn_progress
from convrag.turn.pipeline import Pipeline
from convrag.turn.session import Session, to_turn


class ConversationWorkers:
    """Asks a pipeline all the questions of these conversations, so many conversations at a time as there are workers.

    `stopped` says why it ended before the last question; what was done until then was yielded.
    """

    def __init__(self, pipeline: Pipeline, conversations: Sequence[Conversation], settings: Settings) -> None:
        self.pipeline = pipeline
        self.conversations = conversations
        self.settings = settings
        self.stopped = ""
        self._stop = threading.Event()

    def records(self) -> Iterator[TurnRecord]:
        """The records of all turns, conversation by conversation, whichever is done first."""
        waiting: deque[Future[list[TurnRecord]]] = deque()
        pool = ThreadPoolExecutor(self.settings.workers, thread_name_prefix="conversation")
        try:
            with turn_progress(sum(len(conversation.turns) for conversation in self.conversations)) as advance:
                for conversation in self.conversations:
                    waiting.append(pool.submit(self._converse, conversation, advance))
                    if len(waiting) > 2 * self.settings.workers:
                        yield from waiting.popleft().result()
                while waiting:
                    yield from waiting.popleft().result()
        finally:
            self._stop.set()
            pool.shutdown(cancel_futures=True)

    def _converse(self, conversation: Conversation, advance: Callable[[], None]) -> list[TurnRecord]:
        """The turns of one conversation, each with the history that the settings give it."""
        going = Session(conversation.id, conversation.domain)
        records: list[TurnRecord] = []
        for turn in conversation.turns:
            if self._stop.is_set():
                break
            question = going.make_question(turn.question, turn.id, hide_history=self.settings.history == "none")
            try:
                record = self.pipeline.answer(question)
            except RunStopped as error:
                self.stopped = str(error)
                self._stop.set()
                break
            going.add_turn(turn if self.settings.history == "gold" else to_turn(record))
            records.append(replace(record, labels=turn.labels))
            advance()
        return records
