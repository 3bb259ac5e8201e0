"""Whether a question is answered, in whole or in part, refused or asked back: one decision, from
named signals.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from convrag.api.answers import Answer
from convrag.api.conversations import Question
from convrag.api.errors import ConfigError
from convrag.api.evidence import Evidence
from convrag.api.passages import Nugget, Passage
from convrag.api.stage import LLM
from convrag.api.stages import Dataset, Generator
from convrag.sdk.data.transcript import name_passage
from convrag.sdk.output.printable import format_line
from convrag.sdk.search.frequencies import (
    DocumentFrequencies,
    add_weights,
    count_document_frequencies,
    find_source,
)
from convrag.sdk.text.analysis import UNSPACED, find_content_words, find_stems, tell_language
from convrag.sdk.text.clarification import (
    COURTESIES,
    REFUSAL,
    find_open_reference,
    format_question,
    is_courtesy,
    list_choices,
    refers_back,
    speaks_of_answer,
    understand,
)
from convrag.sdk.text.matching import (
    Asked,
    MatchedSentence,
    find_added,
    find_matching_stems,
    match_sentences,
    read_question,
    split_question,
)
from convrag.sdk.text.quoting import adds_words, rank_sentences
from convrag.sdk.text.sentences import get_first_sentence, remove_citations
from convrag.store.store import Store

Outcome = Literal["answered", "partial", "unanswerable", "asked", "conversational"]

Asking = Literal["auto", "never", "always"]
"""When a question may be asked back, see `Decider`."""

LEVELS = {"never": 0.0, "rarely": 0.4, "balanced": 0.45, "often": 0.55}
"""What `confidence` must exceed, by name.

With "balanced", where nothing is known of the passages' documents, one of two words that are about
as rare is not enough, two of three are.
"""

PARTLY = 0.7
"""The share of the question's words that a passage must have: with less, it is answered in part."""

HALF = 0.5
"""The share of the words of a part of a question that a passage must have: with less, that part is
not answered.
"""

WITHOUT_MODEL = "Without a language model I can only quote the documents."
"""What is said where an answer is asked for in another form, or no answer can be made shorter."""

UNCLEAR = 0.5
"""Of the signal `unclear`: with more, ask=always asks."""

NEUTRAL = 0.3
"""The signal `source` where the corpus has too few documents, or passages of each, to tell
anything.
"""

UNKNOWN = 0.4
"""The share of a question's words that no passage has: with more, one document of all passages is
no good sign.
"""


def parse_level(name: str) -> float:
    """Parse a level: one of LEVELS, or a number from 0 to 1. Raises ConfigError."""
    try:
        level = LEVELS[name] if name in LEVELS else float(name)
    except ValueError:
        level = -1.0
    if not 0 <= level <= 1:
        raise ConfigError(
            f"generator.refuse={name}: choose {', '.join(LEVELS)}, or a number from 0 to 1"
        )
    return level


