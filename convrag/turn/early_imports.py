"""Imports the libraries of stages in a thread of its own, while there is something else to wait for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable

from convrag.api.stage import Stage

log = logging.getLogger(__name__)


def start_imports(stages: Iterable[Stage]) -> threading.Thread:
    """Start a thread that calls `load_libraries` of each stage that has one. An import that fails is left to the calls.

    Returns:
        The thread, to be joined where nothing should go on before all is imported. It is a daemon.
    """
    loading = [stage for stage in stages if type(stage).load_libraries is not Stage.load_libraries]

    def load() -> None:
        for stage in loading:
            try:
                stage.load_libraries()
            except Exception:
                log.info("%s: its libraries were not imported early", type(stage).__name__, exc_info=True)

    thread = threading.Thread(target=load, name="imports", daemon=True)
    thread.start()
    return thread
