"""The base of this package's stages: a model that is loaded once and used by a thread at a time."""

from __future__ import annotations

import os
import threading
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge

from convrag import ConvragError, Embedder, operational
from convrag.sdk.model_files import find_local_folder
from convrag.sdk.types import Stage
from convrag_fastembed.onnx_folder import OnnxFolder

CACHE_VARIABLE = "FASTEMBED_CACHE_PATH"
"""The environment variable of fastembed that names the folder of downloaded models."""


@dataclass(kw_only=True, eq=False)
class OnnxStage(Stage):
    """A stage with an ONNX model.

    Subclasses load it in `load`, and use it inside `with self.locked_model()`.

    Args:
        model: one of fastembed's models, by name, or a folder.
        batch_size: the most texts at once.
        threads: threads that compute; None lets onnxruntime choose.
        max_length: tokens that are read; None is the model's own limit.
    """

    libraries = ("numpy", "fastembed", "onnxruntime", "tokenizers")
    requires: ClassVar[Mapping[str, str]] = {"fastembed": "convrag[fastembed]"}
    env_vars = (CACHE_VARIABLE,)

    model: str
    batch_size: Annotated[int, operational, Ge(1)] = 32
    threads: Annotated[int | None, operational, Ge(1)] = None
    max_length: Annotated[int | None, Ge(1)] = None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: Any = None

    @cached_property
    def folder(self) -> OnnxFolder | None:
        """The folder of a model on this machine; None for one of fastembed's."""
        path = find_local_folder(self.model)
        return None if path is None else OnnxFolder(path)

    def check(self) -> Iterator[str]:
        """Say why the model cannot be loaded, as far as that is known without loading it."""
        problem = self.folder.find_problem() if self.folder else self._find_name_problem()
        if problem:
            other = "lsa" if isinstance(self, Embedder) else "bm25"
            yield f"{problem} ({{place}}={other} needs no model)"

    def content_hash(self) -> str:
        """Hash the files of a model in a folder; fastembed's version says which another one is."""
        return self.folder.identify() if self.folder else ""

    def prepare(self) -> None:
        """Load the model. Raises ConvragError where that fails."""
        with self.locked_model():
            pass

    @abstractmethod
    def list_models(self) -> Sequence[Mapping[str, Any]]:
        """List the models that fastembed knows; each has a name, `model`."""

    @abstractmethod
    def load(self, options: Mapping[str, Any]) -> Any:
        """Load the model with these options of fastembed; may raise anything."""

    @contextmanager
    def locked_model(self) -> Iterator[Any]:
        """Give the model to this thread alone, loaded at the first use. Raises ConvragError."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self._try_loading()
            yield self._loaded

    def _try_loading(self) -> Any:
        options: dict[str, Any] = {"threads": self.threads, "cache_dir": str(find_cache())}
        if self.folder:
            options["specific_model_path"] = str(self.folder.path)
        try:
            loaded = self.load(options)
            self._limit_length(loaded)
        except ConvragError:
            raise
        except Exception as error:  # the libraries document no common exception
            reason = str(error).partition("\n")[0]
            raise ConvragError(
                f"the model {self.model!r} cannot be loaded with fastembed: {reason}. Give the "
                "folder of an ONNX model, or download it where there is a network"
            ) from error
        return loaded

    def _limit_length(self, loaded: Any) -> None:
        """Let the tokenizer cut texts where the model's authors, or the user, want it."""
        length = self.max_length
        if length is None and self.folder:
            length = self.folder.read_max_length()
        if length is not None:
            loaded.model.tokenizer.enable_truncation(max_length=length)

    def _find_name_problem(self) -> str:
        """Say why a name cannot be a model's."""
        if Path(self.model).is_absolute() or self.model.startswith(("~", ".")):
            return f"there is no folder {self.model}: give the folder of an ONNX model"
        names = [str(each["model"]) for each in self.list_models()]
        if self.model.lower() in {name.lower() for name in names}:
            return ""
        alike = get_close_matches(self.model, names, n=5, cutoff=0.3)
        return (
            f"fastembed has no model {self.model!r}, and there is no such folder; it has "
            f"{', '.join(alike or names[:5])}, and others"
        )


def find_cache() -> Path:
    """Find the folder of downloaded models.

    fastembed's own default is a folder for temporary files, which systems empty.
    """
    given = os.environ.get(CACHE_VARIABLE)
    return Path(given) if given else Path.home() / ".cache" / "fastembed"
