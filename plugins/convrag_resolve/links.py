"""A reference and what it was linked to, and the question with its references written out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["pronoun", "demonstrative", "definite", "one", "option", "place", "time", "turn", "ellipsis"]


@dataclass(frozen=True, slots=True)
class Link:
    """A phrase of a question, `question[start:end]`, and what it stands for.

    `turn_id` is the turn in which the antecedent was named last. `rule` says by which rule they were linked. `written`
    is what stands in the phrase's place in the standalone question; None where the phrase stays.
    """

    kind: Kind
    phrase: str
    antecedent: str
    turn_id: str
    rule: str
    start: int
    end: int
    written: str | None = None

    def describe(self) -> dict[str, str]:
        """The link for a trace."""
        return {
            "kind": self.kind,
            "phrase": self.phrase,
            "antecedent": self.antecedent,
            "turn": self.turn_id,
            "rule": self.rule,
        }


def write_out(question: str, links: Iterable[Link]) -> str:
    """Write what the references stand for in their places; of two that overlap, the first one."""
    pieces, done = [], 0
    for link in sorted(links, key=lambda link: (link.start, link.end)):
        if link.written is None or link.start < done:
            continue
        written = link.written
        if question[link.start : link.start + 1].isupper() and _starts_sentence(question, link.start):
            written = written[:1].upper() + written[1:]
        pieces += [question[done : link.start], written]
        done = link.end
    return "".join([*pieces, question[done:]])


def write_possessive(name: str) -> str:
    """A name in the possessive: "the Eiffel Tower's", "guinea pigs'"."""
    return name + ("'" if name.endswith("s") else "'s")


def write_plural(noun: str) -> str:
    """A noun in the plural: "virtual machines", "galleries"."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "sh", "ch", "x", "z")) else "s")


def lower_first(text: str) -> str:
    """A sentence as it continues another one: its first letter is small, unless its first word is "I" or an acronym."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return (
        text if first[1:] != first[1:].lower() or first in ("I", "I'm", "I've", "I'd") else text[:1].lower() + text[1:]
    )


def join_names(names: Iterable[str], conjunction: str = "and") -> str:
    """Names as an enumeration: "A, B and C"."""
    *most, last = names
    return f"{', '.join(most)} {conjunction} {last}" if most else last


def _starts_sentence(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \t\n\"'“(¿")
    return not before or before[-1] in ".?!"
