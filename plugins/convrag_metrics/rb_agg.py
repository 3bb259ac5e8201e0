"""`metrics=rb_agg`: MTRAG's reference-based score."""

from collections.abc import Iterable, Mapping, Sequence

from convrag import TurnRecord
from convrag_metrics.bert_base import BertMetrics, TurnScores
from convrag_metrics.idk import ANSWERABILITY, condition_on_answerability, detect_idk_answer
from convrag_metrics.token_overlap import measure_rouge_l


class RbAggMetrics(BertMetrics):
    """MTRAG's RB_agg: the harmonic mean of ROUGE-L, BERT recall and BERT K-precision, conditioned on answerability.

    The two BERTScores are mapped from [-1, 1] to [0, 1]. RB_agg is 0 where an answer wrongly says that it does not
    know (or an unanswerable question is answered), and 1 where it rightly says so; RB_agg_unconditioned is the plain
    mean. Source: Katsis et al., MTRAG, TACL 2025, whose model is microsoft/deberta-xlarge-mnli, rescaled. Definitions
    are in docs/metrics.md. Needs the extra `neural`, and no network.

    Args:
        dataset: whose answers are the references, and whose label `answerability` says which questions can be answered.
        model: folder of an encoder, or a name in the local cache of the Hugging Face hub; nothing is downloaded.
        layer: the layer whose vectors are compared, from 1; None takes the last. MTRAG's is 40.
        baseline: a file of bert-score (LAYER,P,R,F) to rescale with, as MTRAG does.
        max_length: tokens of a text that are read; None takes the model's limit.
        citations: remove takes marks like [1] out of answers; keep leaves them in.
        batch_size: texts per batch.
        device: where the model runs: cpu, cuda, mps.

    Raises:
        ConfigError: a number is below 1, or there is no such layer.
    """

    place = "metrics.rb_agg"

    def list_measures(self) -> Sequence[str]:
        return ("RB_agg", "RB_agg_unconditioned", "RB_ROUGE-L", "RB_BERT_recall", "RB_BERT_K-precision")

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """RB_agg of each turn with a reference answer, and its three parts."""
        by_id = {record.turn_id: record for record in records}
        measured = {}
        for turn, scores in self.score_turns(by_id.values()):
            record = by_id[turn.turn_id]
            parts = {"RB_ROUGE-L": measure_rouge_l(turn.answer, turn.reference), **_map_to_unit(scores)}
            plain = harmonic_mean(*parts.values()) if len(parts) == 3 else 0.0
            label = self.references.find_label(record, ANSWERABILITY)
            conditioned = condition_on_answerability(plain, label, detect_idk_answer(record))
            agg = {} if conditioned is None else {"RB_agg": conditioned}
            measured[turn.turn_id] = {**agg, "RB_agg_unconditioned": plain, **parts}
        return measured


def harmonic_mean(*values: float) -> float:
    """The harmonic mean; 0 where one of the values is 0 or negative."""
    return len(values) / sum(1 / value for value in values) if all(value > 0 for value in values) else 0.0


def _map_to_unit(scores: TurnScores) -> dict[str, float]:
    """BERT recall and K-precision, mapped from [-1, 1] to [0, 1]; without passages there is no K-precision."""
    parts = {"RB_BERT_recall": (scores.reference.recall + 1) / 2}
    if scores.knowledge is not None:
        parts["RB_BERT_K-precision"] = (scores.knowledge + 1) / 2
    return parts
