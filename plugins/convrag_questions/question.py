"""A question of a conversation: the model's proposals, and the checks that one must pass."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, field_validator

from convrag import LLM, LLMError, Passage, PromptTemplate
from convrag.sdk.llm.structured_output import UnreadableReply, ask_json
from convrag.sdk.text.characters import simplify_characters

M = TypeVar("M", bound=BaseModel)

Kind = Literal["opening", "follow_up", "topic_shift"]
"""The place of a question in its conversation."""

STYLES = ("what", "how", "when", "which", "why", "how many", "who", "what if", "is it", "where")
"""How questions begin. Each turn has one of them, so that the questions about a passage differ."""

TRIES = 3
"""Proposals that are asked for, of one passage."""

Exchange = dict[str, str]
"""An earlier question and its answer, as prompts have them: `user` and `assistant`."""


class Prompts(NamedTuple):
    """The templates of the four prompts."""

    question: PromptTemplate
    solve: PromptTemplate
    compare: PromptTemplate
    alone: PromptTemplate


@dataclass(frozen=True)
class WrittenTurn:
    """A question that passed its checks, its answer, and the passage that answers it."""

    kind: Kind
    question: str
    answer: str
    standalone: str
    quote: str
    passage: Passage


@dataclass
class Counts:
    """The numbers of proposals by outcome: reason of refusal -> how many; and failed calls."""

    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0
    failed: int = 0
    first_failure: str = ""

    def add(self, other: Counts) -> None:
        """Add other counts."""
        self.accepted += other.accepted
        self.refused += other.refused
        self.unreadable += other.unreadable
        self.failed += other.failed
        self.first_failure = self.first_failure or other.first_failure


class Writer(Protocol):
    """A writer of a conversation's questions: a language model, or known-item questions."""

    def write(
        self, kind: Kind, style: str, passage: Passage, history: Sequence[Exchange], counts: Counts
    ) -> WrittenTurn | None:
        """Write the next question of a conversation, which a passage answers; None without one."""


class Refused(Exception):
    """A refused proposal; the message is the reason, for the language model and the user."""


class QuestionWriter:
    """Asks a language model for questions, and checks them. May be used by several threads.

    Args:
        llm: the language model.
        prompts: the templates.
        sampling: temperature and the like of all prompts.
    """

    def __init__(self, llm: LLM, prompts: Prompts, sampling: Mapping[str, Any]) -> None:
        self.llm = llm
        self.prompts = prompts
        self.sampling = dict(sampling)

    def write(
        self, kind: Kind, style: str, passage: Passage, history: Sequence[Exchange], counts: Counts
    ) -> WrittenTurn | None:
        """Write the next question about a passage; None where no proposal is good.

        Args:
            kind: of the question.
            style: how the question should begin, where there is a choice: one of `STYLES`.
            passage: that answers it.
            history: the conversation so far, oldest exchange first.
            counts: where proposals are counted.

        Raises:
            RunStopped: at a cost limit.
        """
        refused: list[dict[str, str]] = []
        about = {"title": passage.title, "passage": passage.text, "history": list(history)}
        for _ in range(TRIES):
            question = ""
            try:
                proposal = self._ask(
                    self.prompts.question,
                    Proposal,
                    kind=kind,
                    style=style,
                    **about,
                    refused=list(refused),
                )
                if not (question := proposal.question):
                    if not refused:
                        counts.refused[NOTHING] += 1
                    break
                self._check(proposal, kind, passage, history)
            except Refused as reason:
                counts.refused[str(reason)] += 1
                refused.append({"question": question, "reason": str(reason)})
            except UnreadableReply:
                counts.unreadable += 1
                if not question:
                    break
            except LLMError as error:
                counts.failed += 1
                counts.first_failure = counts.first_failure or str(error)
                break
            else:
                counts.accepted += 1
                standalone = question if kind != "follow_up" else proposal.standalone
                return WrittenTurn(
                    kind, question, proposal.answer, standalone, proposal.quote, passage
                )
        return None

    def _check(
        self, proposal: Proposal, kind: Kind, passage: Passage, history: Sequence[Exchange]
    ) -> None:
        """Check a proposal, by rules first, and then by asking. Raises Refused with the reason."""
        question = proposal.question
        if not proposal.answer or not has_quote(passage.text, proposal.quote):
            raise Refused("its quote is not in the passage")
        if any(are_alike(question, each["user"]) for each in history):
            raise Refused("it was asked before")
        if count_copied_words(question, passage.text) > MOST_COPIED:
            raise Refused("it copies the wording of the passage")
        if kind == "follow_up" and (
            not proposal.standalone or are_alike(question, proposal.standalone)
        ):
            raise Refused("it does not depend on the conversation")
        if self._ask(self.prompts.alone, Clarity, question=question).clear == (kind == "follow_up"):
            depends = "it does not depend on the conversation"
            raise Refused(depends if kind == "follow_up" else "it cannot be understood by itself")
        inputs = {
            "question": question,
            "title": passage.title,
            "passage": passage.text,
            "history": list(history),
        }
        found = self._ask(self.prompts.solve, Solution, **inputs).answer
        if not found:
            raise Refused("the passage does not answer it")
        asked = proposal.standalone or question
        if not self._ask(
            self.prompts.compare, Comparison, question=asked, answer=proposal.answer, other=found
        ).same:
            raise Refused("the passage gives another answer")

    def _ask(self, template: PromptTemplate, form: type[M], **inputs: Any) -> M:
        return ask_json(self.llm, template.render(self.sampling, **inputs), form)


