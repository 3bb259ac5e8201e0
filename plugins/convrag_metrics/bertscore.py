"""`metrics=bertscore`: how close answers come to reference answers in meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from convrag.registry.parameters import operational

from convrag import Dataset, Metrics, TurnRecord
from convrag_metrics.bert_scorer import REQUIRES, BertScorer, Job
from convrag_metrics.references import References
from convrag_metrics.texts import Citations, evidence_texts, lacks, scored_text


class BertScoreMetrics(Metrics):
    """BERTScore of answers against reference answers, and of answers against the passages they were given.

    BERTScore_K is the precision of the answer against the passage that it comes closest to, which MTRAG calls BERT
    K-precision. Scores are raw unless a baseline is given. Texts longer than the model reads are cut;
    BERTScore_truncated is the share of turns in which one was. Needs the extra `neural`, and no network.

    Args:
        dataset: whose answers are the references.
        model: folder of an encoder, or a name in the local cache of the Hugging Face hub; nothing is downloaded.
        layer: the layer whose vectors are compared, from 1; None takes the last. bert-score has a best one for each
            model that it knows (17 of roberta-large, 40 of microsoft/deberta-xlarge-mnli).
        baseline: a file of bert-score (LAYER,P,R,F) to rescale with, as its rescale_with_baseline does.
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
            "metrics.bertscore",
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
        """Scores of each turn with a reference answer."""
        measured = {}
        for job, scored in self.scorer.scores(jobs(records, self.references, self.citations)):
            names = ("BERTScore_P", "BERTScore_R", "BERTScore_F1")
            values = dict(zip(names, scored.reference, strict=True))
            if scored.knowledge is not None:
                values["BERTScore_K"] = scored.knowledge
            measured[job.turn_id] = values | {"BERTScore_truncated": float(scored.cut)}
        return measured


def jobs(records: Iterable[TurnRecord], references: References, citations: Citations) -> list[Job]:
    """What there is to compare: the turns with a reference answer."""
    return [
        Job(record.turn_id, scored_text(record, citations), reference, evidence_texts(record))
        for record in records
        if (reference := references.answer(record)) and not lacks(record, "answer")
    ]
