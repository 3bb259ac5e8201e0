"""Whether a question is answered, refused or asked back, and the signal by which that is decided.

The signal, `confidence`, is the share of the question's words that the best of the first five
passages has, each word weighted by its idf; of the question as it was asked or as it was searched
for, whichever is higher. Without a language model, a question is refused where
it is below the threshold (`generator.refuse`). A model decides in its reply
(`convrag.sdk.llm.verdicts`), and the signal is only recorded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Interval

from convrag.api.answers import Answer
from convrag.api.conversations import Question, Turn
from convrag.api.evidence import Evidence
from convrag.api.passages import Passage
from convrag.api.stage import LLM
from convrag.api.stages import Dataset, Generator
from convrag.sdk.search.frequencies import DocumentFrequencies, count_document_frequencies
from convrag.sdk.text.analysis import find_content_words, find_stems
from convrag.sdk.text.clarification import find_choice, format_question, read_choices
from convrag.sdk.text.overlap import compute_share, weigh_query
from convrag.sdk.text.refusals import REFUSALS, write_refusal
from convrag.store.store import Store

Outcome = Literal["answered", "partial", "unanswerable", "asked"]

Asking = Literal["never", "auto"]
"""Whether a language model may ask the user back."""

Threshold = Annotated[float, Interval(ge=0, le=1)]

REFUSE = 0.5
"""The default threshold: passages without half of the question are about something else."""

FIRST = 5
"""The passages of which the best one counts."""


class Match(NamedTuple):
    """How much of a question its passages have.

    Args:
        confidence: the share of the question's weight that the best passage has, 0 to 1.
        nearest: the position of that passage; None without passages.
    """

    confidence: float
    nearest: int | None


def match_passages(texts: Sequence[str], *readings: Mapping[str, float]) -> Match:
    """Find the best of the first five passages, and the share of a question that it has.

    Without passages, or for a question without content words, the confidence is 0.

    Args:
        texts: of passages with their titles, the best first.
        readings: stem -> weight of the words of the question as it was asked, and as it was
            searched for: a follow-up is answered by what either names.
    """
    if not texts:
        return Match(0.0, None)
    shares = [max(compute_share(text, weights) for weights in readings) for text in texts[:FIRST]]
    best = max(shares)
    return Match(best, shares.index(best))


@dataclass(frozen=True)
class Decision:
    """The outcome of a turn, and its reasons.

    Args:
        outcome: what was decided.
        signals: the signal by its name, `confidence`.
        level: the threshold below which the question is refused.
        found: the content words that the nearest passage has, as the user wrote them.
        missing: those that it lacks.
        refusal: what is said where the question is refused.
        reply: the text of the answer, where it is known: a refusal, or what a model has written.
        choices: what a question back offers.
        form: what a model is to decide: whether to answer, or also whether to ask back; empty where
            none decides.
        verdict: what the model has decided; empty where none has.
        fallback: why a model's reply was not used as it came; empty if it was.
        read_as: the question with the choice that it makes, where it answers a question back.
    """

    outcome: Outcome
    signals: Mapping[str, float]
    level: float
    found: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    refusal: str = ""
    reply: str = ""
    choices: tuple[str, ...] = ()
    form: Literal["", "answer", "ask"] = ""
    verdict: str = ""
    fallback: str = ""
    read_as: str = ""

    @property
    def is_below_level(self) -> bool:
        """Whether the signal alone would refuse."""
        return self.signals["confidence"] < self.level

    def trace(self) -> dict[str, Any]:
        """Return what a record has of the decision."""
        row: dict[str, Any] = {
            "outcome": self.outcome,
            "level": self.level,
            "signals": dict(self.signals),
            "found": list(self.found),
            "missing": list(self.missing),
            "choices": list(self.choices),
            "read_as": self.read_as,
        }
        if self.verdict:
            row["disagrees"] = (self.verdict == "unanswerable") != self.is_below_level
        return row | {"why": self.explain()}

    def explain(self) -> str:
        """Say what was decided and why: "Refused: the nearest passage has 1 of ..."."""
        outcomes = {
            "answered": "Answered",
            "partial": "Answered in part",
            "unanswerable": "Refused",
            "asked": "Asked back",
        }
        by = " by the model" if self.verdict else ""
        words = f"{len(self.found)} of the {len(self.found) + len(self.missing)} words that matter"
        text = f"{outcomes[self.outcome]}{by}: the nearest passage has {words}"
        if self.level:
            confidence = self.signals["confidence"]
            text += f"; confidence {confidence:.2f}, the level is {self.level:.2f}"
        return text

    def refuse(self) -> "Decision":
        """Return the same decision, not to answer."""
        return replace(self, outcome="unanswerable", reply=self.refusal)

    def ask_back(self, question: str, choices: Sequence[str]) -> "Decision":
        """Return the same decision, to ask which of the choices is meant."""
        reply = format_question(question, choices)
        return replace(self, outcome="asked", reply=reply, choices=tuple(choices))

    def note_verdict(self, verdict: Outcome) -> "Decision":
        """Return the same decision as a model has made it."""
        return replace(self, outcome=verdict, verdict=verdict)

    def make_answer(self, trace: Mapping[str, Any] | None = None) -> Answer:
        """Make the answer of a turn that is refused or asked back."""
        decided = {"outcome": self.outcome, "decision": self.trace()}
        return Answer(self.reply, (), {**decided, **(trace or {})})


def read_choice(question: Question) -> str:
    """Return the text of a question, with the choice that it makes as `understand` reads it."""
    text = question.text
    choices = []
    for turn in reversed(question.history):
        choice = find_choice(text, read_choices(turn.answer))
        if not choice:
            break
        choices.append(choice)
        text = turn.question
    if not choices:
        return question.text
    return " ".join([text.strip(), *(f"({choice})" for choice in reversed(choices))])


def understand(question: Question) -> Question:
    """Return a question and its history as a rewriter reads them.

    A question back and the choice that answers it become one turn: the user's question with the
    choice after it, "Is the road closed? (Route 9)". Any other reply is for the rewriter to
    understand. The answer of a turn that was refused is empty, lest its words be searched for.
    """
    turns: list[Turn] = []
    for turn in (*question.history, Turn(question.turn_id, question.text)):
        choices = read_choices(turns[-1].answer) if turns else []
        choice = find_choice(turn.question, choices) if choices else ""
        if choice:
            asked = turns.pop().question.strip()
            turn = replace(turn, question=f"{asked} ({choice})")
        turns.append(turn)
    *earlier, current = turns
    history = tuple(_empty_refusal(turn) for turn in earlier)
    return replace(question, text=current.question, history=history)


def _empty_refusal(turn: Turn) -> Turn:
    """Return a turn without its answer if that is a refusal.

    It is made anew, since `replace` takes longer, which counts over a long history.
    """
    if not turn.answer.startswith(REFUSALS):
        return turn
    return Turn(turn.id, turn.question, "", turn.passages, turn.labels, turn.shown)


class DecidingGenerator(Generator):
    """A generator that may refuse or ask back, and reads its own refusals and questions back."""

    def read(self, question: Question) -> Question:
        """Return the question with the choice that it makes, and the history without refusals."""
        return understand(question)


@dataclass
class Decider:
    """Decides for a generator whether a question is answered.

    Args:
        llm: writes the answer; without a language model, the signal decides.
        dataset: its corpus tells rare words from common ones; without it, all words count the same.
        store: keeps the document frequencies.
        refuse: the threshold of the signal; 0 answers every question.
        ask: whether a model may ask back.
        in_reply: whether a model is asked to decide in the reply that answers, see
            `convrag.sdk.llm.verdicts`.
    """

    llm: LLM | None
    dataset: Dataset | None
    store: Store | None
    refuse: float = REFUSE
    ask: Asking = "never"
    in_reply: bool = False

    @property
    def has_model(self) -> bool:
        """Whether a language model writes the answer."""
        return self.llm is not None and self.llm.tasks is None

    def decide(self, question: Question, evidence: Evidence) -> Decision:
        """Decide on a question; where a model decides, prepare its decision."""
        text = read_choice(question)
        passages = list({item.passage.id: item.passage for item in evidence.items}.values())
        texts = [each.content for each in passages]
        match = match_passages(texts, self.weigh(text), self.weigh(question.standalone))
        nearest = None if match.nearest is None else passages[match.nearest]
        found, missing = _split_found(text, nearest)
        size = self._get_frequencies().size
        decision = Decision(
            "answered",
            {"confidence": round(match.confidence, 4)},
            self.refuse,
            found,
            missing,
            refusal=write_refusal(text, passages, nearest, size),
            read_as=text if text != question.text else "",
        )
        if self.has_model:
            return replace(decision, form=self._choose_form(decision))
        return decision.refuse() if decision.is_below_level else decision

    def weigh(self, text: str) -> dict[str, float]:
        """Weigh the content words of a question or a query: stem -> idf."""
        return weigh_query(text, self._get_frequencies())

    def note(self, decision: Decision, verdict: Outcome) -> Decision:
        """Note in a decision what a model has decided by what it found."""
        return decision.note_verdict(verdict) if self.has_model else decision

    def _choose_form(self, decision: Decision) -> Literal["", "answer", "ask"]:
        """Choose what the model decides; what answers a question back is not asked back again."""
        if not self.in_reply:
            return ""
        if self.ask != "never" and not decision.read_as:
            return "ask"
        return "answer" if self.refuse > 0 or self.ask != "never" else ""

    def _get_frequencies(self) -> DocumentFrequencies:
        """Count the corpus where the signal decides; with a model, all words count the same."""
        if self.has_model or self.dataset is None or self.store is None:
            return DocumentFrequencies()
        return count_document_frequencies(self.dataset, self.store)


def _split_found(text: str, passage: Passage | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split the content words of a question into those that a passage has, and the others."""
    stems = find_stems(passage.content) if passage else frozenset[str]()
    words = {word.stem: word.text for word in find_content_words(text)}
    found = tuple(word for stem, word in words.items() if stem in stems)
    missing = tuple(word for stem, word in words.items() if stem not in stems)
    return found, missing
