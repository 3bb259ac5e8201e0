"""`metrics=trust`: whether answers are faithful, complete and appropriate, by shared words."""

from collections.abc import Iterable, Mapping, Sequence

from convrag import Dataset, Measurement, Metrics, Report, TurnRecord
from convrag.sdk.text.answers import References, lacks_part
from convrag.sdk.text.support import (
    SentenceSupport,
    judge_sentences,
    measure_coverage,
    read_claims,
)
from convrag_metrics.answerability_labels import ANSWERABILITY, UNANSWERABLE, withholds_answer
from convrag_metrics.idk import detect_idk_answer

_MEASURES = (
    "faithfulness",
    "faithfulness_cited",
    "completeness",
    "appropriateness",
    "refusal",
    "unsupported",
)

_REFUSAL = {"yes": 1.0, "partly": 0.5}

AGREEMENT = {"faithfulness": 0.73, "completeness": 0.56, "appropriateness": 0.41}
"""Spearman's correlation with the mean mark of three people, by benchmarks/quality/trust.py."""
JUDGED = "158 answers of language models to MTRAG's questions about two of its four corpora"


class TrustMetrics(Metrics):
    """Faithfulness, completeness and appropriateness of answers, from the words of the passages.

    No model is asked. How far these numbers can be trusted: on 158 answers of language models
    (MTRAG, two corpora), Spearman's correlation with the marks of three people is .73 for
    trust_faithfulness (a language model as the judge, RL_F: .68; one person with the two others:
    .56 to .66), .56 for trust_completeness (.58) and .41 for trust_appropriateness (.32).

    trust_faithfulness is how much of an answer the passages support: the mean of the support of its
    sentences and of whether they are supported (see convrag.sdk.text.support), by their words.
    trust_faithfulness_cited also takes the passages that earlier turns cited. trust_appropriateness
    is the share of the words in supported sentences, trust_completeness is faithfulness times the
    share of what the passages say about the question that the answer says, trust_refusal whether it
    says that it does not know (1; of a part: .5), trust_unsupported how many sentences are not
    supported: the report, the page and /why mark them. Where "I do not know" is right by the label
    `answerability`, it scores 1. Turns to which no passage was shown are left out, and counted.

    Args:
        dataset: has the label `answerability`, which says which questions cannot be answered.
    """

    reads = ("answer",)

    def __init__(self, *, dataset: Dataset) -> None:
        self.references = References(dataset)

    def list_measures(self) -> Sequence[str]:
        return [f"trust_{name}" for name in _MEASURES]

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """Measure each turn with an answer and passages; report how far to trust the numbers."""
        measured: dict[str, Mapping[str, float]] = {}
        left_out: list[str] = []
        cited_before: dict[str, dict[str, str]] = {}
        for record in records:
            cited = cited_before.setdefault(record.conversation_id, {})
            passages = {item.passage.id: item.all_text for item in record.evidence.items}
            if passages and not lacks_part(record, "answer"):
                values = self._measure_turn(record, list(passages.values()), list(cited.values()))
                measured[record.turn_id] = {
                    f"trust_{name}": value for name, value in values.items()
                }
            else:
                left_out.append(record.turn_id)
            for passage_id in record.answer.citations:
                if passage_id in passages:
                    cited[passage_id] = passages[passage_id]
        return Measurement(measured, report=_make_report(len(measured), left_out))

    def _measure_turn(
        self, record: TurnRecord, passages: list[str], cited: list[str]
    ) -> dict[str, float]:
        """Measure a turn.

        Args:
            record: the turn.
            passages: the passages that were shown.
            cited: the passages that earlier turns cited.
        """
        idk = detect_idk_answer(record)
        refusal = _REFUSAL.get(idk, 0.0)
        label = self.references.find_label(record, ANSWERABILITY)
        if label in UNANSWERABLE and withholds_answer(label, idk):
            return {
                "faithfulness": 1.0,
                "faithfulness_cited": 1.0,
                "completeness": 1.0,
                "appropriateness": 1.0,
                "refusal": refusal,
                "unsupported": 0.0,
            }
        answer = read_claims(record)
        question = record.original_query
        sentences = judge_sentences(answer, passages, question)
        sentences_by_cited = judge_sentences(answer, [*passages, *cited], question)
        faithfulness = _weigh_support(sentences)
        coverage = measure_coverage(answer, passages, record.rewritten_query)
        words = sum(sentence.words for sentence in sentences) or 1
        supported_words = sum(sentence.words for sentence in sentences if sentence.supported)
        return {
            "faithfulness": faithfulness,
            "faithfulness_cited": _weigh_support(sentences_by_cited),
            "completeness": faithfulness * coverage,
            "appropriateness": supported_words / words,
            "refusal": refusal,
            "unsupported": float(sum(not sentence.supported for sentence in sentences)),
        }


def _weigh_support(sentences: Sequence[SentenceSupport]) -> float:
    """Average the support of sentences and whether they are supported, weighted by words.

    It is 0 without any sentence.
    """
    words = sum(sentence.words for sentence in sentences)
    if not words:
        return 0.0
    support = sum(each.words * (each.support + each.supported) / 2 for each in sentences)
    return support / words


def _make_report(measured: int, left_out: Sequence[str]) -> Report | None:
    if not measured and not left_out:
        return None
    figures = ", ".join(f"{name} {value:.2f}" for name, value in AGREEMENT.items())
    lines = [
        f"Trust: with people's marks these measures correlate by {figures} (Spearman, {JUDGED})"
    ]
    if left_out:
        lines.append(
            f"Trust: {len(left_out)} turns without an answer or passages are left out, such as "
            f"{left_out[0]}"
        )
    return Report(
        "trust", tuple(lines), {"trust": {"measured": measured, "left_out": len(left_out)}}
    )
