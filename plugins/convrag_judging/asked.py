"""What was asked in a turn, and which passages a good answer draws upon: as the data set has them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from convrag import Dataset, Passage, Store, Turn, TurnRecord
from convrag.sdk.corpus import Corpus
from convrag.sdk.llm_rewriter import format_exchanges


@dataclass(frozen=True)
class Asked:
    """A user's question with what was said before it in the data set, whatever a system made of it."""

    question: str
    history: Sequence[Turn] = ()
    reference: str = ""
    passages: Sequence[Passage] = ()

    def inputs(self) -> dict[str, Any]:
        """What the prompts of this package are given of it."""
        return {"question": self.question, "history": format_exchanges(self.history)}


@dataclass
class Script:
    """The turns of a data set by id, read when the first is asked for."""

    dataset: Dataset
    store: Store | None = None
    _places: dict[str, tuple[Sequence[Turn], int, str]] | None = None
    _qrels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    _corpora: dict[str, Corpus] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def asked(self, record: TurnRecord) -> Asked:
        """What the data set has of a record's turn; of a turn that is not in it, the record's own question."""
        if (place := self._read().get(record.turn_id)) is None:
            return Asked(record.original_query)
        turns, index, domain = place
        turn = turns[index]
        return Asked(turn.question, turns[:index], turn.answer, turn.passages or self._relevant(turn.id, domain))

    def has_passages(self) -> bool:
        """Whether any turn has reference passages of its own, or qrels name some of a corpus that is there."""
        if any(turns[index].passages for turns, index, _ in self._read().values()):
            return True
        domains = self.dataset.domains() if self._qrels else ()
        return any(True for domain in domains for _ in islice(self.dataset.corpus(domain), 1))

    def _read(self) -> dict[str, tuple[Sequence[Turn], int, str]]:
        with self._lock:
            if self._places is None:
                self._places = {
                    turn.id: (conversation.turns, index, conversation.domain)
                    for conversation in self.dataset.conversations()
                    for index, turn in enumerate(conversation.turns)
                }
                self._qrels = self.dataset.qrels()
            return self._places

    def _relevant(self, turn_id: str, domain: str) -> Sequence[Passage]:
        """The passages that the judgements call relevant, the most relevant first."""
        grades = {name: grade for name, grade in self._qrels.get(turn_id, {}).items() if grade > 0}
        if not grades or self.store is None:
            return ()
        with self._lock:
            if domain not in self._corpora:
                self._corpora[domain] = Corpus(self.dataset, domain, self.store)
        return self._corpora[domain].by_id(sorted(grades, key=lambda name: (-grades[name], name)))


def shown(record: TurnRecord) -> list[Passage]:
    """The passages that a system showed its model, each once."""
    return list({item.passage.id: item.passage for item in record.evidence.items if item.passage.text}.values())


def has_answer(record: TurnRecord) -> bool:
    """Whether there is an answer to be judged, be it empty: task=evaluate may have been given rankings alone."""
    given = record.trace.get("evaluate", {}).get("given")
    return given is None or "answer" in given
