"""`metrics=rb_agg`: MTRAG's reference-based score."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from convrag.registry.parameters import operational

from convrag import Dataset, Metrics, TurnRecord
from convrag_metrics.bert_scorer import REQUIRES, BertScorer, Scored
from convrag_metrics.bertscore import jobs
from convrag_metrics.conditioning import conditioned
from convrag_metrics.overlap import in_order
from convrag_metrics.references import References
from convrag_metrics.texts import Citations
from convrag_metrics.unknowing import answered

_TOKEN = re.compile(r"[a-z0-9]+")


class RbAggMetrics(Metrics):
    """MTRAG's RB_agg: the harmonic mean of ROUGE-L, BERT recall and BERT K-precision, given what the answer knows.

    The two BERTScores are mapped from [-1, 1] to [0, 1]. RB_agg is 0 where an answer wrongly says that it does not
    know (or an unanswerable question is answered), and 1 where it rightly says so; RB_agg_unconditioned is the plain
    mean. Source: Katsis et al., MTRAG, TACL 2025, whose model is microsoft/deberta-xlarge-mnli, rescaled. Definitions
    are in docs/metrics.md. Needs the extra `neural`, and no network.

    Args:
        dataset: whose answers are the references, and whose label `answerability` says what can be known.
        model: folder of an encoder, or a name in the local cache of the Hugging Face hub; nothing is downloaded.
        layer: the layer whose vectors are compared, from 1; None takes the last. MTRAG's is 40.
        baseline: a file of bert-score (LAYER,P,R,F) to rescale with, as MTRAG does.
        max_length: tokens of a text that are read; None takes the model's limit.
        citations: remove takes marks like [1] out of answers; keep leaves them in.
        batch_size: texts that are computed at once.
        device: where the model runs: cpu, cuda, mps.

    Raises:
        ConfigError: a number is below 1, or there is no such layer.
    """

    requires: ClassVar[Mapping[str, str]] = REQUIRES

    def __init__(
        self,
        *,
        dataset: Dataset,
        model: str,
        layer: int | None = None,
        baseline: Path | None = None,
        max_length: int | None = None,
        citations: Literal["remove", "keep"] = "remove",
        batch_size: Annotated[int, operational] = 16,
        device: Annotated[str, operational] = "cpu",
    ) -> None:
        self.references = References(dataset)
        self.citations: Citations = citations
        self.scorer = BertScorer(
            "metrics.rb_agg",
            model=model,
            layer=layer,
            baseline=baseline,
            max_length=max_length,
            device=device,
            batch_size=batch_size,
        )

    def check(self) -> Iterable[str]:
        """Whether the model and the baseline are there."""
        return self.scorer.problems()

    def content_hash(self) -> str:
        """The model's files and the baseline."""
        return self.scorer.content_hash()

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """RB_agg of each turn with a reference answer, and the three numbers that it is made of."""
        known = {record.turn_id: record for record in records}
        measured = {}
        for job, scored in self.scorer.scores(jobs(known.values(), self.references, self.citations)):
            record = known[job.turn_id]
            parts = {"RB_ROUGE-L": rouge_l(job.answer, job.reference), **_mapped(scored)}
            plain = harmonic_mean(*parts.values()) if len(parts) == 3 else 0.0
            label = self.references.label(record, "answerability")
            value = conditioned(plain, label, answered(record))
            agg = {} if value is None else {"RB_agg": value}
            measured[job.turn_id] = {**agg, "RB_agg_unconditioned": plain, **parts}
        return measured


def rouge_l(answer: str, reference: str) -> float:
    """The F1 of the longest common subsequence of small-letter [a-z0-9]+ tokens, without stemming."""
    return in_order(_TOKEN.findall(answer.lower()), _TOKEN.findall(reference.lower())).f1


def harmonic_mean(*values: float) -> float:
    """Of values that are not negative; 0 where one of them is."""
    return len(values) / sum(1 / value for value in values) if all(value > 0 for value in values) else 0.0


def _mapped(scored: Scored) -> dict[str, float]:
    """BERT recall and K-precision between 0 and 1; without passages there is no K-precision."""
    found = {"RB_BERT_recall": (scored.reference.recall + 1) / 2}
    if scored.knowledge is not None:
        found["RB_BERT_K-precision"] = (scored.knowledge + 1) / 2
    return found
