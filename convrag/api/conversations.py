"""Conversations: turns, the question of a turn, and what of the history a memory passes on.

All of it is immutable plain data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from convrag.api.evidence import EvidenceItem
from convrag.api.filters import Filter
from convrag.api.passages import Passage
from convrag.api.queries import Query


@dataclass(frozen=True, slots=True)
class Turn:
    """A user's utterance and its answer: a row of a data set, or an exchange in a history.

    Args:
        id: unique in the data set; by custom "conversation<::>number".
        question: the user's utterance.
        answer: the answer; empty if there is none, as in a failed turn.
        passages: the passages that the answer is based on.
        labels: labels of the data set ("answerability": "ANSWERABLE"); a turn in a question's
            history has none.
        shown: the evidence as the model saw it, if that is known.

    Example:
        >>> Turn("tea<::>1", "Why does a kettle whistle?", "Steam is forced through its lid.").shown
        ()
    """

    id: str
    question: str
    answer: str = ""
    passages: tuple[Passage, ...] = ()
    labels: Mapping[str, Any] = field(default_factory=dict)
    shown: tuple[EvidenceItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of one conversation in order.

    Args:
        id: unique in the data set.
        turns: the turns to ask, in order; at least one.
        domain: the name of the corpus that it is about.
        profile: personal statements of the user ("I'm vegetarian."), which hold in every turn.
        history: exchanges before the first turn: given with their answers, and not asked again.

    Example:
        >>> Conversation("tea", (Turn("tea<::>1", "Why does a kettle whistle?"),)).domain
        'default'
    """

    id: str
    turns: tuple[Turn, ...]
    domain: str = "default"
    profile: tuple[str, ...] = ()
    history: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """The question of the current turn, with its conversation's history.

    Args:
        text: the user's utterance.
        conversation_id: the id of the conversation.
        turn_id: the id of this turn.
        domain: the name of the corpus to search.
        number: the number of the turn in its conversation, from 1, whatever the memory shows.
        history: the turns before this one, oldest first, as the memory gives them; empty with the
            setting history=none. What a model reads comes from here.
        before_memory: all turns before this one, if the memory shows only a part of them (see
            `whole_history`).
        standalone: the rewritten question, for the stages after the rewriter; before, empty.
        profile: personal statements of the user ("I'm vegetarian."), as far as they are known.
        stage_state: the dictionaries that `state` returns.
        queries: all queries of the rewrite, for the stages after the rewriter; before, none.
        top_k: for the rewriter, the number of passages that this turn will retrieve; 0 if nothing
            says so.
        filter: the condition on fields that the passages of this turn must match; the pipeline
            puts it on each query.

    Example:
        >>> first = Turn("tea<::>1", "Why does a kettle whistle?", "Steam is forced out.")
        >>> question = Question("And mine?", "tea", "tea<::>2", number=2, history=(first,))
        >>> [turn.question for turn in question.history]
        ['Why does a kettle whistle?']
    """

    text: str
    conversation_id: str = ""
    turn_id: str = ""
    domain: str = "default"
    number: int = 1
    history: tuple[Turn, ...] = ()
    standalone: str = ""
    profile: tuple[str, ...] = ()
    stage_state: dict[object, dict[str, Any]] = field(
        default_factory=dict, repr=False, compare=False, metadata={"identity": False}
    )
    queries: tuple[Query, ...] = ()
    before_memory: tuple[Turn, ...] | None = None
    top_k: int = field(default=0, metadata={"identity": False})
    filter: Filter | None = field(default=None, metadata={"identity": "if_set"})

    @property
    def whole_history(self) -> tuple[Turn, ...]:
        """All turns before this one, whatever the memory shows; empty with history=none.

        It is for what must not change when a turn leaves the view, such as the numbers of the
        passages that earlier answers cite.
        """
        return self.history if self.before_memory is None else self.before_memory

    def state(self, stage: object) -> dict[str, Any]:
        """Return the dictionary in which a stage keeps data about this conversation.

        It is empty after a restart, so a stage must be able to rebuild its contents from the
        history.
        """
        return self.stage_state.setdefault(stage, {})


@dataclass(frozen=True, slots=True)
class MemoryView:
    """The part of the history that the later stages of a turn see.

    Args:
        history: turns, oldest first: the conversation's, and turns that the memory has made of
            several (a summary). Such a turn has an id of its own, and a question and an answer
            that are not empty.
        trace: how it was chosen, as plain data, for the record.
        fallback: why the memory could not do its work; empty if it could.

    Example:
        >>> last = Turn("tea<::>5", "And how long?", "Two minutes.")
        >>> MemoryView((last,), {"left_out": 4}).fallback
        ''
    """

    history: tuple[Turn, ...]
    trace: Mapping[str, Any] = field(default_factory=dict)
    fallback: str = ""
