"""Several conversations at a time, each in a thread. Records come in the data set's order."""

import threading
from collections.abc import Callable, Generator, Sequence

from convrag.api.errors import RunStopped
from convrag.api.records import TurnRecord
from convrag.api.session import Session, to_turn
from convrag.api.types import Conversation
from convrag.config.settings import Settings
from convrag.run.truths import Qrels, add_truth
from convrag.sdk.parallel import call_in_threads
from convrag.sdk.progress import turn_progress
from convrag.turn.pipeline import Pipeline
from convrag.turn.turn import Watch


class ConversationWorkers:
    """Asks a pipeline the questions of conversations; the setting `workers` says how many conversations at a time.

    Records get what the data set says of their turns: labels, reference answers, and relevant passages by `qrels`.
    `stopped` says why a stage stopped the run before the last question. The records until then are yielded.
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

    def records(self, watch: Watch | None = None) -> Generator[TurnRecord]:
        """Yield the records of all turns, conversation by conversation in the data set's order.

        Args:
            watch: who watches the turns; by default the plugins.
        """
        self.pipeline.watch = watch or self.pipeline.watch
        total = sum(len(conversation.turns) for conversation in self.conversations)
        with turn_progress(total) as advance:

            def run(conversation: Conversation) -> list[TurnRecord]:
                return self._run_conversation(conversation, advance)

            with call_in_threads(run, self.conversations, self.settings.workers, "conversation") as results:
                try:
                    for records in results:
                        yield from records
                finally:
                    self._stop.set()

    def _run_conversation(self, conversation: Conversation, advance: Callable[[], None]) -> list[TurnRecord]:
        """Ask the questions of one conversation in order, each with the history that the settings say."""
        session = Session(conversation.id, conversation.domain, profile=conversation.profile)
        for turn in conversation.history:
            session.add_turn(turn)
        records: list[TurnRecord] = []
        for turn in conversation.turns:
            if self._stop.is_set():
                break
            question = session.make_question(turn.question, turn.id, hide_history=self.settings.history == "none")
            try:
                record = self.pipeline.answer(question)
            except RunStopped as error:
                self.stopped = str(error)
                self._stop.set()
                break
            session.add_turn(turn if self.settings.history == "gold" else to_turn(record))
            records.append(add_truth(record, turn, self.qrels))
            advance()
        return records
