"""The base of metrics that use BERTScore: their parameters, what they check, and the scores of turns."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

from convrag import ConfigError, ConvragError, DataError, Dataset, Metrics, TurnRecord, operational
from convrag.sdk.identity import digest, file_hash
from convrag.sdk.libraries import missing_extra
from convrag.sdk.model_files import identify_model
from convrag.sdk.progress import track
from convrag_metrics.pretrained import EXTRAS, find_model
from convrag_metrics.record_texts import Citations, evidence_texts, lacks_part, prepare_answer
from convrag_metrics.references import References
from convrag_metrics.token_overlap import Overlap

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


class BertMetrics(Metrics):
    """Scores turns with one encoder; the metrics of this base share the model that they have in memory.

    Subclasses document the parameters, and set `place`: where their parameters are configured, for messages.

    Raises:
        ConfigError: a number is below 1.
    """

    requires: ClassVar[Mapping[str, str]] = EXTRAS
    libraries = ("rapidfuzz",)
    reads = ("answer",)
    place: ClassVar[str]

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
        for name, value in (("layer", layer), ("max_length", max_length), ("batch_size", batch_size)):
            if value is not None and value < 1:
                raise ConfigError(f"{self.place}.{name}={value}: it must be at least 1")
        self.references = References(dataset)
        self.model = model
        self.layer = layer
        self.baseline = baseline
        self.max_length = max_length
        self.citations: Citations = citations
        self.batch_size = batch_size
        self.device = device

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
        """The scores of each turn with a reference answer, in order. Raises MissingExtra, ConvragError, DataError."""
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
            TurnTexts(record.turn_id, prepare_answer(record, self.citations), reference, evidence_texts(record))
            for record in records
            if (reference := self.references.find_answer(record)) and not lacks_part(record, "answer")
        ]

    def _load_encoder(self) -> BertEncoder:
        if absent := missing_extra(EXTRAS, "BERTScore"):
            raise absent
        if problem := next(self.check(), ""):
            raise ConvragError(problem)
        with _lock:
            encoder = _load(find_model(self.model), self.layer, self.max_length, self.device, self.batch_size)
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
            raise DataError(f"this is no baseline of bert-score (LAYER,P,R,F): {error}", path=self.baseline) from error


@lru_cache(maxsize=2)
def _load(folder: str, layer: int | None, max_length: int | None, device: str, batch_size: int) -> BertEncoder:
    """An encoder that bertscore and rb_agg share."""
    from convrag_metrics.bert_encoder import BertEncoder

    return BertEncoder(folder, layer, max_length, device, batch_size)


def _score_block(encoder: BertEncoder, block: Sequence[TurnTexts], baseline: Overlap) -> Iterator[TurnScores]:
    from convrag_metrics.bert_encoder import match_tokens

    texts = encoder.encode([text for turn in block for text in (turn.answer, turn.reference, *turn.passages)])
    for turn in block:
        answer = texts[turn.answer]
        raw = match_tokens(answer, texts[turn.reference])
        precisions = [match_tokens(answer, texts[passage]).precision for passage in turn.passages]
        rescaled = Overlap(*(_rescale(value, base) for value, base in zip(raw, baseline, strict=True)))
        knowledge = _rescale(max(precisions), baseline.precision) if precisions else None
        truncated = any(texts[text].truncated for text in (turn.answer, turn.reference, *turn.passages))
        yield TurnScores(rescaled, knowledge, truncated)


def _rescale(value: float, base: float) -> float:
    return round((value - base) / (1 - base), 6)
