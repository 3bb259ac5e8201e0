"""References of a question as a language model links them, and the question without them."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pydantic import BaseModel, Field

from convrag import Turn


class Reference(BaseModel):
    """Words of the question, what they stand for, and the turn that says so, counted from 1."""

    words: str = Field(min_length=1)
    stands_for: str = Field(min_length=1, max_length=400)
    turn: int


class ReferencesReply(BaseModel):
    """The model's reply about the references of a question; none where it stands alone."""

    references: list[Reference]


class Link(NamedTuple):
    """A phrase of a question, `question[start:end]`, its antecedent, and the turn that names it."""

    start: int
    end: int
    phrase: str
    antecedent: str
    turn_id: str

    def describe(self) -> dict[str, str]:
        """Describe the link for a trace."""
        told = {
            "kind": "reference",
            "phrase": self.phrase,
            "antecedent": self.antecedent,
            "turn": self.turn_id,
        }
        return {**told, "rule": "language model"}


def link_references(
    question: str, turns: Sequence[Turn], references: Iterable[Reference]
) -> list[Link]:
    """Find the words of each reference in the question, and its turn, in the order of the question.

    Words that occur several times are taken from the left, once for each reference.

    Raises:
        ValueError: the words are not in the question or overlap with another reference, or the turn
            does not exist.
    """
    links: list[Link] = []
    for reference in references:
        words = reference.words.strip()
        antecedent = " ".join(reference.stands_for.split())
        if not 1 <= reference.turn <= len(turns):
            raise ValueError(
                f"it takes {words!r} from turn {reference.turn}, and there are {len(turns)} turns"
            )
        places = re.finditer(rf"(?<!\w){re.escape(words)}(?!\w)", question, re.IGNORECASE)
        free = [
            at
            for at in places
            if not any(at.start() < each.end and each.start < at.end() for each in links)
        ]
        if not words or not antecedent or not free:
            raise ValueError(
                f"it links {words!r}, which is not in the question or is linked already"
            )
        links.append(Link(*free[0].span(), free[0][0], antecedent, turns[reference.turn - 1].id))
    return sorted(links)


def write_out(question: str, links: Iterable[Link]) -> str:
    """Write the antecedents in the places of their phrases.

    One that begins the question begins with a capital.
    """
    for link in reversed(list(links)):
        written = (
            link.antecedent if link.start else link.antecedent[:1].upper() + link.antecedent[1:]
        )
        question = question[: link.start] + written + question[link.end :]
    return question
