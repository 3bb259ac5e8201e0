"""Several conversations at a time, each in a thread; records come in the data set's order."""

import threading
from collections.abc import Callable, Generator, Sequence

from convrag.api.conversations import Conversation, Turn
from convrag.api.errors import RunStopped
from convrag.api.records import TurnRecord
from convrag.api.session import Session, to_turn
from convrag.config.settings import Settings
from convrag.run.truths import Qrels, add_truth, rank_missed
from convrag.sdk.data.simulated import ask_turns, count_turns
from convrag.sdk.output.progress import turn_progress
from convrag.sdk.parallel import call_in_threads
from convrag.turn.pipeline import Pipeline
from convrag.turn.turn import Audience


class ConversationWorkers:
    """Asks a pipeline the questions of conversations, several conversations at a time.

    Records get the truths of their turns (see `truths`). If a stage stops the run before the last
    question, `stopped` says why, and the records until then are yielded.

    Args:
        pipeline: answers the questions.
        conversations: the conversations.
        settings: how many conversations at a time, and which history turns see.
        qrels: the relevant passages of turns.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        conversations: Sequence[Conversation],
        settings: Settings,
        qrels: Qrels | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.conversations = conversations
        self.settings = settings
        self.qrels = qrels or {}
        self.stopped = ""
        self._stop = threading.Event()

    def records(self, audience: Audience | None = None) -> Generator[TurnRecord]:
        """Yield the records of all turns, conversation by conversation in the data set's order.

        Args:
            audience: observes the turns; by default the plugins do.
        """
        if audience:
            self.pipeline.audience = audience
        turns = sum(map(count_turns, self.conversations))
        with turn_progress(turns) as advance:

            def run(conversation: Conversation) -> list[TurnRecord]:
                return self._run_conversation(conversation, advance)

            workers = self.settings.workers
            with call_in_threads(run, self.conversations, workers, "conversation") as results:
                try:
                    for records in results:
                        yield from records
                finally:
                    self._stop.set()

    def _run_conversation(
        self, conversation: Conversation, advance: Callable[[], None]
    ) -> list[TurnRecord]:
        """Ask the questions of one conversation in order, with the history of the settings."""
        session = Session(conversation.id, conversation.domain, profile=conversation.profile)
        for turn in conversation.history:
            session.add_turn(turn)
        records: list[TurnRecord] = []
        try:
            for turn in ask_turns(conversation, records):
                if self._stop.is_set():
                    break
                records.append(self._ask(session, turn))
                advance()
        except RunStopped as error:
            self.stopped = str(error)
            self._stop.set()
        return records

    def _ask(self, session: Session, turn: Turn) -> TurnRecord:
        """Ask the question of a turn, add it to the history, and return its record with truths."""
        question = session.make_question(
            turn.question, turn.id, hide_history=self.settings.history == "none"
        )
        record = self.pipeline.answer(question)
        session.add_turn(turn if self.settings.history == "gold" else to_turn(record))
        record = add_truth(record, turn, self.qrels)
        if self.settings.report:
            record = rank_missed(record, self.pipeline.stages.retriever)
        return record
