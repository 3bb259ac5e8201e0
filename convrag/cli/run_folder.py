"""The folder of a single run: held from before Hydra writes there until the run has ended; removed if it is empty."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from hydra._internal import hydra as hydra_runs
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn, run_job
from omegaconf import DictConfig, OmegaConf

from convrag.store.folder_lock import FOLDER_LOCK, hold_folder


def hold_run_folders() -> None:
    """Let Hydra hold the folder of a single run (hydra.run.dir), where it writes `.hydra/` and a log before our part.

    Otherwise a command that is refused because another one writes there would have replaced the other's `.hydra/`.
    Hydra's own callbacks come at the right time, but cannot refuse a run.
    """
    hydra_runs.run_job = _hold_and_run  # type: ignore[attr-defined, assignment]


def _hold_and_run(*, config: DictConfig, job_dir_key: str, **others: Any) -> JobReturn:
    with hold_folder(_find_folder(config, job_dir_key)):
        return run_job(config=config, job_dir_key=job_dir_key, **others)


def _find_folder(config: DictConfig, key: str) -> Path:
    """Find the folder as `run_job` does, for which a name such as ${hydra:job.name} is resolved."""
    known = HydraConfig.instance()
    before = known.cfg
    known.set_config(config)
    try:
        return Path(str(OmegaConf.select(config, key)))
    finally:
        known.cfg = before


def remove_if_empty(folder: Path) -> None:
    """Remove a folder with nothing in it but what Hydra put there before our part began, and what it was made in."""
    here, folder = Path.cwd(), folder.resolve()
    if folder == here or not all(_was_there_before(entry) for entry in folder.iterdir()):
        return
    shutil.rmtree(folder, ignore_errors=True)  # Windows removes no open file
    with suppress(OSError):  # the first one that holds something else
        for parent in folder.parents:
            if here in parent.parents:
                parent.rmdir()


def _was_there_before(entry: Path) -> bool:
    return entry.name in (".hydra", FOLDER_LOCK) or (entry.suffix == ".log" and not entry.stat().st_size)
