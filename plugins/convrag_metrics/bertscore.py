"""`metrics=bertscore` and `metrics=rb_agg` (MTRAG), which score turns with one encoder."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

from annotated_types import Ge

from convrag import ConfigError, ConvragError, DataError, Dataset, Metrics, TurnRecord, operational
from convrag.sdk.identity import digest, file_hash
from convrag.sdk.libraries import missing_extra
from convrag.sdk.model_files import identify_model
from convrag.sdk.output.progress import track
from convrag.sdk.text.answers import References, evidence_texts, lacks_part, prepare_answer
from convrag_metrics.idk import ANSWERABILITY, condition_on_answerability, detect_idk_answer
from convrag_metrics.pretrained import EXTRAS, find_model
from convrag_metrics.token_overlap import Overlap, measure_rouge_l

if TYPE_CHECKING:
    from convrag_metrics.bert_encoder import BertEncoder


_TURNS = 32  # per block: bounds the vectors in memory
_lock = threading.Lock()


class TurnTexts(NamedTuple):
    """The texts of a turn that are compared: its answer, the reference answer, and the passages of the evidence."""

    turn_id: str
    answer: str
    reference: str
    passages: Sequence[str]


class TurnScores(NamedTuple):
    """BERTScore of a turn's answer with the reference, and its precision with the nearest passage (None without any).

    `truncated` is whether one of the texts was longer than the model reads.
    """

    reference: Overlap
    knowledge: float | None
    truncated: bool


@dataclass(kw_only=True, eq=False)
class BertMetrics(Metrics):
    """Scores turns with one encoder; the metrics of this base share the model that they have in memory.

    Subclasses document the parameters, and set `place`: where their parameters are configured, for
    messages.
    """

    requires: ClassVar[Mapping[str, str]] = EXTRAS
    libraries = ("rapidfuzz",)
    reads = ("answer",)
    place: ClassVar[str]

    dataset: Dataset
    model: str
    layer: Annotated[int | None, Ge(1)] = None
    baseline: Path | None = None
    max_length: Annotated[int | None, Ge(1)] = None
    citations: Literal["remove", "keep"] = "remove"
    batch_size: Annotated[int, operational, Ge(1)] = 16
    device: Annotated[str, operational] = "cpu"

    def __post_init__(self) -> None:
        self.references = References(self.dataset)

    def check(self) -> Iterator[str]:
        """Whether the model and the baseline are there."""
        if not find_model(self.model):
            yield (
                f"the model {self.model!r} is no folder with a config.json, nor in the local cache: "
                f"give {self.place}.model the path of an encoder's folder"
            )
        if self.baseline and not self.baseline.is_file():
            yield f"{self.place}.baseline={self.baseline}: there is no such file"

    def content_hash(self) -> str:
        """A hash of the model's files or its commit on the hub, and of the baseline."""
        baseline = file_hash(self.baseline) if self.baseline else ""
        return digest([identify_model(self.model), baseline])

    def score_turns(self, records: Iterable[TurnRecord]) -> Iterator[tuple[TurnTexts, TurnScores]]:
        """The scores of each turn with a reference answer, in order. Raises MissingExtra,
        ConvragError, DataError.
        """
        turns = self._collect_texts(records)
        if not turns:
            return
        encoder = self._load_encoder()
        baseline = self._read_baseline(encoder.layer)
        blocks = [turns[start : start + _TURNS] for start in range(0, len(turns), _TURNS)]
        for block in track(blocks, f"BERTScore ({_TURNS} turns each)", len(blocks)):
            yield from zip(block, _score_block(encoder, block, baseline), strict=True)

    def _collect_texts(self, records: Iterable[TurnRecord]) -> list[TurnTexts]:
        return [
            TurnTexts(
                record.turn_id,
                prepare_answer(record, self.citations),
                reference,
                evidence_texts(record),
            )
            for record in records
            if (reference := self.references.find_answer(record))
            and not lacks_part(record, "answer")
        ]

    def _load_encoder(self) -> BertEncoder:
        if absent := missing_extra(EXTRAS, "BERTScore"):
            raise absent
        if problem := next(self.check(), ""):
            raise ConvragError(problem)
        with _lock:
            encoder = _load(
                find_model(self.model), self.layer, self.max_length, self.device, self.batch_size
            )
        layers = encoder.model.config.num_hidden_layers
        if self.layer is not None and self.layer > layers:
            raise ConfigError(f"{self.place}.layer={self.layer}: the model has {layers} layers")
        return encoder

    def _read_baseline(self, layer: int) -> Overlap:
        """The scores of random sentences; 0 without a baseline, so that scores are not rescaled."""
        if self.baseline is None:
            return Overlap(0.0, 0.0, 0.0)
        from convrag_metrics.bert_encoder import read_baseline

        try:
            return read_baseline(self.baseline, layer)
        except (ValueError, OSError) as error:
            raise DataError(
                f"this is no baseline of bert-score (LAYER,P,R,F): {error}", path=self.baseline
            ) from error


