"""Folders that are written whole or not at all, and folders that a process holds."""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from convrag.api.errors import ConfigError, FolderInUse
from convrag.concurrency.cancellation import cleanup_at_exit
from convrag.concurrency.locks import hold_folder


@contextmanager
def hold_abandoned(folder: Path) -> Iterator[bool]:
    """Hold a folder during the block if nobody writes a run into it.

    Whoever begins to write there meanwhile is told that the folder is in use.

    Returns:
        Whether the folder is held now. False where another process, or thread, writes into it or
        may do so: a folder that does not exist may be one of another machine.
    """
    if not folder.is_dir():
        yield False
        return
    with ExitStack() as stack:
        try:
            is_held = stack.enter_context(hold_folder(folder))
        except (FolderInUse, OSError):
            is_held = False
        yield is_held


@contextmanager
def write_folder(path: Path) -> Iterator[Path]:
    """Give a new folder, which is renamed to `path` at the end of the block.

    Where the block fails, the folder is removed.

    Raises:
        ConfigError: the folder exists and is not empty, or cannot be written.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigError(f"task.path={path} exists: name a folder that is new or empty")
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}.unfinished")

    def discard() -> None:
        shutil.rmtree(unfinished, ignore_errors=True)

    with cleanup_at_exit(discard):
        try:
            unfinished.mkdir(parents=True)
            yield unfinished
            unfinished.replace(path)
        except OSError as error:
            raise ConfigError(f"task.path={path} cannot be written: {error.strerror}") from error
        finally:
            discard()
