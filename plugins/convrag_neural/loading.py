"""A model in memory: loaded at first use, and used by one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Generic, TypeVar

from convrag import ConvragError
from convrag_neural.models import is_here, local_folder, missing_model

T = TypeVar("T")


class LocalModel(Generic[T]):
    """What all stages of this package have: a model that must be there, and is loaded once for all threads.

    Args:
        name: a folder, or a name on the Hugging Face hub.
        load: folder or name -> the model, ready for use; may raise anything.
    """

    def __init__(self, name: str, load: Callable[[str], T]) -> None:
        self._name = name
        self._load = load
        self._lock = threading.Lock()
        self._loaded: T | None = None

    def problems(self) -> Iterator[str]:
        """Why the model cannot be loaded, as far as that can be known; for `check`."""
        if problem := missing_model(self._name):
            yield problem

    @contextmanager
    def held(self) -> Iterator[T]:
        """The model, for this thread alone: tokenizers must not be used by two at once.

        Raises ConvragError where it cannot be loaded.
        """
        with self._lock:
            if self._loaded is None:
                self._loaded = self._read()
            yield self._loaded

    def _read(self) -> T:
        try:
            with _without_bars() if is_here(self._name) else nullcontext():
                return self._load(str(local_folder(self._name) or self._name))
        except ConvragError:
            raise
        except Exception as error:  # the libraries below raise whatever they like
            problem = missing_model(self._name) or f"the model {self._name!r} cannot be loaded: {error}"
            raise ConvragError(problem) from error


@contextmanager
def _without_bars() -> Iterator[None]:
    """Without the bars of the libraries: for a model that is there they take a moment, and stay in the output."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
