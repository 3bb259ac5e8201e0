"""The answers that are assessed: their words, passages and pairs; and what the data set knows of their turns."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from convrag import Conversation, Dataset, Passage, Store, Turn, TurnRecord
from convrag.sdk.corpus import Corpus
from convrag.sdk.lazy import Lazy
from convrag.sdk.llm_rewriter import format_exchanges

_CITATIONS = re.compile(r"\s*\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\](?=(\w?))")


def has_answer(record: TurnRecord) -> bool:
    """Whether the turn has an answer, which may be empty; task=evaluate may have been given rankings alone."""
    given = record.trace.get("evaluate", {}).get("given")
    return given is None or "answer" in given


def shown_passages(record: TurnRecord) -> list[Passage]:
    """The passages that the system showed its model, each once, in order."""
    return list({item.passage.id: item.passage for item in record.evidence.items if item.passage.text}.values())


def rests_on_few_nuggets(record: TurnRecord, min_nuggets: int) -> bool:
    """Whether the generator's trace (generator=ginger) says that it detected fewer than `min_nuggets` nuggets."""
    nuggets = record.trace.get("generator", {}).get("nuggets")
    return nuggets is not None and len(nuggets) < min_nuggets


def split_words(answer: str) -> list[str]:
    """The words of an answer, separated by white space; citations such as [1] or [2, 3] are not words."""
    return _CITATIONS.sub(lambda found: " " if found[1] else "", answer).split()


def truncate_answer(answer: str, max_words: int | None) -> str:
    """The first `max_words` words of an answer, without citations; an answer that is no longer stays as it is."""
    words = split_words(answer)
    return answer if max_words is None or len(words) <= max_words else " ".join(words[:max_words])


@dataclass(frozen=True)
class ReferenceTurn:
    """A turn as the data set has it: nothing in it depends on the system that is judged."""

    question: str
    history: Sequence[Turn] = ()
    answer: str = ""
    passages: Sequence[Passage] = ()

    def prompt_inputs(self) -> dict[str, Any]:
        """The inputs that all prompts of this package have in common."""
        return {"question": self.question, "history": format_exchanges(self.history)}


class References:
    """The turns of a data set by id, read when the first is looked up. May be used by several threads.

    Args:
        dataset: has the conversations, and the qrels and the corpus where turns have no passages of their own.
        store: where passages of the corpus are looked up; without one, only a turn's own passages are known.
    """

    def __init__(self, dataset: Dataset, store: Store | None = None) -> None:
        self._dataset = dataset
        self._store = store
        self._contents = Lazy(self._read)
        self._corpora: dict[str, Corpus] = {}
        self._lock = threading.Lock()

    def look_up(self, record: TurnRecord) -> ReferenceTurn:
        """The reference of a record's turn; for a turn that the data set lacks, only the record's own question."""
        places, qrels = self._contents()
        if (place := places.get(record.turn_id)) is None:
            return ReferenceTurn(record.original_query)
        conversation, index = place
        turn = conversation.turns[index]
        passages = turn.passages or self._relevant_passages(qrels.get(turn.id, {}), conversation.domain)
        history = (*conversation.history, *conversation.turns[:index])
        return ReferenceTurn(turn.question, history, turn.answer, passages)

    def has_passages(self) -> bool:
        """Whether any turn has passages of its own, or there are qrels and a corpus."""
        places, qrels = self._contents()
        if any(conversation.turns[index].passages for conversation, index in places.values()):
            return True
        domains = self._dataset.domains() if qrels else ()
        return any(True for domain in domains for _ in islice(self._dataset.corpus(domain), 1))

    def _read(self) -> _Contents:
        places = {
            turn.id: (conversation, index)
            for conversation in self._dataset.conversations()
            for index, turn in enumerate(conversation.turns)
        }
        return _Contents(places, self._dataset.qrels())

    def _relevant_passages(self, grades: Mapping[str, int], domain: str) -> Sequence[Passage]:
        """The passages that the qrels call relevant, the highest grade first, equal ones by id."""
        relevant = {passage_id: grade for passage_id, grade in grades.items() if grade > 0}
        if not relevant or self._store is None:
            return ()
        with self._lock:
            if domain not in self._corpora:
                self._corpora[domain] = Corpus(self._dataset, domain, self._store)
        return self._corpora[domain].get_by_id(sorted(relevant, key=lambda name: (-relevant[name], name)))


class _Contents(NamedTuple):
    """The place of each turn (its conversation and its index there) by turn id, and the qrels."""

    places: Mapping[str, tuple[Conversation, int]]
    qrels: Mapping[str, Mapping[str, int]]
