"""Reads a command's request to Hydra: a run, a grid, or a text that only Hydra can write."""

import shutil
import sys
from argparse import Namespace
from contextlib import suppress
from functools import partial
from pathlib import Path

from hydra.core.config_loader import ConfigLoader
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.utils import JobRuntime, configure_log, run_job
from hydra.types import HydraContext, RunMode, TaskFunction
from omegaconf import DictConfig
from omegaconf.resolvers import oc

from convrag.api.secrets import MASK, is_noted_secret, redact
from convrag.concurrency.locks import FOLDER_LOCK, hold_folder
from convrag.config.advice import refuse_grid
from convrag.config.choices import is_sweep
from convrag.config.command import APPLICATION, list_overrides
from convrag.config.compose import CONFIG_MODULE, CONFIG_NAME, compose_checked
from convrag.config.hydra import make_context, register_resolver, run_main
from convrag.config.loader import ConvragSearchPath, list_places, make_loader
from convrag.config.messages import explained
from convrag.registry import plugins
from convrag.sweep.folders import register_folder_names

_AS_GRID = "hydra.mode=MULTIRUN"


def launch(command: Namespace, task: TaskFunction) -> None:
    """Carry out a command.

    Args:
        command: its flags, and its overrides in Hydra's words.
        task: runs the job of a configuration: the command's own, or a grid cell's.

    Raises:
        ConvragError: whatever is wrong with the configuration; nothing is written then.
        Exception: an error of Hydra's or of the job's.
    """
    extend_hydra()
    if command.shell_completion or command.hydra_help:
        _leave_to_hydra(command, task)
        return
    loader = make_loader(list_places(command.config_path))
    config = _compose(loader, command)
    if command.cfg or command.info:
        _leave_to_hydra(command, task)
        return
    configure_log(config.hydra.hydra_logging, config.hydra.verbose)
    start = _sweep if config.hydra.mode == RunMode.MULTIRUN else _run
    start(config, make_context(loader, config), task)


def extend_hydra() -> None:
    """Make the command, our resolvers, sweeper and launcher known to Hydra, which finds none in an
    editable install.
    """
    JobRuntime().set("name", APPLICATION)
    register_folder_names()
    # Looking for plugins, Hydra executes their modules anew: import what it leaves.
    known = Plugins.instance()
    from hydra_plugins.convrag_ray_launcher import ConvragRayLauncher
    from hydra_plugins.convrag_sweeper import ConvragSweeper

    known.register(ConvragSweeper)
    known.register(ConvragRayLauncher)


def _compose(loader: ConfigLoader, command: Namespace) -> DictConfig:
    """Return the checked configuration of a run, or what the cells of a grid have in common.

    A command is a grid by the flag -m, or since a file says so (hydra.mode).
    """
    if command.multirun:
        return _compose_mode(loader, command, RunMode.MULTIRUN)
    only_shown = command.cfg or command.info
    has_several = any(is_sweep(override.partition("=")[2]) for override in command.overrides)
    if has_several:
        if only_shown or not _says_grid(loader, command):
            refuse_grid(command.overrides, plugins.load().registry)
        return _compose_mode(loader, command, RunMode.MULTIRUN)
    config = _compose_mode(loader, command, RunMode.RUN)
    if config.hydra.mode == RunMode.MULTIRUN and not only_shown:
        return _compose_mode(loader, command, RunMode.MULTIRUN)
    config.hydra.mode = RunMode.RUN
    return config


def _compose_mode(loader: ConfigLoader, command: Namespace, mode: RunMode) -> DictConfig:
    is_grid = mode is RunMode.MULTIRUN
    overrides = [*command.overrides, _AS_GRID] if is_grid else command.overrides
    name = command.config_name or CONFIG_NAME
    load = partial(loader.load_configuration, name, overrides, mode)
    return compose_checked(load, command.overrides, in_grid=is_grid).full


def _says_grid(loader: ConfigLoader, command: Namespace) -> bool:
    """Whether a file makes a grid of a command that has several values."""
    name = command.config_name or CONFIG_NAME
    with explained(plugins.load().registry, command.overrides):
        config = loader.load_configuration(
            name, command.overrides, RunMode.MULTIRUN, validate_sweep_overrides=False
        )
    return bool(config.hydra.mode == RunMode.MULTIRUN)


def _run(config: DictConfig, context: HydraContext, task: TaskFunction) -> None:
    """Run a job in its folder, which is held: Hydra writes there before the job begins."""
    HydraConfig.instance().set_config(config)  # for names such as ${hydra:job.name}
    name = CONFIG_NAME if config.hydra.job.config_name is None else config.hydra.job.config_name
    context.callbacks.on_run_start(config=config, config_name=name)
    with hold_folder(Path(str(config.hydra.run.dir))):
        ended = run_job(
            hydra_context=context,
            task_function=task,
            config=config,
            job_dir_key="hydra.run.dir",
            job_subdir_key=None,
        )
    context.callbacks.on_run_end(config=config, config_name=name, job_return=ended)
    _ = ended.return_value  # raises what the job raised


def _sweep(config: DictConfig, context: HydraContext, task: TaskFunction) -> None:
    name = config.hydra.job.config_name
    context.callbacks.on_multirun_start(config=config, config_name=name)
    sweeper = Plugins.instance().instantiate_sweeper(
        hydra_context=context, task_function=task, config=config
    )
    sweeper.sweep(arguments=list_overrides(config.hydra))
    context.callbacks.on_multirun_end(config=config, config_name=name)


def _leave_to_hydra(command: Namespace, task: TaskFunction) -> None:
    """Let Hydra write a text that only it knows (--cfg, --info), with asterisks for secrets that
    --resolve would show.
    """
    Plugins.instance().register(ConvragSearchPath)
    register_resolver("oc.env", _read_redacted)
    sys.argv[1:] = [*command.flags, *command.overrides]
    try:
        run_main(task, CONFIG_MODULE, CONFIG_NAME)
    finally:
        register_resolver("oc.env", oc.env)


def _read_redacted(*arguments: str | None) -> str | None:
    """Return what `oc.env` returns for these arguments, with asterisks for a secret."""
    value = oc.env(*arguments)  # type: ignore[arg-type]
    if value is None:
        return None
    return MASK if is_noted_secret(value) or redact(value) != value else value


def remove_if_empty(folder: Path) -> None:
    """Remove a folder in which only Hydra has written, and the empty folders above it."""
    here, folder = Path.cwd(), folder.resolve()
    if folder == here or not all(map(_was_there_before, folder.iterdir())):
        return
    shutil.rmtree(folder, ignore_errors=True)  # Windows removes no open file
    with suppress(OSError):  # the first one that holds something else
        for parent in folder.parents:
            if here in parent.parents:
                parent.rmdir()


def _was_there_before(entry: Path) -> bool:
    return entry.name in (".hydra", FOLDER_LOCK) or (
        entry.suffix == ".log" and not entry.stat().st_size
    )
