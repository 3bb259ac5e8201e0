"""Several conversations at a time, each in a thread; records come in the data set's order.

They are given what it says of their turns: labels, the reference answer, the relevant passages.
"""

import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace

from convrag.api.conversations import Conversation, Turn
from convrag.api.errors import RunStopped
from convrag.api.passages import Passage
from convrag.api.records import TurnRecord
from convrag.api.session import Session, to_turn
from convrag.api.stages import Dataset, Retriever
from convrag.config.settings import Settings
from convrag.sdk.data.simulated import ask_turns, count_turns
from convrag.sdk.output.progress import turn_progress
from convrag.sdk.parallel import call_in_threads
from convrag.sdk.search.corpus import Corpus, PassageSource
from convrag.store.remember import cache_enabled
from convrag.store.store import Store
from convrag.turn.pipeline import Pipeline
from convrag.turn.turn import Audience

MISSED_DEPTH = 1000
"""The rank down to which relevant passages are looked for that a turn has missed."""

Qrels = Mapping[str, Mapping[str, int]]
"""Turn id -> passage id -> grade of relevance."""


def add_truth(record: TurnRecord, turn: Turn, qrels: Qrels) -> TurnRecord:
    """Return the record with the labels, the reference answer and the relevant passages of its
    turn.
    """
    return replace(
        record, labels=turn.labels, reference=turn.answer.strip(), gold=dict(qrels.get(turn.id, {}))
    )


def rank_missed(record: TurnRecord, retriever: Retriever) -> TurnRecord:
    """Return the record with the ranks of the relevant passages that the turn has missed, in the
    retriever's trace.

    A rank is None where the passage is not among the first `MISSED_DEPTH` that the retriever has
    for these queries.
    """
    retrieved = {hit.passage.id for hit in record.hits}
    missed = [name for name, grade in record.gold.items() if grade > 0 and name not in retrieved]
    if not missed or record.error:
        return record
    token = cache_enabled.set(False)
    try:
        hits = retriever.retrieve(record.queries, MISSED_DEPTH)
    except Exception:  # of any plugin: the turn itself has ended well, and its record has no ranks
        return record
    finally:
        cache_enabled.reset(token)
    ranks = {hit.passage.id: rank for rank, hit in enumerate(hits, start=1)}
    told = {
        **record.trace.get("retriever", {}),
        "missed_ranks": {name: ranks.get(name) for name in missed},
    }
    return replace(record, trace={**record.trace, "retriever": told})


def add_truths(records: Iterable[TurnRecord], dataset: Dataset) -> list[TurnRecord]:
    """Return records of finished turns with the reference answers and relevant passages of their
    turns.

    They keep their labels. A turn that the data set does not have keeps all that its record says.
    """
    turns = {turn.id: turn for each in dataset.conversations() for turn in each.turns}
    qrels = dataset.qrels()
    return [
        replace(add_truth(record, turns[record.turn_id], qrels), labels=record.labels)
        if record.turn_id in turns
        else record
        for record in records
    ]


class PassageLookup:
    """Finds passages of a data set by their ids, in the copies of its corpora that the store has
    already.

    Args:
        dataset: has the corpora.
        store: may have copies of them.
    """

    def __init__(self, dataset: Dataset, store: Store) -> None:
        self._dataset = dataset
        self._store = store
        self._corpora: dict[str, PassageSource | None] = {}

    def find(self, domain: str, ids: Sequence[str]) -> list[Passage]:
        """Find passages of a domain; those that the copy does not have are left out, all where
        there is no copy.
        """
        if domain not in self._dataset.domains():
            return []
        if domain not in self._corpora:
            self._corpora[domain] = Corpus.open_copy(self._dataset, domain, self._store)
        corpus = self._corpora[domain]
        return corpus.get_by_id(ids) if corpus else []


class ConversationWorkers:
    """Asks a pipeline the questions of conversations; the setting `workers` says how many
    conversations at a time.

    Records get what the data set says of their turns: labels, reference answers, and relevant
    passages by `qrels`. `stopped` says why a stage stopped the run before the last question. The
    records until then are yielded.
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
            audience: the observers of the turns; by default the plugins.
        """
        self.pipeline.audience = audience or self.pipeline.audience
        with turn_progress(sum(map(count_turns, self.conversations))) as advance:

            def run(conversation: Conversation) -> list[TurnRecord]:
                return self._run_conversation(conversation, advance)

            with call_in_threads(
                run, self.conversations, self.settings.workers, "conversation"
            ) as results:
                try:
                    for records in results:
                        yield from records
                finally:
                    self._stop.set()

    def _run_conversation(
        self, conversation: Conversation, advance: Callable[[], None]
    ) -> list[TurnRecord]:
        """Ask the questions of one conversation in order, each with the history that the settings
        say.
        """
        session = Session(conversation.id, conversation.domain, profile=conversation.profile)
        for turn in conversation.history:
            session.add_turn(turn)
        records: list[TurnRecord] = []
        try:
            for turn in ask_turns(conversation, records):
                if self._stop.is_set():
                    break
                question = session.make_question(
                    turn.question, turn.id, hide_history=self.settings.history == "none"
                )
                record = self.pipeline.answer(question)
                session.add_turn(turn if self.settings.history == "gold" else to_turn(record))
                known = add_truth(record, turn, self.qrels)
                records.append(
                    rank_missed(known, self.pipeline.stages.retriever)
                    if self.settings.report
                    else known
                )
                advance()
        except RunStopped as error:
            self.stopped = str(error)
            self._stop.set()
        return records
