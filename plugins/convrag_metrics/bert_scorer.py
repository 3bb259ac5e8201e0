"""What the metrics with BERTScore share: the model's parameters, loading it, and scores of many pairs."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from convrag import ConfigError, ConvragError, DataError
from convrag.registry.extras import is_installed, missing_extra
from convrag.sdk.progress import track
from convrag.store.fingerprint import file_hash
from convrag_metrics.overlap import Overlap

if TYPE_CHECKING:
    from convrag_metrics.bert import Bert

REQUIRES = {"torch": "convrag[neural]", "transformers": "convrag[neural]"}

_TURNS = 32  # at once: bounds the vectors that are held
_SUFFIXES = {".json", ".txt", ".model", ".safetensors", ".bin"}
_lock = threading.Lock()


class Job(NamedTuple):
    """A turn to score: its answer, the reference answer, and the passages that it was given."""

    turn_id: str
    answer: str
    reference: str
    passages: Sequence[str]


class Scored(NamedTuple):
    """A turn's scores: against the reference, against the best of the passages (None without any), and texts cut."""

    reference: Overlap
    knowledge: float | None
    cut: bool


class BertScorer:
    """Scores turns with one model.

    Args:
        place: where the parameters stand ("metrics.bertscore"), for messages.
        model: a folder, or the name of a model in the local cache of the Hugging Face hub.
        layer: whose output is compared; None for the last.
        baseline: a baseline file of bert-score, for rescaled scores.
        max_length: tokens of a text that are read; None for the model's limit.
        device: where the model runs.
        batch_size: texts at once.

    Raises:
        ConfigError: a number is below 1.
    """

    def __init__(
        self,
        place: str,
        *,
        model: str,
        layer: int | None,
        baseline: Path | None,
        max_length: int | None,
        device: str,
        batch_size: int,
    ) -> None:
        for name, value in (("layer", layer), ("max_length", max_length), ("batch_size", batch_size)):
            if value is not None and value < 1:
                raise ConfigError(f"{place}.{name}={value}: it must be at least 1")
        self.place = place
        self.model = model
        self.layer = layer
        self.baseline = baseline
        self.max_length = max_length
        self.device = device
        self.batch_size = batch_size

    def problems(self) -> Iterator[str]:
        """What is missing besides the libraries; for `check`."""
        if not self._folder():
            yield (
                f"the model {self.model!r} is no folder with a config.json, nor in the local cache: "
                f"give {self.place}.model the path of an encoder's folder"
            )
        if self.baseline and not self.baseline.is_file():
            yield f"{self.place}.baseline={self.baseline}: there is no such file"

    def content_hash(self) -> str:
        """A hash of the model's files where it is a folder, and of the baseline."""
        folder = Path(self.model).expanduser()
        files = sorted(path for path in folder.glob("*") if path.suffix in _SUFFIXES) if folder.is_dir() else []
        hashes = [(path.name, file_hash(path)) for path in files]
        known = repr([self.model if not files else "", hashes, file_hash(self.baseline) if self.baseline else ""])
        return blake2b(known.encode(), digest_size=16).hexdigest()

    def scores(self, jobs: Sequence[Job]) -> Iterable[tuple[Job, Scored]]:
        """Each turn's scores, in order. Raises MissingExtra, ConvragError, DataError."""
        if not jobs:
            return
        bert = self._bert()
        rescale = self._rescaling(bert)
        blocks = [jobs[start : start + _TURNS] for start in range(0, len(jobs), _TURNS)]
        for block in track(blocks, f"BERTScore ({_TURNS} turns each)", len(blocks)):
            yield from zip(block, _scored(bert, block, rescale), strict=True)

    def _bert(self) -> Bert:
        if absent := missing_extra(REQUIRES, "BERTScore"):
            raise absent
        if problem := next(self.problems(), ""):
            raise ConvragError(problem)
        with _lock:
            bert = _load(self._folder(), self.layer, self.max_length, self.device, self.batch_size)
        if self.layer is not None and self.layer > bert.model.config.num_hidden_layers:
            there = bert.model.config.num_hidden_layers
            raise ConfigError(f"{self.place}.layer={self.layer}: the model has {there} layers")
        return bert

    def _rescaling(self, bert: Bert) -> Overlap:
        """What random sentences score: 0 without a baseline, so that scores stay as they are."""
        if self.baseline is None:
            return Overlap(0.0, 0.0, 0.0)
        from convrag_metrics.bert import read_baseline

        try:
            return read_baseline(self.baseline, bert.layer)
        except (ValueError, OSError) as error:
            raise DataError(f"this is no baseline of bert-score (LAYER,P,R,F): {error}", path=self.baseline) from error

    def _folder(self) -> str:
        folder = Path(self.model).expanduser()
        if folder.is_dir():
            return str(folder) if (folder / "config.json").is_file() else ""
        if not is_installed("huggingface_hub") or folder.is_absolute() or self.model.startswith((".", "~")):
            return ""
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError

        try:
            return self.model if isinstance(try_to_load_from_cache(self.model, "config.json"), str) else ""
        except HFValidationError:
            return ""


@lru_cache(maxsize=2)
def _load(folder: str, layer: int | None, max_length: int | None, device: str, batch_size: int) -> Bert:
    """One model for bertscore and rb_agg together."""
    from convrag_metrics.bert import Bert

    try:
        return Bert(folder, layer, max_length, device, batch_size)
    except Exception as error:  # the libraries below raise whatever they like
        raise ConvragError(f"the model {folder!r} cannot be loaded: {error}") from error


def _scored(bert: Bert, block: Sequence[Job], baseline: Overlap) -> Iterator[Scored]:
    from convrag_metrics.bert import match

    texts = bert.embed([text for job in block for text in (job.answer, job.reference, *job.passages)])
    for job in block:
        answer = texts[job.answer]
        found = match(answer, texts[job.reference])
        known = [match(answer, texts[passage]).precision for passage in job.passages]
        rescaled = (round((value - base) / (1 - base), 6) for value, base in zip(found, baseline, strict=True))
        knowledge = round((max(known) - baseline.precision) / (1 - baseline.precision), 6) if known else None
        cut = any(texts[text].cut for text in (job.answer, job.reference, *job.passages))
        yield Scored(Overlap(*rescaled), knowledge, cut)
