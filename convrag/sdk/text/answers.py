"""The answers that metrics compare or have judged, and what the data set knows of their turns."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from convrag.api.conversations import Conversation, Turn
from convrag.api.passages import Passage
from convrag.api.records import TurnRecord
from convrag.api.stages import Dataset
from convrag.sdk.lazy import Lazy
from convrag.sdk.text.citations import strip_citations

if TYPE_CHECKING:
    from convrag.sdk.search.corpus import PassageSource
    from convrag.store.store import Store

Citations = Literal["remove", "keep"]


def truncate_words(text: str, max_words: int | None) -> str:
    """The first `max_words` words of a text, with the white space between them; None leaves all."""
    if max_words is None:
        return text
    ends = [
        match.end() for _, match in zip(range(max_words), re.finditer(r"\S+", text), strict=False)
    ]
    return text[: ends[-1]] if ends else ""


def prepare_answer(
    record: TurnRecord, citations: Citations = "remove", max_words: int | None = None
) -> str:
    """The answer of a turn as it is compared."""
    answer = record.answer.text
    return truncate_words(
        strip_citations(answer) if citations == "remove" else answer.strip(), max_words
    )


def lacks_part(record: TurnRecord, part: Literal["ranking", "answer", "evidence"]) -> bool:
    """Whether a turn has no ranking, answer or evidence that could be measured.

    Either its files have none (task=evaluate), or the run makes no answers (generator=none).
    """
    given = record.trace.get("evaluate", {}).get("given")
    makes_none = (
        part == "answer" and record.trace.get("generator", {}).get("outcome") == "no generator"
    )
    return makes_none or (given is not None and part not in given)


def evidence_texts(record: TurnRecord) -> list[str]:
    """The full texts of the passages in the evidence, each once; for a hint the passage that it
    stands for.
    """
    texts = (item.passage.text or item.text for item in record.evidence.items)
    return list(dict.fromkeys(text for text in texts if text.strip()))


def list_evidence(record: TurnRecord) -> list[Passage]:
    """The passages in the evidence that have a text, each once, in order."""
    return list(
        {
            item.passage.id: item.passage
            for item in record.evidence.items
            if item.passage.text.strip()
        }.values()
    )


def rests_on_few_nuggets(record: TurnRecord, min_nuggets: int) -> bool:
    """Whether the generator's trace (generator=ginger) says that it detected fewer than
    `min_nuggets` nuggets.
    """
    nuggets = record.trace.get("generator", {}).get("nuggets")
    return nuggets is not None and len(nuggets) < min_nuggets


@dataclass(frozen=True)
class ReferenceTurn:
    """A turn as the data set has it: nothing in it depends on the system that is judged.

    Args:
        question: as it was asked.
        history: the turns before it, oldest first.
        answer: the reference answer; empty where there is none.
        passages: those that the reference answer rests on.
        labels: of the data set ("answerability": "UNANSWERABLE").
    """

    question: str
    history: Sequence[Turn] = ()
    answer: str = ""
    passages: Sequence[Passage] = ()
    labels: Mapping[str, Any] = field(default_factory=dict)

    def prompt_inputs(self) -> dict[str, Any]:
        """The inputs that prompts of judges have in common."""
        from convrag.sdk.llm.rewriter import format_exchanges

        return {"question": self.question, "history": format_exchanges(self.history)}


class References:
    """The turns of a data set by id, read when the first is looked up. May be used by several
    threads.

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
        """The reference of a record's turn; for a turn that the data set lacks, only the record's
        own question.
        """
        if (place := self._places().get(record.turn_id)) is None:
            return ReferenceTurn(record.original_query, labels=record.labels)
        conversation, index = place
        turn = conversation.turns[index]
        passages = turn.passages or self._relevant_passages(turn.id, conversation.domain)
        history = (*conversation.history, *conversation.turns[:index])
        return ReferenceTurn(turn.question, history, turn.answer, passages, turn.labels)

    def find_answer(self, record: TurnRecord) -> str:
        """The reference answer to a turn; empty where there is none."""
        place = self._places().get(record.turn_id)
        return place[0].turns[place[1]].answer.strip() if place else ""

    def find_label(self, record: TurnRecord, name: str) -> str:
        """A label of the turn in upper case, from the record or else from the data set; empty where
        neither has it.

        Args:
            record: the turn.
            name: in lower case with underscores ("question_type"), however the data set writes it.
        """
        if found := _get_label(record.labels, name):
            return found
        place = self._places().get(record.turn_id)
        return _get_label(place[0].turns[place[1]].labels, name) if place else ""

    def has_answers(self) -> bool:
        """Whether any turn has a reference answer."""
        return any(
            conversation.turns[index].answer.strip()
            for conversation, index in self._places().values()
        )

    def has_passages(self) -> bool:
        """Whether any turn has passages of its own, or there are qrels and a corpus."""
        if any(
            conversation.turns[index].passages for conversation, index in self._places().values()
        ):
            return True
        domains = self._dataset.domains() if self._qrels() else ()
        return any(True for domain in domains for _ in islice(self._dataset.corpus(domain), 1))

    def _read(self) -> Mapping[str, tuple[Conversation, int]]:
        """Turn id -> its conversation, and its index there."""
        return {
            turn.id: (conversation, index)
            for conversation in self._dataset.conversations()
            for index, turn in enumerate(conversation.turns)
        }

    def _relevant_passages(self, turn_id: str, domain: str) -> Sequence[Passage]:
        """The passages that the qrels call relevant, the highest grade first, equal ones by id."""
        if self._store is None:
            return ()
        relevant = {
            passage_id: grade
            for passage_id, grade in self._qrels().get(turn_id, {}).items()
            if grade > 0
        }
        if not relevant:
            return ()
        with self._lock:
            if domain not in self._corpora:
                from convrag.sdk.search.corpus import open_passages

                self._corpora[domain] = open_passages(self._dataset, domain, self._store)
        corpus = self._corpora[domain]
        return (
            corpus.get_by_id(sorted(relevant, key=lambda name: (-relevant[name], name)))
            if corpus
            else ()
        )


def _get_label(labels: Mapping[str, Any], name: str) -> str:
    for key, value in labels.items():
        if key.casefold().replace(" ", "_").replace("-", "_") == name:
            return (
                str(value[0] if isinstance(value, list | tuple) and value else value or "")
                .strip()
                .upper()
            )
    return ""
