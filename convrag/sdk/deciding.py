"""Whether a question is answered: one decision for generators where no model speaks, from named signals."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from convrag.api.errors import ConfigError
from convrag.api.stage import LLM
from convrag.api.stages import Dataset
from convrag.api.types import Answer, Evidence, Nugget, Question
from convrag.sdk.frequencies import DocumentFrequencies, count_document_frequencies
from convrag.sdk.matching import (
    MatchedSentence,
    adds_words,
    find_matching_stems,
    match_sentences,
    rank_sentences,
    read_question,
)
from convrag.sdk.printable import format_line
from convrag.sdk.words import find_content_words, find_stems
from convrag.store.store import Store

Outcome = Literal["answered", "unanswerable", "conversational"]

LEVELS = {"never": 0.0, "rarely": 0.4, "balanced": 0.55, "often": 0.7}
"""The share of what a question asks that a sentence must say, by name.

More than a third, a half, two thirds: with "balanced" one of two words that are about as rare is not enough, two of
three are.
"""

_COURTESY = re.compile(r"\b(?:thanks?|thx|hello|hi|hey|bye|goodbye|great|okay|ok|perfect|wonderful|awesome|cheers)\b")
_POLITE_WORDS = """
a again all and are at awesome bye cheers cool day do for good goodbye got great have hello help helpful hey hi how i
information is it it's lot many me morning much nice now ok okay perfect see so thank thanks that that's the then there
this thx tomorrow very was wonderful you your
"""
_POLITE = frozenset(_POLITE_WORDS.split())


def parse_level(name: str) -> float:
    """Parse a level: one of LEVELS, or a number from 0 to 1. Raises ConfigError."""
    try:
        level = LEVELS[name] if name in LEVELS else float(name)
    except ValueError:
        level = -1.0
    if not 0 <= level <= 1:
        raise ConfigError(f"generator.refuse={name}: choose {', '.join(LEVELS)}, or a number from 0 to 1")
    return level


def is_courtesy(utterance: str) -> bool:
    """Whether an utterance has no words but those of greetings and thanks."""
    text = utterance.lower().replace("’", "'")
    return bool(_COURTESY.search(text)) and set(re.findall(r"[\w']+", text)) <= _POLITE


@dataclass(frozen=True)
class Decision:
    """What becomes of a turn, and why.

    Args:
        outcome: what was decided.
        signals: name -> value, 0 to 1; `confidence` is compared with the level.
        level: what the confidence must reach.
        found: the words that matter and that the best passage has, as the user wrote them.
        missing: those that it lacks.
        ranked: passage ids and their sentences, as matched with the question, the best first.
        weights: stem -> weight of the words that the question asks about.
        refusal: what is said where the question is not answered.
        reply: what is said in place of an answer; empty where the question is answered.
    """

    outcome: Outcome
    signals: Mapping[str, float]
    level: float
    found: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    ranked: Sequence[tuple[str, MatchedSentence]] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    refusal: str = ""
    reply: str = ""

    def trace(self) -> dict[str, Any]:
        """What a record holds of it."""
        row = {"outcome": self.outcome, "level": round(self.level, 3), "signals": dict(self.signals)}
        return row | {"found": list(self.found), "missing": list(self.missing)}

    def keep_best(self, nuggets: Sequence[Nugget]) -> dict[Nugget, float]:
        """Rate the nuggets by what they say of what is asked, without those far behind the best, and outdated ones."""
        rated = {nugget: self._rate(nugget) for nugget in nuggets}
        least = NEAR_BEST * max(rated.values(), default=0.0)
        return {nugget: rate for nugget, rate in rated.items() if rate >= least and rate > 0}

    def _rate(self, nugget: Nugget) -> float:
        of = (match for key, match in self.ranked if key == nugget.passage_id)
        return max((match.rate for match in of if match.start < nugget.end and nugget.start < match.end), default=0.0)

    def adds(self, known: Sequence[str], text: str) -> bool:
        """Whether a sentence adds to what other sentences say of the question."""
        stems = find_matching_stems(" ".join(known), self.weights)
        return not known or adds_words(stems, find_matching_stems(text, self.weights), self.weights)

    def refuse(self) -> "Decision":
        """The same decision, not to answer."""
        return replace(self, outcome="unanswerable", reply=self.refusal)

    def make_answer(self, trace: Mapping[str, Any] | None = None) -> Answer:
        """The answer of a turn that has none."""
        return Answer(self.reply, (), {"outcome": self.outcome, "decision": self.trace(), **(trace or {})})


NEAR_BEST = 0.75
"""Of the best rate: the least rate of a nugget that may be quoted."""


class Decider:
    """Decides for a generator. Without a language model the signals decide; a model decides by its reply.

    Args:
        llm: answers, or rules in its place.
        dataset: its corpus tells rare words from common ones; without it, all words count the same.
        store: keeps the document frequencies.
        refuse: a level; see LEVELS.
    """

    def __init__(self, llm: LLM | None, dataset: Dataset | None, store: Store | None, refuse: str) -> None:
        self.by_rules = llm is None or llm.tasks is not None
        self.dataset = dataset
        self.store = store
        self.level = parse_level(refuse)

    @property
    def quotes(self) -> bool:
        """Whether the answer is quoted, of sentences that the decision has matched."""
        return self.by_rules and self.level > 0

    def decide(self, question: Question, evidence: Evidence) -> Decision:
        """Decide on a question."""
        if not self.by_rules:  # the model's own reply says whether the passages answer the question
            return Decision("answered", {}, self.level, refusal="I could not find this in the passages.")
        if is_courtesy(question.text):
            thanked = re.search(r"\b(?:thank|thx|cheers)", question.text.lower())
            reply = "You're welcome." if thanked else "Hello! What would you like to know?"
            return Decision("conversational", {}, self.level, reply=reply)
        frequencies = DocumentFrequencies()
        if self.dataset is not None and self.store is not None:
            frequencies = count_document_frequencies(self.dataset, self.store)
        asked = read_question(question.text, question.standalone, frequencies)
        passages = {item.passage.id: item.passage for item in evidence.items}
        matches = {key: match_sentences(asked, each.text, each.title) for key, each in passages.items()}
        texts = {key: f"{each.name}\n{each.content}" for key, each in passages.items()}
        best = {key: max((match.sure for match in found), default=0.0) for key, found in matches.items()}
        bests = sorted(best.values(), reverse=True)
        first = best[evidence.items[0].passage.id] if evidence.items else 0.0
        signals = {"sentence": bests[0] if bests else 0.0, "first": first, "agreement": sum(bests[:3]) / 3}
        confidence = (signals["sentence"] + first) / 2  # what is found first is most likely about the question
        words = {word.stem: word.text for word in find_content_words(question.text)}
        nearest = max(passages.values(), key=lambda each: best[each.id], default=None)
        has = find_stems(nearest.content) if nearest else frozenset[str]()
        found = tuple(text for stem, text in words.items() if stem in has)
        missing = tuple(text for stem, text in words.items() if stem not in has)
        signals = {name: round(value, 4) for name, value in ({"confidence": confidence} | signals).items()}
        refusal = f"I could not find this in the {frequencies.size or 'passages'}."
        if words:
            refusal += f" I looked for: {', '.join(words.values())}."
        if nearest and found:
            refusal += f" The nearest is {format_line(nearest.name)}, which has {', '.join(found)}."
        ranked = rank_sentences(matches, texts)
        decision = Decision("answered", signals, self.level, found, missing, ranked, asked.weights, refusal)
        return decision if confidence > self.level or not self.level else decision.refuse()
