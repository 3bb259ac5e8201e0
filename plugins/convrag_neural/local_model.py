"""The base of this package's stages: a model that is loaded once and used by a thread at a time."""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, TypeVar

from convrag import ConvragError, Embedder, operational
from convrag.sdk.model_files import find_local_folder, identify_model
from convrag.sdk.output.library_logs import hide_transformers_bars
from convrag.sdk.types import Stage
from convrag_neural.model_problems import find_model_problem, find_revision, is_local

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


log = logging.getLogger(__name__)

M = TypeVar("M")

Dtype = Literal["auto", "float32", "bfloat16"]
"""The numbers that a model computes with; `auto` is what its weights are kept in."""


@dataclass(kw_only=True, eq=False)
class LocalModelStage(Stage, Generic[M]):
    """A stage with a local model.

    Subclasses load it in `_load_model`, and use it inside `with self._locked_model()`.

    Args:
        model: a folder, or a name on the Hugging Face hub.
        device: where the model runs: auto, cpu, cuda, cuda:1, mps, xpu.
    """

    libraries = ("numpy", "torch", "transformers")
    requires: ClassVar[Mapping[str, str]] = {"sentence_transformers": "convrag[neural]"}

    model: str
    device: Annotated[str, operational] = "auto"

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: M | None = None

    @cached_property
    def revision(self) -> str | None:
        """Return the commit of a model on the hub, which is loaded; None for a folder."""
        return find_revision(self.model)

    def check(self) -> Iterator[str]:
        """Say why the model cannot be loaded, as far as that is known without loading it."""
        problem = find_model_problem(self.model)
        if problem:
            option = "lsa" if isinstance(self, Embedder) else "bm25"
            yield (
                f"{problem} ({{place}}.model=<folder>, or {{place}}={option}, which needs no model)"
            )

    def content_hash(self) -> str:
        """Hash the files of a model in a folder, or name the commit of one on the hub."""
        return self.revision or identify_model(self.model)

    def prepare(self) -> None:
        """Load the model. Raises ConvragError where that fails."""
        with self._locked_model():
            pass

    @abstractmethod
    def _load_model(self, source: str) -> M:
        """Load the model from a folder, or by its name on the hub; may raise anything."""

    @contextmanager
    def _locked_model(self) -> Iterator[M]:
        """Give the model to this thread alone, since tokenizers are not thread-safe.

        It is loaded at the first use. Raises ConvragError where it cannot be loaded.
        """
        with self._lock:
            if self._loaded is None:
                self._loaded = self._try_loading()
            yield self._loaded

    def _try_loading(self) -> M:
        try:
            with hide_transformers_bars() if is_local(self.model) else nullcontext():
                return self._load_model(str(find_local_folder(self.model) or self.model))
        except ConvragError:
            raise
        except Exception as error:  # the model libraries document no common exception
            problem = find_model_problem(self.model)
            if not problem:
                problem = f"the model {self.model!r} cannot be loaded on {self.device}: {error}"
            raise ConvragError(problem) from error


@dataclass(kw_only=True, eq=False)
class SentenceTransformersStage(LocalModelStage[M]):
    """A stage with a model of sentence-transformers.

    Args:
        model: a folder, or a name on the Hugging Face hub.
        device: where the model runs.
        dtype: the numbers that it computes with.
    """

    dtype: Dtype = "auto"

    def _load(self, model_class: Callable[..., M], source: str, **options: Any) -> M:
        """Load the model.

        Args:
            model_class: SentenceTransformer or CrossEncoder.
            source: a folder, or a name on the hub.
            **options: of the class.
        """
        import torch

        model: Any = model_class(
            source, revision=self.revision, device=find_device(self.device), **options
        )
        loaded: M = model if self.dtype == "auto" else model.to(getattr(torch, self.dtype))
        return loaded


def find_device(device: str) -> str:
    """Return the device to run on, as torch names it; for `auto` the fastest one here."""
    if device != "auto":
        return device
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if torch.backends.mps.is_available():
        return "mps"
    if torch.xpu.is_available():
        return "xpu"
    return "cpu"


def score_distinct(
    texts: Sequence[str], score: Callable[[list[str]], NDArray[np.floating]]
) -> NDArray[np.float64]:
    """Score texts with a function that gets each distinct text once: (n,) scores.

    So equal texts get exactly equal scores: a model may round the score of a text differently in
    another batch.
    """
    import numpy as np

    if not texts:
        return np.zeros(0)
    distinct = list(dict.fromkeys(texts))
    scores = dict(zip(distinct, score(distinct).tolist(), strict=True))
    return np.array([scores[text] for text in texts], dtype=np.float64)