NOTHING = "the passage gives no question"
"""The reason that is counted where nothing was proposed."""


class Proposal(BaseModel):
    """A question with its answer, or an empty question where the passage is good for none.

    `quote` is the sentence of the passage that the answer rests on; `standalone` is the question as
    it would be asked without the conversation.
    """

    question: str
    answer: str = ""
    quote: str = ""
    standalone: str = ""

    @field_validator("*", mode="before")
    @classmethod
    def _clean(cls, value: Any) -> Any:
        if isinstance(value, str):
            return " ".join(value.split())
        return "" if value is None else value


class Solution(BaseModel):
    """The answer that was found in the passage; empty if there is none in it."""

    answer: str

    @field_validator("answer", mode="before")
    @classmethod
    def _clean(cls, value: Any) -> Any:
        return "" if value is None else value


class Comparison(BaseModel):
    """Whether two answers say the same."""

    same: bool


class Clarity(BaseModel):
    """Whether a question can be understood without its conversation."""

    clear: bool


MOST_COPIED = 6
"""The most words in a row that a question may share with its passage: a name and what goes with it.
"""

_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")


def list_words(text: str) -> list[str]:
    """List the words of a text, without case, typographic variants and punctuation.

    In scripts without spaces, each sign is a word.
    """
    plain = unicodedata.normalize("NFKC", simplify_characters(text)).casefold()
    return [
        word
        for found in _WORD.findall(plain)
        for word in (found if _is_unspaced(found) else [found])
    ]


def has_quote(text: str, quote: str) -> bool:
    """Tell whether a text has the words of a quote, in a row."""
    wanted = list_words(quote)
    return bool(wanted) and f" {' '.join(wanted)} " in f" {' '.join(list_words(text))} "


def count_copied_words(question: str, passage: str) -> int:
    """Count the most words in a row that a question shares with a passage."""
    asked = list_words(question)
    text = f" {' '.join(list_words(passage))} "
    longest = 0
    for start in range(len(asked)):
        while (
            start + longest < len(asked)
            and f" {' '.join(asked[start : start + longest + 1])} " in text
        ):
            longest += 1
    return longest


def are_alike(one: str, other: str) -> bool:
    """Tell whether two texts have the same words, in the same order."""
    return list_words(one) == list_words(other)


def _is_unspaced(word: str) -> bool:
    """Tell whether a word's script has no spaces between words (Chinese, Japanese, Thai)."""
    return any(
        "\u3040" <= sign <= "\u30ff" or "\u4e00" <= sign <= "\u9fff" or "\u0e00" <= sign <= "\u0e7f"
        for sign in word
    )
