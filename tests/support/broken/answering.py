"""Contexts and generators that break a promise of theirs."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from broken.noting import ascii_only, breaks
from convrag import Answer, Evidence, EvidenceItem, Hit, Passage
from convrag.sdk.types import PassageSpan, Support
from sound import SoundContext, SoundGenerator


@breaks("test_its_results_are_right")
class AllOne(SoundContext):
    """Gives all the same number."""

    def assemble(self, question: Any, hits: Any, messages: Any) -> Evidence:
        return Evidence(
            tuple(
                replace(item, number=1) for item in super().assemble(question, hits, messages).items
            )
        )


@breaks("test_its_results_are_right")
class Inventive(SoundContext):
    """Shows what nobody found."""

    def assemble(self, question: Any, hits: Any, messages: Any) -> Evidence:
        items = super().assemble(question, hits, messages).items
        return Evidence(
            (*items, EvidenceItem(99, Passage("invented", "text"), "text")) if items else ()
        )


@breaks("test_its_results_are_right")
class Placeholder(SoundContext):
    """Shows something in any case."""

    def assemble(self, question: Any, hits: Any, messages: Any) -> Evidence:
        return super().assemble(
            question, hits or [Hit(Passage("none", "Nothing was found."), 0.0)], messages
        )


@breaks("test_its_results_are_right")
class Hinting(SoundContext):
    """Hints at texts that nobody has seen."""

    def assemble(self, question: Any, hits: Any, messages: Any) -> Evidence:
        return Evidence(
            tuple(
                replace(item, hint=True)
                for item in super().assemble(question, hits, messages).items
            )
        )


@breaks("test_its_results_are_right")
class LooksLikeIt(SoundGenerator):
    """Gives something like an answer."""

    def generate(self, question: Any, evidence: Any) -> Any:
        answer = super().generate(question, evidence)
        return SimpleNamespace(text=answer.text, citations=answer.citations, support=answer.support)


@breaks("test_its_results_are_right")
class Misquoting(SoundGenerator):
    """Cites another passage."""

    def generate(self, question: Any, evidence: Any) -> Answer:
        return Answer("so they say", ("tea-2",) if evidence.items else ())


@breaks("test_its_results_are_right")
class Overreaching(SoundGenerator):
    """Rests on more than the passage has."""

    def generate(self, question: Any, evidence: Any) -> Answer:
        answer = super().generate(question, evidence)
        spans = tuple(PassageSpan(passage_id, 0, 10**6) for passage_id in answer.citations)
        return replace(answer, support=(Support(0, len(answer.text), spans),)) if spans else answer


@breaks("test_its_results_are_right")
class Pretending(SoundGenerator):
    """Cites something in any case."""

    def generate(self, question: Any, evidence: Any) -> Answer:
        answer = super().generate(question, evidence)
        return answer if evidence.items else Answer("so they say", ("somewhere",))


@breaks("test_its_results_are_right")
class AsciiGenerator(SoundGenerator):
    """Knows one alphabet."""

    def generate(self, question: Any, evidence: Any) -> Answer:
        ascii_only(question.text)
        return super().generate(question, evidence)