@dataclass(frozen=True)
class Decision:
    """What becomes of a turn, and why.

    Args:
        outcome: what was decided.
        signals: name -> value, 0 to 1; `confidence` is compared with the level. docs/rewriters.md says
            what each is.
        level: what the confidence must reach.
        found: the words that matter and that the best passage has, as the user wrote them.
        missing: those that it lacks.
        ranked: passage ids and their sentences, as matched with the question, the best first.
        weights: stem -> weight of the words that the question asks about.
        refusal: what is said where the question is not answered.
        reply: what is said, where it is no answer yet to be made: a refusal, a question back, or
            what a model has said.
        choices: what a question back offers.
        form: what a model is to decide: whether to answer, or also whether to ask back; empty where
            none decides.
        verdict: what the model has decided; empty where none speaks, or it has not said.
        fallback: why a model's reply is not as it was asked for; empty if it is.
        read_as: the question with what it replies to, where it replies to a question of ours.
        unfound: what is said of the parts of a question that no passage answers, behind the answer
            to the others.
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
    choices: tuple[str, ...] = ()
    form: Literal["", "answer", "ask"] = ""
    verdict: str = ""
    fallback: str = ""
    read_as: str = ""
    unfound: str = ""

    def trace(self) -> dict[str, Any]:
        """What a record holds of it."""
        names = ("outcome", "level", "signals", "found", "missing", "choices", "read_as", "unfound")
        row = {name: getattr(self, name) for name in names}
        row |= {name: list(row[name]) for name in ("found", "missing", "choices")}
        if self.verdict:
            row["disagrees"] = (self.verdict == "unanswerable") != (
                self.signals["confidence"] <= self.level
            )
        return row | {"why": self.explain()}

    def explain(self) -> str:
        """Say what was decided and why, in a sentence: "Refused: the nearest passage has 1 of the 3
        words ...".
        """
        if self.outcome == "conversational":
            return "Nothing was asked"
        said = {
            "answered": "Answered",
            "partial": "Answered in part",
            "unanswerable": "Refused",
            "asked": "Asked back",
        }
        words = f"{len(self.found)} of the {len(self.found) + len(self.missing)} words that matter"
        several = (
            "; several documents have what it refers to" if self.signals.get("reference") else ""
        )
        level = (
            f"; confidence {self.signals['confidence']:.2f}, the level is {self.level:.2f}"
            if self.level
            else ""
        )
        by = " by the model" if self.verdict else ""
        return f"{said[self.outcome]}{by}: the nearest passage has {words}{several}{level}"

    def keep_best(self, nuggets: Sequence[Nugget]) -> dict[Nugget, float]:
        """Rate the nuggets by what they say of what is asked, without those far behind the best,
        and outdated ones.
        """
        rated = {nugget: self._rate(nugget) for nugget in nuggets}
        least = NEAR_BEST * max(rated.values(), default=0.0)
        return {nugget: rate for nugget, rate in rated.items() if rate >= least and rate > 0}

    def _rate(self, nugget: Nugget) -> float:
        of = (match for key, match in self.ranked if key == nugget.passage_id)
        return max(
            (match.rate for match in of if match.start < nugget.end and nugget.start < match.end),
            default=0.0,
        )

    def adds(self, known: Sequence[str], text: str) -> bool:
        """Whether a sentence adds to what other sentences say of the question."""
        stems = find_matching_stems(" ".join(known), self.weights)
        return not known or adds_words(stems, find_matching_stems(text, self.weights), self.weights)

    def refuse(self) -> "Decision":
        """The same decision, not to answer."""
        return replace(self, outcome="unanswerable", reply=self.refusal)

    def ask_back(self, question: str, choices: Sequence[str]) -> "Decision":
        """The same decision, to ask which of the choices is meant."""
        return replace(
            self, outcome="asked", reply=format_question(question, choices), choices=tuple(choices)
        )

    def note_verdict(self, verdict: Outcome) -> "Decision":
        """The same decision as a model has made it."""
        return replace(self, outcome=verdict, verdict=verdict)

    def make_answer(self, trace: Mapping[str, Any] | None = None) -> Answer:
        """The answer of a turn that has none."""
        return Answer(
            self.reply, (), {"outcome": self.outcome, "decision": self.trace(), **(trace or {})}
        )


class DecidingGenerator(Generator):
    """A generator that may refuse or ask back: the rewriter reads the conversation as `understand`
    does.
    """

    decider: "Decider"
    """Of a generator that decides; another one is without."""

    def read(self, question: Question) -> Question:
        """The question with what it replies to, without our refusals and questions; no text where
        nothing is asked.
        """
        return self.decider.read(question) if hasattr(self, "decider") else understand(question)


NEAR_BEST = 0.75
"""Of the best rate: the least rate of a nugget that may be quoted."""


@dataclass
class Decider:
    """Decides for a generator. Without a language model the signals decide; a model decides by its
    reply.

    Args:
        llm: answers, or rules in its place.
        dataset: its corpus tells rare words from common ones; without it, all words count the same.
        store: keeps the document frequencies.
        refuse: a level; see LEVELS.
        ask: "auto" asks back where a question refers to something that nothing before it names, and
            that passages of several documents have; "always" also where it is unclear by all
            signals.
        in_reply: whether a model is asked to decide in the reply that answers, see
            `convrag.sdk.llm.verdicts`.
    """

    llm: LLM | None
    dataset: Dataset | None
    store: Store | None
    refuse: str
    ask: Asking = "never"
    in_reply: bool = False

    def __post_init__(self) -> None:
        self.by_rules = self.llm is None or self.llm.tasks is not None
        self.level = parse_level(self.refuse)

    @property
    def quotes(self) -> bool:
        """Whether the answer is quoted, of sentences that the decision has matched."""
        return self.by_rules and self.level > 0

    def read(self, question: Question) -> Question:
        """Read a question as the rewriter needs it, see `understand`; without a text where nothing
        is asked.
        """
        asked = understand(question)
        courtesy = self._may_decline and is_courtesy(asked.text)
        return replace(asked, text="") if courtesy else asked

    def note(self, decision: Decision, verdict: Outcome) -> Decision:
        """Note in a decision what a model has decided by what it found; rules find nothing of their
        own.
        """
        return decision if self.by_rules else decision.note_verdict(verdict)

    @property
    def _may_decline(self) -> bool:
        return self.level > 0 or self.ask != "never"

    def decide(self, question: Question, evidence: Evidence) -> Decision:
        """Decide on a question. Where a model speaks, it is still to decide, and the signals are
        what it is told by.
        """
        text = understand(question).text
        if self._may_decline and is_courtesy(text):
            thanked = re.search(r"\b(?:thank|thx|cheers)", text.lower())
            return Decision("conversational", {}, self.level, reply=COURTESIES[0 if thanked else 1])
        if self.by_rules and self.level and question.history and (about := speaks_of_answer(text)):
            first = (
                get_first_sentence(remove_citations(question.history[-1].answer))
                if about == "length"
                else ""
            )
            return Decision("conversational", {}, self.level, reply=first or WITHOUT_MODEL)
        frequencies = DocumentFrequencies()
        if self.by_rules and self.dataset is not None and self.store is not None:
            frequencies = count_document_frequencies(self.dataset, self.store)
        last = question.history[-1].question if question.history else ""
        asked = read_question(text, question.standalone, frequencies, before=last)
        passages = {item.passage.id: item.passage for item in evidence.items}
        matches = {
            n: match_sentences(asked, p.text, p.title) for n, p in passages.items() if self.by_rules
        }
        before = {find_source(each) for turn in question.history[-1:] for each in turn.passages}
        near = {key for key, each in passages.items() if find_source(each) in before}
        elsewhere = passages.keys() - near if near and refers_back(text) else frozenset[str]()
        noun, known = (
            "",
            find_stems(
                " ".join(f"{turn.question} {turn.answer}" for turn in question.whole_history)
            ),
        )
        if (
            len(
                choices := list_choices(
                    passages.values(), found := find_open_reference(text, known)
                )
            )
            > 1
        ):
            noun = found
        signals, nearest = _compute_signals(asked, passages, matches, known, frequencies)
        parts, unfound, covered = split_question(text) if self.by_rules else [], [], []
        texts = {key: f"{each.name}\n{each.content}" for key, each in passages.items()}
        ranked = rank_sentences(matches, texts, elsewhere)
        for part in (
            parts if len(parts) > 1 else ()
        ):  # what answers one of them answers the question in part
            of_part = read_question(part, find_added(text, question.standalone), frequencies)
            of_each = {
                key: match_sentences(of_part, each.text, each.title)
                for key, each in passages.items()
            }
            other, its_nearest = _compute_signals(of_part, passages, of_each, known, frequencies)
            covered.append(other["covered"])
            if self.level and covered[-1] < HALF:  # `source` is of the search for all parts
                unfound.append(part.removesuffix(f" ({parts[0]})").strip(" ?？"))
            else:
                ranked += rank_sentences(of_each, texts, elsewhere)
            if other["confidence"] > signals["confidence"]:
                signals, nearest = {**other, "covered": signals["covered"]}, its_nearest
        signals["reference"] = float(bool(noun))
        certain = 2 - signals["new"] - signals["reference"]
        signals["unclear"] = (
            1 - (certain + signals["rare"] + signals["source"] + signals["confidence"]) / 5
        )
        words = {word.stem: word.text for word in find_content_words(text)}
        has = find_stems(nearest.content) if nearest else frozenset[str]()
        decision = Decision(
            "partial"
            if self.level and min(covered or [signals["covered"]]) < PARTLY
            else "answered",
            {name: round(value, 4) for name, value in signals.items()},
            self.level,
            tuple(each for stem, each in words.items() if stem in has),
            tuple(each for stem, each in words.items() if stem not in has),
            ranked,
            asked.own_weights or asked.weights,
            _write_refusal(
                tell_language(text), frequencies.size, words, list(passages.values()), nearest
            ),
            read_as=text if text != question.text else "",
            unfound=_write_unfound(tell_language(text), frequencies.size, unfound),
        )
        may_ask = (
            self.ask != "never" and not decision.read_as
        )  # what replies to a question of ours is clear enough
        if not self.by_rules and self.in_reply:
            return replace(
                decision, form="ask" if may_ask else "answer" if self._may_decline else ""
            )
        if (
            may_ask
            and len(choices) > 1
            and (noun or (self.ask == "always" and signals["unclear"] > UNCLEAR))
        ):
            return decision.ask_back(f"Which {noun or 'of these'} do you mean?", choices)
        refused = self.by_rules and self.level and signals["confidence"] <= self.level
        return decision.refuse() if refused else decision


def _compute_signals(
    asked: Asked,
    passages: Mapping[str, Passage],
    matches: Mapping[str, Sequence[MatchedSentence]],
    known: Set[str],
    frequencies: DocumentFrequencies,
) -> tuple[dict[str, float], Passage | None]:
    """Compute the signals, and find the passage that says most of what is asked."""
    own = asked.own_weights or asked.weights
    total = sum(own.values()) or 1.0
    shares = {
        n: add_weights(find_matching_stems(each.content, own), own) / total
        for n, each in passages.items()
    }
    best = {
        n: max((match.sure for match in found), default=0.0) for n, found in matches.items()
    } or shares
    sentence, first = max(best.values(), default=0.0), next(iter(best.values()), 0.0)
    sources = Counter(find_source(each) for each in passages.values())
    telling = (
        frequencies.sources >= 4 * len(passages) and frequencies.passages >= 2 * frequencies.sources
    )
    source = max(sources.values()) / len(passages) if telling and passages else NEUTRAL
    if (
        add_weights(own.keys() - frequencies.counts.keys(), own) > UNKNOWN * total
        and frequencies.counts
    ):
        source = min(source, NEUTRAL)
    covered = max(shares.values(), default=0.0)  # what is asked need not stand in one sentence
    signals = {
        "confidence": ((covered + first) / 2 + source) / 2,
        "sentence": sentence,
        "first": first,
    }
    signals |= {"source": source, "covered": covered}
    signals["new"] = add_weights(own.keys() - known, own) / total if own else 1.0
    signals["rare"] = max(own.values(), default=0.0) / (math.log(frequencies.passages + 1) or 1.0)
    return signals, max(passages.values(), key=lambda each: best[each.id], default=None)


def _write_unfound(language: str, size: str, parts: Sequence[str]) -> str:
    nothing = REFUSAL.get(language, REFUSAL["english"])[0].format(size=size or "passages")
    return f"{nothing[:-1]}: {'; '.join(parts)}." if parts else ""


def _write_refusal(
    language: str,
    size: str,
    words: Mapping[str, str],
    passages: Sequence[Passage],
    nearest: Passage | None,
) -> str:
    """What was looked for and where, the nearest passage with what it has, and what else speaks of
    it.
    """
    nothing, looked_for, near, also_near = REFUSAL.get(language, REFUSAL["english"])
    text = nothing.format(size=size or "passages")
    if words:
        text += looked_for.format(words=_list_words(words.values()))
    if nearest and (
        found := [word for stem, word in words.items() if stem in find_stems(nearest.content)]
    ):
        text += near.format(name=format_line(nearest.name), found=_list_words(found))
        speak = (each for each in passages if words.keys() & find_stems(each.content))
        if others := [
            name for name in list_choices(speak) if name != format_line(name_passage(nearest))
        ]:
            text += also_near.format(others="; ".join(others))
    return text


def _list_words(words: Iterable[str]) -> str:
    """Words with commas between them; pieces of two characters that follow each other are one."""
    listed: list[str] = []
    for word in words:
        if listed and word[0] >= UNSPACED and listed[-1].endswith(word[0]):
            listed[-1] += word[1:]
        else:
            listed.append(word)
    return ", ".join(listed)
