"""`metrics=rb_agg`: MTRAG's RB_agg, of answers against references and passages."""

from collections.abc import Iterable, Mapping, Sequence

from convrag import TurnRecord
from convrag_metrics.answerability_labels import ANSWERABILITY, condition_on_answerability
from convrag_metrics.bert_metrics import BertMetrics
from convrag_metrics.idk import detect_idk_answer
from convrag_metrics.token_overlap import measure_rouge_l


class RbAggMetrics(BertMetrics):
    """MTRAG's RB_agg: the harmonic mean of ROUGE-L, BERT recall and BERT K-precision.

    It is conditioned on answerability. The two BERTScores are mapped from [-1, 1] to [0, 1]. RB_agg
    is 0 where an answer wrongly says that it does not know (or an unanswerable question is
    answered), and 1 where it rightly says so; RB_agg_unconditioned is the plain mean. Source:
    Katsis et al., MTRAG, TACL 2025, whose model is microsoft/deberta-xlarge-mnli, rescaled.
    Definitions are in docs/metrics.md. Needs the extra `neural`, and no network.

    Args:
        dataset: has the reference answers, and the label `answerability`, which says which
            questions can be answered.
        model: folder of an encoder, or a name in the local cache of the Hugging Face hub; nothing
            is downloaded.
        layer: the layer whose vectors are compared, from 1; None takes the last. MTRAG's is 40.
        baseline: a file of bert-score (LAYER,P,R,F) to rescale with, as MTRAG does.
        max_length: tokens of a text that are read; None takes the model's limit.
        citations: remove takes marks like [1] out of answers; keep leaves them in.
        batch_size: texts per batch.
        device: where the model runs: cpu, cuda, mps.
    """

    place = "metrics.rb_agg"

    def list_measures(self) -> Sequence[str]:
        return (
            "RB_agg",
            "RB_agg_unconditioned",
            "RB_ROUGE-L",
            "RB_BERT_recall",
            "RB_BERT_K-precision",
        )

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Measure RB_agg of each turn with a reference answer, and its three parts."""
        by_id = {record.turn_id: record for record in records}
        measured = {}
        for turn, scores in self.score_turns(by_id.values()):
            parts = {
                "RB_ROUGE-L": measure_rouge_l(turn.answer, turn.reference),
                "RB_BERT_recall": _map_to_unit(scores.reference.recall),
            }
            unconditioned = 0.0
            if scores.knowledge is not None:
                parts["RB_BERT_K-precision"] = _map_to_unit(scores.knowledge)
                unconditioned = harmonic_mean(*parts.values())
            record = by_id[turn.turn_id]
            label = self.references.find_label(record, ANSWERABILITY)
            conditioned = condition_on_answerability(
                unconditioned, label, detect_idk_answer(record)
            )
            values = {} if conditioned is None else {"RB_agg": conditioned}
            values["RB_agg_unconditioned"] = unconditioned
            measured[turn.turn_id] = values | parts
        return measured


def harmonic_mean(*values: float) -> float:
    """Compute the harmonic mean; 0 where one of the values is 0 or negative."""
    if not all(value > 0 for value in values):
        return 0.0
    return len(values) / sum(1 / value for value in values)


def _map_to_unit(score: float) -> float:
    """Map a score from [-1, 1] to [0, 1]."""
    return (score + 1) / 2
