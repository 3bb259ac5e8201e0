"""The base of this package's stages: a model and its files on this machine, loaded once, used by a
thread at a time.
"""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, TypeVar

from convrag import ConvragError, Embedder, operational
from convrag.sdk.model_files import find_cached_revision, find_local_folder, identify_model
from convrag.sdk.output.library_logs import hide_transformers_bars
from convrag.sdk.types import Stage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


log = logging.getLogger(__name__)

M = TypeVar("M")

Dtype = Literal["auto", "float32", "bfloat16"]
"""What a model computes with; `auto` is what its weights are kept in."""


@dataclass(kw_only=True, eq=False)
class LocalModelStage(Stage, Generic[M]):
    """A stage with a local model. Subclasses load it in `_load_model`, and use it inside `with self._locked_model()`.

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
        """The commit of a model on the hub, which is the one that is loaded; None for a folder."""
        return find_revision(self.model)

    def check(self) -> Iterator[str]:
        """Say what is wrong where the model cannot be loaded, as far as that can be known without
        loading it.
        """
        if problem := find_model_problem(self.model):
            option = "lsa" if isinstance(self, Embedder) else "bm25"
            yield f"{problem} ({{place}}.model=<folder>, or {{place}}={option}, which needs no model)"

    def content_hash(self) -> str:
        """Hash the files of a model in a folder, or name the commit of one on the hub: another one
        is another stage.
        """
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
        """Give the model to this thread alone, since tokenizers are not thread-safe; it is loaded
        at the first use.

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
            problem = (
                find_model_problem(self.model)
                or f"the model {self.model!r} cannot be loaded on {self.device}: {error}"
            )
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
        """Load the model: `model_class` is SentenceTransformer or CrossEncoder, which gets
        `options`.
        """
        import torch

        model: Any = model_class(
            source, revision=self.revision, device=find_device(self.device), **options
        )
        loaded: M = model if self.dtype == "auto" else model.to(getattr(torch, self.dtype))
        return loaded


def find_device(device: str) -> str:
    """Return the device to run on, as torch names it; for `auto` the fastest that this machine has."""
    if device != "auto":
        return device
    import torch

    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "xpu": torch.xpu.is_available(),
    }
    return next((kind for kind, found in there.items() if found), "cpu")


def score_distinct(
    texts: Sequence[str], score: Callable[[list[str]], NDArray[np.floating]]
) -> NDArray[np.float64]:
    """Score texts with a function that gets each distinct text once: (n,) scores, in the order of
    `texts`.

    Equal texts get exactly equal scores so: a model may round the score of a text differently in
    another batch.
    """
    import numpy as np

    if not texts:
        return np.zeros(0)
    distinct = list(dict.fromkeys(texts))
    scores = dict(zip(distinct, score(distinct).tolist(), strict=True))
    return np.array([scores[text] for text in texts], dtype=np.float64)


TOKENIZER_FILES = "tokenizer.json", "spiece.model"
"""The files that a T5 tokenizer may be kept in: converted for the library tokenizers, or in its own
format.
"""

_HUB_TIMEOUT = 10  # seconds


def is_local(model: str) -> bool:
    """Whether a model is on this machine, in a folder or in the cache, so that nothing is
    downloaded.
    """
    return bool(find_local_folder(model) or find_cached_revision(model))


def find_model_problem(model: str) -> str:
    """Say why a model cannot be loaded, and what to do; empty where it can. Asks the hub for what
    is not local.
    """
    if (folder := find_local_folder(model)) is not None:
        return (
            ""
            if (folder / "config.json").is_file() or (folder / "modules.json").is_file()
            else f"{folder} holds no model"
        )
    if Path(model).is_absolute() or model.startswith(("~", ".")):
        return f"there is no folder {model}: give the path of a model's folder, or a name on the Hugging Face hub"
    from huggingface_hub import HfApi

    try:
        if not is_local(model):
            HfApi().model_info(model, timeout=_HUB_TIMEOUT)
    except (
        Exception
    ) as error:  # offline, no such model, no access: no common exception is documented
        why = str(error).partition("\n")[0]
        return (
            f"the model {model!r} is no folder, not in the local cache, and cannot be downloaded ({why}): "
            "give the path of a model's folder, or download it where there is a network"
        )
    return ""


def find_tokenizer_problem(tokenizer: str, model: str) -> str:
    """Say why a tokenizer cannot be loaded, and what to do; empty where it can. A folder needs no
    model beside it.

    Args:
        tokenizer: folder or name.
        model: folder or name of the model that it is for. What is wrong with the model itself is
            not repeated.
    """
    folder = find_local_folder(tokenizer)
    if tokenizer == model and (folder is None or find_model_problem(model)):
        # On the hub it comes with the model; a folder without a model has a message of its own
        return ""
    if folder is None:
        return find_model_problem(tokenizer)
    present = any((folder / name).is_file() for name in TOKENIZER_FILES)
    return "" if present else f"{folder} holds no tokenizer: name one with tokenizer=..."


def find_revision(model: str) -> str | None:
    """Find the commit of a model on the hub: of the local cache, or else the newest; None for a
    folder, and offline.
    """
    if find_local_folder(model) is not None:
        return None
    if cached := find_cached_revision(model):
        return cached
    from huggingface_hub import HfApi

    try:
        sha: str | None = HfApi().model_info(model, timeout=_HUB_TIMEOUT).sha
    except Exception:  # offline, no such model, no access, which `find_model_problem` says
        return None
    return sha
