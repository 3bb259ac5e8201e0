"""The base of `metrics=bertscore` and `metrics=rb_agg`, which score turns with one encoder."""

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
from convrag_metrics.pretrained import EXTRAS, find_model
from convrag_metrics.token_overlap import Overlap

if TYPE_CHECKING:
    from convrag_metrics.bert_encoder import BertEncoder


_TURNS = 32  # per block: bounds the vectors in memory
_lock = threading.Lock()


class TurnTexts(NamedTuple):
    """The texts of a turn that are compared; the passages are those of its evidence."""

    turn_id: str
    answer: str
    reference: str
    passages: Sequence[str]


class TurnScores(NamedTuple):
    """BERTScore of a turn's answer.

    Args:
        reference: the score with the reference answer.
        knowledge: the precision with the nearest passage; None without passages.
        truncated: whether one of the texts was longer than the model reads.
    """

    reference: Overlap
    knowledge: float | None
    truncated: bool


@dataclass(kw_only=True, eq=False)
class BertMetrics(Metrics):
    """Metrics that score turns with one encoder, and share the model in memory.

    Subclasses document the parameters. They set `place`, the place where their parameters are
    configured, for messages.
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
        """Check that the model and the baseline are there."""
        if not find_model(self.model):
            yield (
                f"the model {self.model!r} is not a folder with a config.json, nor in the local "
                f"cache: give {self.place}.model the path of an encoder's folder"
            )
        if self.baseline and not self.baseline.is_file():
            yield f"{self.place}.baseline={self.baseline}: there is no such file"

    def content_hash(self) -> str:
        """Return a hash of the model's files, or its commit on the hub, and of the baseline."""
        baseline = file_hash(self.baseline) if self.baseline else ""
        return digest([identify_model(self.model), baseline])

    def score_turns(self, records: Iterable[TurnRecord]) -> Iterator[tuple[TurnTexts, TurnScores]]:
        """Score each turn with a reference answer, in order.

        Raises:
            MissingExtra: a library is not installed.
            ConvragError: the model cannot be loaded.
            DataError: the baseline is broken.
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
        turns = []
        for record in records:
            reference = self.references.find_answer(record)
            if reference and not lacks_part(record, "answer"):
                answer = prepare_answer(record, self.citations)
                turns.append(TurnTexts(record.turn_id, answer, reference, evidence_texts(record)))
        return turns

    def _load_encoder(self) -> BertEncoder:
        absent = missing_extra(EXTRAS, "BERTScore")
        if absent:
            raise absent
        for problem in self.check():
            raise ConvragError(problem)
        folder = find_model(self.model)
        with _lock:
            encoder = _load(folder, self.layer, self.max_length, self.device, self.batch_size)
        layers = encoder.model.config.num_hidden_layers
        if self.layer is not None and self.layer > layers:
            raise ConfigError(f"{self.place}.layer={self.layer}: the model has {layers} layers")
        return encoder

    def _read_baseline(self, layer: int) -> Overlap:
        """Read the scores of random sentences; 0 without a baseline, so nothing is rescaled."""
        if self.baseline is None:
            return Overlap(0.0, 0.0, 0.0)
        from convrag_metrics.bert_encoder import read_baseline

        try:
            return read_baseline(self.baseline, layer)
        except (ValueError, OSError) as error:
            raise DataError(
                f"this is not a baseline of bert-score (LAYER,P,R,F): {error}", path=self.baseline
            ) from error


@lru_cache(maxsize=2)
def _load(
    folder: str, layer: int | None, max_length: int | None, device: str, batch_size: int
) -> BertEncoder:
    """Load an encoder, which bertscore and rb_agg share."""
    from convrag_metrics.bert_encoder import BertEncoder

    return BertEncoder(folder, layer, max_length, device, batch_size)


def _score_block(
    encoder: BertEncoder, block: Sequence[TurnTexts], baseline: Overlap
) -> Iterator[TurnScores]:
    from convrag_metrics.bert_encoder import match_tokens

    texts = encoder.encode([text for turn in block for text in _list_texts(turn)])
    for turn in block:
        answer = texts[turn.answer]
        raw = match_tokens(answer, texts[turn.reference])
        rescaled = [_rescale(value, base) for value, base in zip(raw, baseline, strict=True)]
        knowledge = None
        if turn.passages:
            precisions = [match_tokens(answer, texts[each]).precision for each in turn.passages]
            knowledge = _rescale(max(precisions), baseline.precision)
        truncated = any(texts[text].truncated for text in _list_texts(turn))
        yield TurnScores(Overlap(*rescaled), knowledge, truncated)


def _list_texts(turn: TurnTexts) -> list[str]:
    return [turn.answer, turn.reference, *turn.passages]


def _rescale(value: float, base: float) -> float:
    return round((value - base) / (1 - base), 6)
