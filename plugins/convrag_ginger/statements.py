"""The sentences of an answer: each with the passages that it cites, and whether they support it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from convrag import Nugget
from convrag.sdk.sentences import first_sentence
from convrag_ginger.attribution import Judge, support, supporters
from convrag_ginger.length_limit import word_count


@dataclass(frozen=True)
class Statement:
    """A sentence made from the nuggets of a cluster, and what was found out about it.

    `passages` are the ids that it cites. `share` is that of its content words that the nuggets have; `unknown` are its
    numbers and negations that they lack; `checked` says who judged whether it is `supported`.
    """

    text: str
    cluster: int
    nuggets: tuple[Nugget, ...] = field(repr=False)
    passages: tuple[str, ...]
    supported: bool
    share: float
    unknown: tuple[str, ...] = ()
    checked: str = "words"


class Checker:
    """Makes statements.

    Args:
        threshold: the least share of a sentence's content words that its nuggets must have.
        judge: asks an LLM instead; where it gives no verdict, the words decide.
    """

    def __init__(self, threshold: float, judge: Judge | None) -> None:
        self.threshold = threshold
        self.judge = judge

    def statement(self, text: str, cluster: int, nuggets: Sequence[Nugget]) -> Statement:
        """A sentence with its citations and the verdict."""
        texts = [nugget.text for nugget in nuggets]
        found = support(text, texts)
        verdict = self.judge.supports(text, texts) if self.judge else None
        return Statement(
            text,
            cluster,
            tuple(nuggets),
            tuple(dict.fromkeys(nuggets[index].passage_id for index in supporters(text, texts))),
            found.suffices(self.threshold) if verdict is None else verdict,
            found.share,
            tuple(found.unknown),
            "words" if verdict is None else "llm",
        )

    def rephrased(self, old: Statement, text: str, words: int) -> Statement:
        """The statement in other words, citing what it cited.

        The old one, where the new is too long, more than a sentence, or unsupported.
        """
        if text == old.text or word_count([text]) > words or first_sentence(text) != text:
            return old
        new = self.statement(text, old.cluster, old.nuggets)
        return replace(new, passages=old.passages) if new.supported or not old.supported else old
