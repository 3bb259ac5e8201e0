"""The stages of this process: equal ones are one object, whichever run asks for them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakSet

from convrag.api.errors import ConfigError
from convrag.api.stage import Stage
from convrag.registry.option import Option
from convrag.store.fingerprint import compute_fingerprint, digest, file_hash
from convrag.store.remember import remember
from convrag.store.store import Store

LIMIT = 64
"""Stages that outlive their run: enough for a grid's cells to share, few enough for memory."""


class StagePool:
    """The stages of this process. One that is configured, and reads, like one that is there already is the same one."""

    def __init__(self) -> None:
        self._stages: OrderedDict[str, Stage] = OrderedDict()
        self._prepared: WeakSet[Stage] = WeakSet()
        self._lock = threading.RLock()

    def get(
        self, option: Option, values: dict[str, Any], injected: dict[str, Stage | None], store: Store, place: str
    ) -> Stage:
        """The stage of that option with those values and injected stages; built where there is none yet.

        Args:
            option: what to build.
            values: its checked parameters.
            injected: the stages that it is given, by parameter.
            store: keeps its results.
            place: where it was chosen ("rewriter.embedder"), for messages.

        Raises:
            ConfigError: it cannot be built.
        """
        stores = {parameter.name: store for parameter in option.parameters.values() if parameter.injects_store}
        with self._lock:
            try:
                stage = option.cls(**values, **injected, **stores)
            except ImportError as error:
                absent = option.missing_extra(place)
                raise absent or ConfigError(f"{place}={option.name} cannot be built: {error}") from error
            except (TypeError, ValueError) as error:
                raise ConfigError(f"{place}={option.name} cannot be built: {error}") from error
            stage.fingerprint = fingerprint_of(option, values, injected, stage)
            key = digest([stage.fingerprint, values, {name: id(other) for name, other in injected.items()}, store.path])
            if key not in self._stages:
                remember(stage, store)
                self._stages[key] = stage
            self._stages.move_to_end(key)
            while len(self._stages) > LIMIT:
                self._stages.popitem(last=False)
            return self._stages[key]

    def prepare(self, stage: Stage) -> None:
        """Prepare a stage, once."""
        with self._lock:
            if stage not in self._prepared:
                stage.prepare()
                self._prepared.add(stage)


pool = StagePool()


def fingerprint_of(option: Option, values: Mapping[str, Any], injected: Mapping[str, Any], stage: Stage) -> str:
    """The fingerprint of a stage.

    Args:
        option: what it is.
        values: its plain parameters.
        injected: the stages that it was given.
        stage: itself, as built.
    """
    return compute_fingerprint(stage, option.name, {**_result_parameters(option, values, stage), **injected})


def _result_parameters(option: Option, values: Mapping[str, Any], stage: Stage) -> dict[str, Any]:
    """The parameters that bear on results; a file counts by its contents, wherever it lies."""
    bearing = {name: value for name, value in values.items() if not option.parameters[name].operational}
    if stage.content_hash():
        return {name: value for name, value in bearing.items() if not isinstance(value, Path)}
    return {name: file_hash(v) or v if isinstance(v, Path) else v for name, v in bearing.items()}
