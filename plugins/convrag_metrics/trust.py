"""`metrics=trust`: whether answers are faithful, complete and appropriate, by the words in common
with the passages.
"""

from collections.abc import Iterable, Mapping, Sequence

from convrag import Dataset, Measurement, Metrics, Report, TurnRecord
from convrag.sdk.text.answers import References, lacks_part
from convrag.sdk.text.support import (
    SentenceSupport,
    judge_sentences,
    measure_coverage,
    read_claims,
)
from convrag_metrics.idk import ANSWERABILITY, UNANSWERABLE, detect_idk_answer, withholds_answer

_MEASURES = (
    "faithfulness",
    "faithfulness_cited",
    "completeness",
    "appropriateness",
    "refusal",
    "unsupported",
)

AGREEMENT = {"faithfulness": 0.73, "completeness": 0.56, "appropriateness": 0.41}
"""Spearman's correlation with the mean mark of three people, by benchmarks/quality/trust.py."""
JUDGED = "158 answers of language models to MTRAG's questions about two of its four corpora"


class TrustMetrics(Metrics):
    """Faithfulness, completeness and appropriateness of answers without a model, from the words of the passages shown.

    How far these numbers can be trusted: on 158 answers of language models (MTRAG, two corpora),
    Spearman's correlation with the marks of three people is .73 for trust_faithfulness (a language
    model as the judge, RL_F: .68; one person with the two others: .56 to .66), .56 for
    trust_completeness (.58) and .41 for trust_appropriateness (.32).

    trust_faithfulness is how much of an answer the passages support: the mean of the support of its
    sentences and of whether they are supported (see convrag.sdk.text.support), by their words.
    trust_faithfulness_cited also takes the passages that earlier turns cited. trust_appropriateness
    is the share of the words in supported sentences, trust_completeness is faithfulness times the
    share of what the passages say about the question that the answer says, trust_refusal whether it
    says that it does not know (1; of a part: .5), trust_unsupported how many sentences are not
    supported: the report, the page and /why mark them. Where "I do not know" is right by the label
    `answerability`, it scores 1. Turns to which no passage was shown are left out, and counted.

    Args:
        dataset: whose label `answerability` says which questions cannot be answered.
    """

    reads = ("answer",)

    def __init__(self, *, dataset: Dataset) -> None:
        self.references = References(dataset)

    def list_measures(self) -> Sequence[str]:
        return [f"trust_{name}" for name in _MEASURES]

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """The measures of each turn with an answer and passages; how many have none; and how far to
        trust them.
        """
        measured: dict[str, Mapping[str, float]] = {}
        left_out: list[str] = []
        cited: dict[str, dict[str, str]] = {}
        for record in records:
            earlier = cited.setdefault(record.conversation_id, {})
            passages = {
                item.passage.id: item.passage.content or item.text for item in record.evidence.items
            }
            if passages and not lacks_part(record, "answer"):
                values = self._measure_turn(record, list(passages.values()), list(earlier.values()))
                measured[record.turn_id] = {
                    f"trust_{name}": value for name, value in values.items()
                }
            else:
                left_out.append(record.turn_id)
            earlier |= {
                name: passages[name] for name in record.answer.citations if name in passages
            }
        return Measurement(measured, report=_report(len(measured), left_out))

    def _measure_turn(
        self, record: TurnRecord, passages: list[str], earlier: list[str]
    ) -> dict[str, float]:
        answer, question, idk = (
            read_claims(record),
            record.original_query,
            detect_idk_answer(record),
        )
        refusal = {"refusal": {"yes": 1.0, "partly": 0.5}.get(idk, 0.0)}
        label = self.references.find_label(record, ANSWERABILITY)
        if label in UNANSWERABLE and withholds_answer(label, idk):
            return dict.fromkeys(_MEASURES[:4], 1.0) | refusal | {"unsupported": 0.0}
        sentences = judge_sentences(answer, passages, question)
        faithfulness = _weigh_support(sentences)
        words = sum(sentence.words for sentence in sentences) or 1
        values = {
            "faithfulness": faithfulness,
            "faithfulness_cited": _weigh_support(
                judge_sentences(answer, [*passages, *earlier], question)
            ),
            "appropriateness": sum(each.words * each.supported for each in sentences) / words,
            "unsupported": float(sum(not sentence.supported for sentence in sentences)),
        }
        coverage = measure_coverage(answer, passages, record.rewritten_query)
        return values | refusal | {"completeness": faithfulness * coverage}


def _weigh_support(sentences: Sequence[SentenceSupport]) -> float:
    """The mean of the support of sentences and of whether they are supported, by their words; 0
    without any.
    """
    words = sum(sentence.words for sentence in sentences)
    return (
        sum(each.words * (each.support + each.supported) / 2 for each in sentences) / words
        if words
        else 0.0
    )


def _report(measured: int, left_out: Sequence[str]) -> Report | None:
    if not measured and not left_out:
        return None
    figures = ", ".join(f"{name} {value:.2f}" for name, value in AGREEMENT.items())
    lines = [
        f"Trust: with people's marks these measures correlate by {figures} (Spearman, {JUDGED})"
    ]
    if left_out:
        lines.append(
            f"Trust: {len(left_out)} turns without an answer or passages are left out, such as {left_out[0]}"
        )
    return Report(
        "trust", tuple(lines), {"trust": {"measured": measured, "left_out": len(left_out)}}
    )
