"""Downloads of data sets from the Hugging Face hub."""

import logging
from collections.abc import Callable, Sequence
from glob import escape
from pathlib import Path
from textwrap import shorten

from convrag import ConfigError, ConvragError
from convrag.sdk.errors import MissingExtra

log = logging.getLogger(__name__)

_PATIENCE = 4.0
"""Seconds within which the hub must say what a data set consists of."""

_LONGEST_REASON = 300
"""Characters of the hub's own message."""

Choose = Callable[[Sequence[Path]], Sequence[Path]]
"""Chooses from the paths of all files of a data set those that are read."""


def is_path(name: str) -> bool:
    """Whether a name is the path of a folder or a file, and not a name on the hub."""
    path = Path(name).expanduser()
    looks_like_path = name.startswith((".", "~")) or "\\" in name or name.count("/") > 1
    return looks_like_path or path.is_absolute() or path.exists()


def download(name: str, revision: str, choose: Choose) -> Path:
    """Download files of a data set into the hub's own cache, where they stay.

    If the hub cannot be reached, the files in the cache are used.

    Args:
        name: of the data set on the hub ("BeIR/scifact").
        revision: a branch, a tag or a commit; empty for the newest one.
        choose: chooses the files.

    Returns:
        The folder of the downloaded revision.

    Raises:
        ConfigError: the hub has no such data set, or cannot be reached and the cache has none.
        ConvragError: any that `choose` raises.
        MissingExtra: huggingface_hub is not installed.
    """
    try:
        from huggingface_hub import HfApi, snapshot_download
    except ImportError as error:
        raise MissingExtra(
            "huggingface_hub", "convrag[huggingface]", f"reading {name!r} from the hub"
        ) from error
    try:
        info = HfApi().dataset_info(name, revision=revision or None, timeout=_PATIENCE)
        files = choose([Path(file.rfilename) for file in info.siblings or ()])
        folder = snapshot_download(
            name,
            repo_type="dataset",
            revision=revision or None,
            allow_patterns=[escape(file.as_posix()) for file in files],
        )
    except ConvragError:
        raise
    except Exception as error:  # each part of the library raises errors of its own
        return _find_cached(name, revision, error)
    return Path(folder)


def _find_cached(name: str, revision: str, error: Exception) -> Path:
    """Find the copy in the hub's cache after an error. Raises ConfigError where there is none."""
    from huggingface_hub.constants import HF_HUB_CACHE

    reason = shorten(str(error), _LONGEST_REASON)
    if not _was_refused(error):
        folder = Path(HF_HUB_CACHE, f"datasets--{name.replace('/', '--')}")
        commit = _find_commit(folder, revision)
        snapshot = folder / "snapshots" / commit
        if commit and snapshot.is_dir():
            log.warning("%s is read from the cache; the hub was not reached: %s", name, reason)
            return snapshot
    raise ConfigError(
        f"the data set {name!r} is not a folder here, and cannot be downloaded from the hub: "
        f"{reason}. Give a folder of Parquet, JSONL or CSV files, or run "
        f"`hf download {name} --repo-type dataset --local-dir FOLDER` where there is a network"
    ) from error


def _find_commit(folder: Path, revision: str) -> str:
    """Find the commit of a revision in the cache; the revision itself may be a commit."""
    reference = folder / "refs" / (revision or "main")
    try:
        return reference.read_text(encoding="utf-8").strip()
    except OSError:
        return revision


def _was_refused(error: Exception) -> bool:
    """Whether the hub has answered that there is no such data set, or no access to it."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    return isinstance(status, int) and 400 <= status < 500
