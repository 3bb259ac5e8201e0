"""Conversations of a simulated user: each question is made from the answers before it."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from convrag.api.conversations import Conversation, Turn
from convrag.api.records import TurnRecord
from convrag.api.session import to_turn
from convrag.sdk.llm.rewriter import format_exchanges
from convrag.sdk.text.support import judge_sentences

_NUMBER = re.compile(r"\d[\d.,:]*\d|\d")


class Fact(NamedTuple):
    """A fact that a user wants to learn.

    Args:
        text: the fact, as a statement.
        question: that asks for it in the conversation ("And how old is it?"); empty where a model
            finds the words.
        again: the same in other words, for when the answer lacks the fact ("How old is the Moon?").
    """

    text: str
    question: str = ""
    again: str = ""

    def is_given(self, answer: str) -> bool:
        """Tell whether an answer gives the fact, by its words.

        It must have all numbers of the fact, and support each of its sentences.

        Example:
            >>> fact = Fact("The Moon is 384,400 kilometres away.", "How far is it?")
            >>> fact.is_given("It is 384,400 kilometres from us.")
            True
            >>> fact.is_given("It is some kilometres from us.")
            False
        """
        sentences = judge_sentences(self.text, [answer], self.question)
        known = set(_NUMBER.findall(answer))
        return (
            bool(sentences)
            and all(each.supported for each in sentences)
            and known >= {*_NUMBER.findall(self.text)}
        )


@dataclass(frozen=True, kw_only=True)
class PlayedConversation(Conversation):
    """A conversation of a user with a goal, made while it goes on.

    Args:
        id: unique in the data set.
        turns: the one that it can begin with; without a player, all that are asked.
        domain: the name of the corpus that it is about.
        profile: personal statements of the user.
        history: exchanges before the first turn.
        goal: what the user wants, in a sentence.
        facts: that the user wants to learn.
        reached_by: the answer that reaches the goal; where it is empty, all facts do.
        most_turns: after which the user gives up.
        player: makes the questions. It is given the conversation and the records of its turns so
            far, a list that grows while it yields turns, and may add labels, usage and fallbacks to
            the last one.
    """

    goal: str
    facts: tuple[Fact, ...]
    reached_by: str = ""
    most_turns: int = 10
    player: Callable[..., Iterator[Turn]] | None = field(default=None, compare=False, repr=False)

    def prompt_inputs(self, records: Iterable[TurnRecord]) -> dict[str, Any]:
        """Return inputs of prompts about the goal and the talk: goal, facts, answer, history."""
        facts, history = [fact.text for fact in self.facts], format_exchanges(map(to_turn, records))
        return {"goal": self.goal, "facts": facts, "answer": self.reached_by, "history": history}

    def is_reached(self, answers: Sequence[str]) -> bool:
        """Tell whether answers have given all that the goal asks for, by their words."""
        wanted = [Fact(self.reached_by, self.goal)] if self.reached_by else self.facts
        return all(any(map(fact.is_given, answers)) for fact in wanted)


def ask_turns(conversation: Conversation, records: list[TurnRecord]) -> Iterator[Turn]:
    """Yield the turns to ask; `records` must have each turn's record before the next is taken."""
    if isinstance(conversation, PlayedConversation) and conversation.player:
        return conversation.player(conversation, records)
    return iter(conversation.turns)


def count_turns(each: Conversation) -> int:
    """Count the turns of a conversation; of one that is played, the most that it may have."""
    return (
        each.most_turns if isinstance(each, PlayedConversation) and each.player else len(each.turns)
    )
