"""Documents that change while they are served: they are read again, and the next turn searches what
is there now.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from watchfiles import DefaultFilter, watch

from convrag.sdk.secrets import redact
from convrag_web.server.served_models import ServedModels, log

LOOK_MILLISECONDS = 60_000
"""After so long without a change the files are looked at all the same: a network drive tells nobody
of changes.
"""


@contextmanager
def watching(models: ServedModels, ignored: Path) -> Iterator[None]:
    """Watch the files of the models' data sets during the block, in a thread.

    Args:
        models: by name.
        ignored: the store, which may lie among the documents.
    """
    paths = {path for model in models.values() for path in model.list_files() if path.exists()}
    ended = Event()

    def follow() -> None:
        how = {"stop_event": ended, "yield_on_timeout": True, "rust_timeout": LOOK_MILLISECONDS}
        for _ in watch(
            *paths, watch_filter=DefaultFilter(ignore_paths=[ignored.absolute()]), **how
        ):
            read_again(models)

    if paths:
        Thread(target=follow, name="watching", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def read_again(models: ServedModels) -> None:
    """Let each model read its data set again. One that cannot, goes on with what it has, and a
    warning says why.
    """
    for name, model in models.items():
        try:
            model.read_again()
        except Exception as error:  # of any plugin
            log.warning(
                "model %s goes on with the documents of before: %s", name, redact(str(error))
            )
