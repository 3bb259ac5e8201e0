"""`metrics=bertscore`: BERTScore of answers against references and passages."""

from collections.abc import Iterable, Mapping, Sequence

from convrag import TurnRecord
from convrag_metrics.bert_metrics import BertMetrics


class BertScoreMetrics(BertMetrics):
    """BERTScore of answers against reference answers and against the passages they were given.

    BERTScore_K is the precision of the answer against the passage that it comes closest to, which
    MTRAG calls BERT K-precision. Scores are raw unless a baseline is given. Texts longer than the
    model reads are truncated; BERTScore_truncated is the share of turns in which one was. Needs the
    extra `neural`, and no network.

    Args:
        dataset: has the reference answers.
        model: folder of an encoder, or a name in the local cache of the Hugging Face hub; nothing
            is downloaded.
        layer: the layer whose vectors are compared, from 1; None takes the last. bert-score has a
            best one for each model that it knows (17 of roberta-large, 40 of
            microsoft/deberta-xlarge-mnli).
        baseline: a file of bert-score (LAYER,P,R,F) to rescale with, as its rescale_with_baseline
            does.
        max_length: tokens of a text that are read; None takes the model's limit.
        citations: remove takes marks like [1] out of answers; keep leaves them in.
        batch_size: texts per batch.
        device: where the model runs: cpu, cuda, mps.
    """

    place = "metrics.bertscore"

    def list_measures(self) -> Sequence[str]:
        return ("BERTScore_F1", "BERTScore_P", "BERTScore_R", "BERTScore_K", "BERTScore_truncated")

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Measure each turn with a reference answer."""
        measured = {}
        for turn, scores in self.score_turns(records):
            values = {
                "BERTScore_P": scores.reference.precision,
                "BERTScore_R": scores.reference.recall,
                "BERTScore_F1": scores.reference.f1,
            }
            if scores.knowledge is not None:
                values["BERTScore_K"] = scores.knowledge
            values["BERTScore_truncated"] = float(scores.truncated)
            measured[turn.turn_id] = values
        return measured
