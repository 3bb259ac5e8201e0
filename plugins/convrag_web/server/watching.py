"""Documents that change while they are served: they are read again for the next turn."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from watchfiles import DefaultFilter, watch

from convrag.sdk.secrets import redact
from convrag_web.server.served_models import ServedModels

log = logging.getLogger("convrag.serve")

LOOK_MILLISECONDS = 60_000
"""The time without a change after which the files are read all the same.

Network drives do not report changes.
"""


@contextmanager
def watching(models: ServedModels, ignored: Path) -> Iterator[None]:
    """Watch the files of the models' data sets during the block, in a thread.

    Args:
        models: the models by name.
        ignored: the store, which may be among the documents.
    """
    files = {path for model in models.values() for path in model.data.list_files()}
    present = [path for path in files if path.exists()]
    ended = Event()

    def follow_changes() -> None:
        changes = watch(
            *present,
            watch_filter=DefaultFilter(ignore_paths=[ignored.absolute()]),
            stop_event=ended,
            yield_on_timeout=True,
            rust_timeout=LOOK_MILLISECONDS,
        )
        for _ in changes:
            read_again(models)

    if present:
        Thread(target=follow_changes, name="watching", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def read_again(models: ServedModels) -> None:
    """Let each model read its data set again.

    If that fails, the model goes on with the documents that it has, and a warning says why.
    """
    for name, model in models.items():
        try:
            model.read_again()
        except Exception as error:  # of any plugin
            reason = redact(str(error))
            log.warning("model %s goes on with the documents of before: %s", name, reason)
