"""Answers for metrics and judges: without citations, cut to a length, beside their references."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from convrag.api.conversations import Conversation, Turn
from convrag.api.passages import Passage
from convrag.api.records import TurnRecord
from convrag.api.stages import Dataset
from convrag.sdk.lazy import Lazy
from convrag.sdk.text.citations import strip_citations
from convrag.sdk.text.tokens import take_words

if TYPE_CHECKING:
    from convrag.sdk.search.corpus import PassageSource
    from convrag.store.store import Store

Citations = Literal["remove", "keep"]


def truncate_words(text: str, max_words: int | None) -> str:
    """Return the first `max_words` words of a text with the space between them; None leaves all."""
    return text if max_words is None else take_words(text, max_words)


def prepare_answer(
    record: TurnRecord, citations: Citations = "remove", max_words: int | None = None
) -> str:
    """Return the answer of a turn as metrics compare it."""
    answer = record.answer.text
    text = strip_citations(answer) if citations == "remove" else answer.strip()
    return truncate_words(text, max_words)


def lacks_part(record: TurnRecord, part: Literal["ranking", "answer", "evidence"]) -> bool:
    """Tell whether a turn has no ranking, answer or evidence that could be measured.

    Either its files have none (task=evaluate), or the run makes no answers (generator=none).
    """
    outcome = record.trace.get("generator", {}).get("outcome")
    if part == "answer" and outcome == "no generator":
        return True
    given = record.trace.get("evaluate", {}).get("given")
    return given is not None and part not in given


def evidence_texts(record: TurnRecord) -> list[str]:
    """List the full texts of the passages in the evidence, each once.

    A hint counts as its passage.
    """
    texts = (item.passage.text or item.text for item in record.evidence.items)
    return list(dict.fromkeys(text for text in texts if text.strip()))


def list_evidence(record: TurnRecord) -> list[Passage]:
    """List the passages in the evidence that have a text, each once, in order."""
    passages = {}
    for item in record.evidence.items:
        if item.passage.text.strip():
            passages[item.passage.id] = item.passage
    return list(passages.values())


def rests_on_few_nuggets(record: TurnRecord, min_nuggets: int) -> bool:
    """Tell whether generator=ginger detected fewer than `min_nuggets` nuggets, by its trace."""
    nuggets = record.trace.get("generator", {}).get("nuggets")
    return nuggets is not None and len(nuggets) < min_nuggets


@dataclass(frozen=True)
class ReferenceTurn:
    """A turn as the data set has it, independent of the system that is judged.

    Args:
        question: as it was asked.
        history: the turns before it, oldest first.
        answer: the reference answer; empty where there is none.
        passages: the passages on which the reference answer rests.
        labels: of the data set ("answerability": "UNANSWERABLE").
    """

    question: str
    history: Sequence[Turn] = ()
    answer: str = ""
    passages: Sequence[Passage] = ()
    labels: Mapping[str, Any] = field(default_factory=dict)

    def prompt_inputs(self) -> dict[str, Any]:
        """Return the inputs that the prompts of all judges have."""
        from convrag.sdk.llm.rewriter import format_exchanges

        return {"question": self.question, "history": format_exchanges(self.history)}


class References:
    """The turns of a data set by id, read when the first is looked up. Thread-safe.

    Args:
        dataset: has the turns.
        store: where passages are looked up; without it, a turn has only the passages that the data
            set names.
    """

    def __init__(self, dataset: Dataset, store: Store | None = None) -> None:
        self._dataset = dataset
        self._store = store
        self._places = Lazy(self._read)
        self._qrels = Lazy(dataset.qrels)
        self._corpora: dict[str, PassageSource | None] = {}
        self._lock = threading.Lock()

    def look_up(self, record: TurnRecord) -> ReferenceTurn:
        """Look up the reference of a record's turn.

        A turn that the data set lacks has the record's own question and labels alone.
        """
        place = self._places().get(record.turn_id)
        if place is None:
            return ReferenceTurn(record.original_query, labels=record.labels)
        conversation, index = place
        turn = conversation.turns[index]
        passages = turn.passages or self._relevant_passages(turn.id, conversation.domain)
        history = (*conversation.history, *conversation.turns[:index])
        return ReferenceTurn(turn.question, history, turn.answer, passages, turn.labels)

    def find_answer(self, record: TurnRecord) -> str:
        """Find the reference answer to a turn; empty where there is none."""
        turn = self._find_turn(record)
        return turn.answer.strip() if turn else ""

    def find_label(self, record: TurnRecord, name: str) -> str:
        """Find a label of the turn in upper case, in the record or else in the data set.

        Args:
            record: the turn.
            name: in lower case with underscores ("question_type"), however the data set writes it.

        Returns:
            The label; empty where neither has it.
        """
        label = _get_label(record.labels, name)
        if label:
            return label
        turn = self._find_turn(record)
        return _get_label(turn.labels, name) if turn else ""

    def has_answers(self) -> bool:
        """Tell whether any turn has a reference answer."""
        return any(turn.answer.strip() for turn in self._list_turns())

    def has_passages(self) -> bool:
        """Tell whether any turn has passages of its own, or there are qrels and a corpus."""
        if any(turn.passages for turn in self._list_turns()):
            return True
        if not self._qrels():
            return False
        return any(
            next(iter(self._dataset.corpus(domain)), None) is not None
            for domain in self._dataset.domains()
        )

    def _read(self) -> Mapping[str, tuple[Conversation, int]]:
        """Map turn ids to their conversation, and their index there."""
        return {
            turn.id: (conversation, index)
            for conversation in self._dataset.conversations()
            for index, turn in enumerate(conversation.turns)
        }

    def _list_turns(self) -> Iterator[Turn]:
        for conversation, index in self._places().values():
            yield conversation.turns[index]

    def _find_turn(self, record: TurnRecord) -> Turn | None:
        place = self._places().get(record.turn_id)
        if place is None:
            return None
        conversation, index = place
        return conversation.turns[index]

    def _relevant_passages(self, turn_id: str, domain: str) -> Sequence[Passage]:
        """Look up the relevant passages of the qrels, the highest grade first, equal ones by id."""
        if self._store is None:
            return ()
        grades = self._qrels().get(turn_id, {})
        relevant = [passage_id for passage_id, grade in grades.items() if grade > 0]
        if not relevant:
            return ()
        with self._lock:
            if domain not in self._corpora:
                from convrag.sdk.search.corpus import open_passages

                self._corpora[domain] = open_passages(self._dataset, domain, self._store)
        corpus = self._corpora[domain]
        if not corpus:
            return ()
        return corpus.get_by_id(sorted(relevant, key=lambda name: (-grades[name], name)))


def _get_label(labels: Mapping[str, Any], name: str) -> str:
    """Return a label in upper case, the first of a list; empty where there is none."""
    for key, value in labels.items():
        if key.casefold().replace(" ", "_").replace("-", "_") != name:
            continue
        first = value[0] if isinstance(value, list | tuple) and value else value
        return str(first or "").strip().upper()
    return ""
