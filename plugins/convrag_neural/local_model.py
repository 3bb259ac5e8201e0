"""The base of this package's stages: a model that runs on this machine, loaded once, used by one thread at a time."""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from convrag import ConfigError, ConvragError, Ranker, Store
from convrag.sdk.model_files import find_local_folder, identify_model
from convrag.sdk.progress import hide_transformers_bars
from convrag.sdk.types import Stage
from convrag_neural.backends import (
    Backend,
    Computing,
    check_backend,
    choose_backend,
    describe_backend,
    find_missing_extra,
    identify_backend,
)
from convrag_neural.devices import check_device_name, find_device, find_device_problem
from convrag_neural.model_files import find_model_problem, find_revision, is_local

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

M = TypeVar("M")


class LocalModelStage(Stage, Generic[M]):
    """A stage with a local model. Subclasses load it in `_load_model`, and use it inside `with self._locked_model()`.

    Args:
        model: a folder, or a name on the Hugging Face hub.
        device: where the model runs: auto, cpu, cuda, cuda:1, mps, xpu.
    """

    libraries = ("numpy", "torch", "transformers")
    requires: ClassVar[Mapping[str, str]] = {"sentence_transformers": "convrag[neural]"}

    def __init__(self, model: str, device: str) -> None:
        check_device_name("ranker" if isinstance(self, Ranker) else "embedder", device)
        self.model = model
        self.device = device
        self._lock = threading.Lock()
        self._loaded: M | None = None

    @cached_property
    def revision(self) -> str | None:
        """The commit of a model on the hub, which is the one that is loaded; None for a folder."""
        return find_revision(self.model)

    def check(self) -> Iterator[str]:
        """Say what is wrong where the model cannot be loaded, as far as that can be known without loading it."""
        if problem := find_model_problem(self.model):
            option = "bm25" if isinstance(self, Ranker) else "lsa"
            yield f"{problem} ({{place}}.model=<folder>, or {{place}}={option}, which needs no model)"
        if problem := find_device_problem(self.device):
            yield f"{problem} ({{place}}.device=auto takes the fastest that there is)"

    def content_hash(self) -> str:
        """Hash the files of a model in a folder, or name the commit of one on the hub: another one is another stage."""
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
        """Give the model to this thread alone, since tokenizers are not thread-safe; it is loaded at the first use.

        Raises ConvragError where it cannot be loaded.
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
            problem = find_model_problem(self.model) or f"the model {self.model!r} cannot be loaded: {error}"
            raise ConvragError(problem) from error


class BackendStage(LocalModelStage[M]):
    """A stage with a model of sentence-transformers, which other backends than torch may compute.

    Args:
        model: a folder, or a name on the Hugging Face hub.
        device: where the model runs.
        backend: what computes.
        store: keeps the exported model.
    """

    def __init__(self, model: str, device: str, backend: Backend, store: Store | None) -> None:
        super().__init__(model, device)
        check_backend("ranker" if isinstance(self, Ranker) else "embedder", backend, device)
        self.backend = backend
        self.store = store

    @cached_property
    def computing(self) -> Computing:
        """The backend that computes: the one that is asked for, or what `auto` chooses on this machine.

        Without a store to keep the exported model in, `auto` is torch.
        """
        if self.backend != "auto":
            return self.backend
        return "torch" if self.store is None else choose_backend(self.device, self.model, self.revision)

    def check(self) -> Iterator[str]:
        """Say what is missing: the backend's libraries, or the model."""
        if extra := find_missing_extra(self.computing):
            yield str(extra)
        yield from super().check()

    def content_hash(self) -> str:
        """Hash the model, and what bears on a backend's results."""
        return super().content_hash() + identify_backend(self.computing)

    def note(self) -> str:
        """Say what `backend=auto` has chosen, where that is not torch."""
        if self.backend != "auto" or self.computing == "torch":
            return ""
        return f"backend=auto: {Path(self.model).name} was computed by {describe_backend(self.computing)}."

    def _load_with_backend(self, model_class: Callable[..., M], source: str, **options: Any) -> M:
        """Load the model with its backend.

        Args:
            model_class: SentenceTransformer or CrossEncoder, which gets `options`.
            source: folder or name.
            options: of `model_class`.
        """
        if extra := find_missing_extra(self.computing):
            raise extra
        if self.computing == "torch":
            return model_class(source, revision=self.revision, device=find_device(self.device), **options)
        from convrag_neural.exporting import replace_network

        model = model_class(source, revision=self.revision, device="cpu", **options)
        replace_network(model, self.computing, self.store, super().content_hash())
        log.info("%s is computed by %s", self.model, describe_backend(self.computing))
        return model


def check_sizes(group: str, batch_size: int, max_length: int | None) -> None:
    """Raise ConfigError where one of the parameters is below 1; `max_length` may be None."""
    if batch_size < 1 or (max_length is not None and max_length < 1):
        raise ConfigError(f"{group}.batch_size={batch_size} and {group}.max_length={max_length} must be at least 1")


def score_distinct(texts: Sequence[str], score: Callable[[list[str]], NDArray[np.floating]]) -> NDArray[np.float64]:
    """Score texts with a function that gets each distinct text once: (n,) scores, in the order of `texts`.

    Equal texts get exactly equal scores so: a model may round the score of a text differently in another batch.
    """
    import numpy as np

    if not texts:
        return np.zeros(0)
    distinct = list(dict.fromkeys(texts))
    scores = dict(zip(distinct, score(distinct).tolist(), strict=True))
    return np.array([scores[text] for text in texts], dtype=np.float64)
