"""Whether nuggets support a sentence, and which of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from convrag import LLM, LLMError, PromptTemplate
from convrag_ginger.citing import without
from convrag_ginger.tokens import facts, is_number, stems, words


class Support(NamedTuple):
    """What the words say: the share of a sentence's content words that nuggets have, and what none of them says."""

    share: float
    unknown: list[str]

    def suffices(self, threshold: float) -> bool:
        """Whether the sentence counts as supported: enough words, and no number or negation out of nowhere."""
        return self.share >= threshold and not self.unknown


def support(sentence: str, texts: Sequence[str]) -> Support:
    """Compare a sentence with the nuggets that it was made from."""
    wanted = stems(sentence)
    there = {stem for text in texts for stem in stems(text)}
    known = {word for text in texts for word in words(text)}
    negated = any(not is_number(fact) for text in texts for fact in facts(text))
    unknown = [fact for fact in facts(sentence) if not (fact in known if is_number(fact) else negated)]
    share = sum(stem in there for stem in wanted) / len(wanted) if wanted else 1.0
    return Support(round(share, 4), unknown)


def supporters(sentence: str, texts: Sequence[str]) -> list[int]:
    """The positions of the nuggets that a sentence rests on: those that it quotes, else the fewest that have its words.

    A nugget that has the same of its words as one of the fewest is as good, and is named too. Where none has any, all
    are named: the sentence was made from them.
    """
    for plain in (_one_line, _words_only):
        if quoted := [index for index, text in enumerate(texts) if plain(sentence) in plain(text)]:
            return quoted
    wanted = frozenset(stems(sentence))
    having = [wanted.intersection(stems(text)) for text in texts]
    named: set[int] = set()
    left = wanted
    while best := max((own & left for own in having), key=len, default=frozenset()):
        named.update(index for index, own in enumerate(having) if best <= own)
        left -= best
    return sorted(named) or list(range(len(texts)))


def _one_line(text: str) -> str:
    return " ".join(without(text).split())


def _words_only(text: str) -> str:
    return f" {' '.join(words(text))} "


class Judge:
    """Asks an LLM whether nuggets support a sentence."""

    def __init__(self, llm: LLM, template: PromptTemplate, sampling: dict[str, Any]) -> None:
        self.llm = llm
        self.template = template
        self.sampling = sampling

    def supports(self, sentence: str, texts: Sequence[str]) -> bool | None:
        """Its verdict; None where it gave none."""
        prompt = self.template.render(self.sampling, sentence=sentence, nuggets=list(texts))
        try:
            reply = words(self.llm.complete(prompt).text)
        except LLMError:
            return None
        return {"yes": True, "no": False}.get(reply[0]) if reply else None
