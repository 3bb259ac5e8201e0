"""Evidence spans: the parts of the shown passages that a model quotes, looked up in the passages."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from convrag import LLM, Evidence, EvidenceItem, LLMError, PromptTemplate, Question
from convrag.sdk.alignment import Aligner, keep_outermost
from convrag.sdk.llm_rewriter import format_exchanges
from convrag.sdk.prompts import add_profile
from convrag.sdk.structured_output import ask_json
from convrag.sdk.types import PassageSpan
from convrag.sdk.words import GRAMMAR_WORDS, find_stems

Verdict = Literal["full", "part", "none"]
"""Whether the spans answer the question, as the model that marked them says."""


class EvidenceSpan(NamedTuple):
    """A part of a passage, and by which number the evidence and the answer name the passage."""

    passage: int
    span: PassageSpan
    text: str


@dataclass(frozen=True)
class MarkedSpans:
    """The spans of a turn, in the order of the passages, and what the model said of them.

    `dropped` quotations are in no passage. `asks` is False where the utterance asks nothing ("Thank you!"). `failure`
    says why nothing is known: the call failed, or not one quotation was found.
    """

    spans: tuple[EvidenceSpan, ...] = ()
    dropped: int = 0
    verdict: Verdict = "none"
    asks: bool = True
    failure: str = ""


@dataclass
class SpanMarker:
    """Asks a model which parts of the passages bear on the question, and looks its quotations up in the passages.

    Args:
        llm: the language model.
        template: of the task "spans".
        sampling: of the call.
        fuzzy: the least similarity of a quotation with its match, 0 to 1.
    """

    llm: LLM
    template: PromptTemplate
    sampling: dict[str, Any]
    fuzzy: float

    def mark(self, question: Question, evidence: Evidence) -> MarkedSpans:
        """One call of the LLM, or two where the first reply cannot be read."""
        prompt = self.template.render(self.sampling, **describe_question(question), evidence=list_passages(evidence))
        from convrag_drafts.reply_forms import SpansReply

        try:
            reply = ask_json(self.llm, add_profile(prompt, question.profile), SpansReply)
        except LLMError as error:
            return MarkedSpans(failure=str(error))
        if not reply.asks:
            return MarkedSpans(asks=False)
        quotes = [(quotation.passage, quotation.quote) for quotation in reply.spans]
        spans = list(self._look_up(quotes, evidence))
        found = sum(len(places) for _, places in spans)
        kept = tuple(span for item, places in spans for span in _make_spans(item, places))
        dropped = len(quotes) - found
        failure = f"none of the {dropped} quotations is in the passage that it names" if dropped and not kept else ""
        return MarkedSpans(kept, dropped, reply.answered, True, failure)

    def _look_up(
        self, quotes: Sequence[tuple[int, str]], evidence: Evidence
    ) -> Iterator[tuple[EvidenceItem, list[tuple[int, int]]]]:
        """Yield each passage that is quoted, with the places of its quotations that were found."""
        for item in evidence.items:
            own = [quote for number, quote in quotes if number == item.number]
            aligner = Aligner(item.passage.text, self.fuzzy) if own else None
            aligned = [aligner.align(quote) for quote in own if aligner]
            yield item, [(each.start, each.end) for each in aligned if each]


def _make_spans(item: EvidenceItem, places: list[tuple[int, int]]) -> Iterator[EvidenceSpan]:
    for start, end in keep_outermost(places):
        yield EvidenceSpan(item.number, PassageSpan(item.passage.id, start, end), item.passage.text[start:end])


def describe_question(question: Question) -> dict[str, Any]:
    """The inputs of a prompt that say what is asked: `question`, `standalone`, and the `history`, oldest first."""
    standalone = question.standalone if question.standalone != question.text else ""
    return {"question": question.text, "standalone": standalone, "history": format_exchanges(question.history)}


def list_passages(evidence: Evidence) -> list[dict[str, Any]]:
    """The passages as inputs of a prompt; a hint at an earlier message stands for the whole passage."""
    return [
        {"number": item.number, "title": item.passage.title, "text": item.passage.content if item.hint else item.text}
        for item in evidence.items
    ]


Answerability = Literal["answerable", "partial", "unanswerable", "conversational", "unknown"]
"""What was decided. Conversational: nothing is asked. Unknown: the spans could not be marked."""

_VERDICTS = {"full": 1.0, "part": 0.5, "none": 0.0}


@dataclass(frozen=True)
class Decision:
    """What was decided, from which features."""

    answerability: Answerability
    features: Mapping[str, float]


def decide(query: str, evidence: Evidence, marked: MarkedSpans) -> Decision:
    """Decide what becomes of a turn, by the verdict of the model that marked the spans; no answer without a span."""
    features = compute_features(query, evidence, marked)
    if not marked.asks:
        return Decision("conversational", features)
    if marked.failure:
        return Decision("unknown", features)
    decisions: dict[float, Answerability] = {1.0: "answerable", 0.5: "partial", 0.0: "unanswerable"}
    return Decision(decisions[features["verdict"]], features)


def compute_features(query: str, evidence: Evidence, marked: MarkedSpans) -> dict[str, float]:
    """What is known of the passages, for the decision and the trace.

    `verdict`: 1, .5 or 0, as the model says that the spans answer the question in full, in part or not. `coverage`: the
    share of the question's content words that the spans have. `passages`: the share of the passages that have a span.
    `score`: the best retrieval score, where it is known.
    """
    wanted = find_stems(query, GRAMMAR_WORDS)
    found = frozenset[str]().union(*(find_stems(span.text, GRAMMAR_WORDS) for span in marked.spans))
    features = {
        "verdict": _VERDICTS[marked.verdict] if marked.spans else 0.0,
        "coverage": len(wanted & found) / len(wanted) if wanted else 0.0,
        "passages": len({span.passage for span in marked.spans}) / len(evidence.items) if evidence.items else 0.0,
    }
    scores = [item.score for item in evidence.items if item.score is not None and math.isfinite(item.score)]
    return features | ({"score": max(scores)} if scores else {})