@lru_cache(maxsize=2)
def _load(
    folder: str, layer: int | None, max_length: int | None, device: str, batch_size: int
) -> BertEncoder:
    """An encoder that bertscore and rb_agg share."""
    from convrag_metrics.bert_encoder import BertEncoder

    return BertEncoder(folder, layer, max_length, device, batch_size)


def _score_block(
    encoder: BertEncoder, block: Sequence[TurnTexts], baseline: Overlap
) -> Iterator[TurnScores]:
    from convrag_metrics.bert_encoder import match_tokens

    texts = encoder.encode(
        [text for turn in block for text in (turn.answer, turn.reference, *turn.passages)]
    )
    for turn in block:
        answer = texts[turn.answer]
        raw = match_tokens(answer, texts[turn.reference])
        precisions = [match_tokens(answer, texts[passage]).precision for passage in turn.passages]
        rescaled = Overlap(
            *(_rescale(value, base) for value, base in zip(raw, baseline, strict=True))
        )
        knowledge = _rescale(max(precisions), baseline.precision) if precisions else None
        truncated = any(
            texts[text].truncated for text in (turn.answer, turn.reference, *turn.passages)
        )
        yield TurnScores(rescaled, knowledge, truncated)


def _rescale(value: float, base: float) -> float:
    return round((value - base) / (1 - base), 6)


class BertScoreMetrics(BertMetrics):
    """BERTScore of answers against reference answers, and of answers against the passages they were given.

    BERTScore_K is the precision of the answer against the passage that it comes closest to, which
    MTRAG calls BERT K-precision. Scores are raw unless a baseline is given. Texts longer than the
    model reads are truncated; BERTScore_truncated is the share of turns in which one was. Needs the
    extra `neural`, and no network.

    Args:
        dataset: whose answers are the references.
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
        """Scores of each turn with a reference answer."""
        measured = {}
        for turn, scores in self.score_turns(records):
            names = ("BERTScore_P", "BERTScore_R", "BERTScore_F1")
            values = dict(zip(names, scores.reference, strict=True))
            if scores.knowledge is not None:
                values["BERTScore_K"] = scores.knowledge
            measured[turn.turn_id] = values | {"BERTScore_truncated": float(scores.truncated)}
        return measured


class RbAggMetrics(BertMetrics):
    """MTRAG's RB_agg: the harmonic mean of ROUGE-L, BERT recall and BERT K-precision, conditioned on answerability.

    The two BERTScores are mapped from [-1, 1] to [0, 1]. RB_agg is 0 where an answer wrongly says
    that it does not know (or an unanswerable question is answered), and 1 where it rightly says so;
    RB_agg_unconditioned is the plain mean. Source: Katsis et al., MTRAG, TACL 2025, whose model is
    microsoft/deberta-xlarge-mnli, rescaled. Definitions are in docs/metrics.md. Needs the extra
    `neural`, and no network.

    Args:
        dataset: whose answers are the references, and whose label `answerability` says which
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
        """RB_agg of each turn with a reference answer, and its three parts."""
        by_id = {record.turn_id: record for record in records}
        measured = {}
        for turn, scores in self.score_turns(by_id.values()):
            record = by_id[turn.turn_id]
            parts = {
                "RB_ROUGE-L": measure_rouge_l(turn.answer, turn.reference),
                **_map_to_unit(scores),
            }
            plain = harmonic_mean(*parts.values()) if len(parts) == 3 else 0.0
            label = self.references.find_label(record, ANSWERABILITY)
            conditioned = condition_on_answerability(plain, label, detect_idk_answer(record))
            agg = {} if conditioned is None else {"RB_agg": conditioned}
            measured[turn.turn_id] = {**agg, "RB_agg_unconditioned": plain, **parts}
        return measured


def harmonic_mean(*values: float) -> float:
    """The harmonic mean; 0 where one of the values is 0 or negative."""
    return (
        len(values) / sum(1 / value for value in values)
        if all(value > 0 for value in values)
        else 0.0
    )


def _map_to_unit(scores: TurnScores) -> dict[str, float]:
    """BERT recall and K-precision, mapped from [-1, 1] to [0, 1]; without passages there is no
    K-precision.
    """
    parts = {"RB_BERT_recall": (scores.reference.recall + 1) / 2}
    if scores.knowledge is not None:
        parts["RB_BERT_K-precision"] = (scores.knowledge + 1) / 2
    return parts
