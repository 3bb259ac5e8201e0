"""What a command asks of Hydra: a run, a grid, or a text (--help). The configuration is composed
once, and checked.
"""

import inspect
import os
import shutil
import sys
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from string import Template
from typing import Any

import hydra
from hydra._internal.callbacks import (
    Callbacks,  # a HydraContext needs it, and run_job a HydraContext
)
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.utils import JobRuntime, configure_log, run_job
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import HydraContext, RunMode, TaskFunction
from omegaconf import DictConfig, OmegaConf

from convrag.api.groups import GROUPS
from convrag.api.secrets import MASK, redact
from convrag.concurrency.locks import FOLDER_LOCK, hold_folder
from convrag.config.choices import APPLICATION, is_sweep
from convrag.config.compose import CONFIG_MODULE, CONFIG_NAME
from convrag.config.loader import VERSION_BASE, configure, list_own_places, list_places, make_loader
from convrag.config.messages import explained
from convrag.config.secret_checks import refuse_secrets
from convrag.config.settings import PRESETS, list_settings
from convrag.config.variants import variants
from convrag.registry import plugins
from convrag.sweep.cells import register_folder_names

_DESCRIPTIONS = {
    "ranker": "ranks the clusters of nuggets from which generator=ginger answers; passages are ranked by reranker",
    "reranker": "ranks the retrieved passages again, with the options of ranker",
}
"""Group -> what its stages do, where two groups share a class."""


def launch(command: Namespace, task: TaskFunction) -> None:
    """Carry out a command.

    Args:
        command: its flags, and its overrides as Hydra reads them.
        task: runs the job of a configuration: the command's own, or a grid cell's.

    Raises:
        ConvragError: whatever is wrong with the configuration; nothing is written then.
        Exception: what Hydra or the job raised.
    """
    extend_hydra()
    if command.shell_completion or command.hydra_help:
        _leave_to_hydra(command, task)
        return
    loader = make_loader(list_places(command.config_path), for_help=command.help)
    with explained(plugins.load().registry, command.overrides):
        config = _compose(loader, command)
    refuse_secrets(config)
    if command.help:
        sys.stdout.write(f"{_make_help(config, resolve=command.resolve)}\n")
    elif command.cfg or command.info:
        _leave_to_hydra(command, task)
    else:
        configure_log(config.hydra.hydra_logging, config.hydra.verbose)
        start = _run if config.hydra.mode == RunMode.RUN else _sweep
        start(config, HydraContext(config_loader=loader, callbacks=Callbacks(config)), task)


def extend_hydra() -> None:
    """Make the command, our resolvers and sweeper known to Hydra, which finds none in an editable
    install.
    """
    JobRuntime().set("name", APPLICATION)
    register_folder_names()
    known = (
        Plugins.instance()
    )  # where it finds the modules, it executes them anew: import what that leaves
    from hydra_plugins.convrag_sweeper import ConvragSweeper

    known.register(ConvragSweeper)


def _compose(loader: ConfigLoader, command: Namespace) -> DictConfig:
    """The configuration of a run, or of a grid: by the flag -m, or since a file says so
    (hydra.mode).
    """

    def load(mode: RunMode, *more: str, checked: bool = True) -> DictConfig:
        overrides = [*command.overrides, *more]
        name = command.config_name or CONFIG_NAME
        return loader.load_configuration(name, overrides, mode, validate_sweep_overrides=checked)

    as_grid = "hydra.mode=MULTIRUN"
    if command.multirun:
        return load(RunMode.MULTIRUN, as_grid)
    several = any(is_sweep(override.partition("=")[2]) for override in command.overrides)
    config = load(RunMode.MULTIRUN, checked=False) if several else load(RunMode.RUN)
    if config.hydra.mode == RunMode.MULTIRUN and not (command.help or command.cfg or command.info):
        return load(RunMode.MULTIRUN, as_grid)
    if several:
        config = load(RunMode.RUN)
    config.hydra.mode = RunMode.RUN
    return config


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
    typed: Any = OmegaConf.to_container(
        config.hydra.overrides.task, resolve=False
    )  # a reference stays one
    sweeper.sweep(arguments=typed)
    context.callbacks.on_multirun_end(config=config, config_name=name)


def _make_help(config: DictConfig, *, resolve: bool) -> str:
    """The text of --help: hydra.help.template, with the options and the configuration in it."""
    HydraConfig.instance().set_config(config)
    template = Template(str(config.hydra.help.template))
    chosen = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    return template.safe_substitute(
        OPTIONS=help_text(), CONFIG=OmegaConf.to_yaml(chosen, resolve=resolve)
    )


def help_text() -> str:
    """The options of each group with a line for each, and the settings."""
    registry = plugins.load().registry
    lines = ["Stages (group=option):"]
    for group in GROUPS:
        heading = ["", f"  {group}: {_describe_group(group)}"]
        if group == "reranker":
            lines += heading
        elif options := registry.options(group):
            offered = {name: option.help for name, option in options.items()} | variants(group)
            lines += [
                *heading,
                *(f"    {name:<22} {text}" for name, text in sorted(offered.items())),
            ]
    for group, what in PRESETS.items():
        lines += ["", f"  +{group}=...: {what}"]
        lines += [f"    {name:<22} {text}" for name, text in variants(group).items()]
    lines += ["", "Settings (key=value):", ""]
    lines += [f"  {f'{name}={default}':<24} {text}" for name, default, text in list_settings()]
    lines += [f"\n{failure}" for failure in registry.failures]
    return "\n".join(lines)


def _describe_group(group: str) -> str:
    """What the stages of a group do, in a line."""
    text = _DESCRIPTIONS.get(group) or (inspect.getdoc(GROUPS[group]) or "").partition("\n")[0]
    return f"{text[:1].lower()}{text[1:]}".rstrip(".")


class ConvragSearchPath(SearchPathPlugin):
    """Adds our places to the process's, for what only Hydra knows."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Called by Hydra whenever it looks for configurations."""
        for provider, path in list_own_places():
            search_path.append(provider=provider, path=path)


def _leave_to_hydra(command: Namespace, task: TaskFunction) -> None:
    """Let Hydra show what only it knows (--cfg, --info), with asterisks for secrets that --resolve
    would show.
    """
    ConfigStore.instance().repo.update(configure().repo)
    Plugins.instance().register(ConvragSearchPath)
    OmegaConf.register_new_resolver("oc.env", _read_redacted, replace=True)
    sys.argv[1:] = [*command.flags, *command.overrides]
    hydra.main(f"pkg://{CONFIG_MODULE}", CONFIG_NAME, VERSION_BASE)(task)()


def _read_redacted(name: str, default: str | None = None) -> str | None:
    """What `oc.env` gives, with asterisks for a secret."""
    value = os.environ.get(name, default)
    return value if value is None or redact(value) == value else MASK


def remove_if_empty(folder: Path) -> None:
    """Remove a folder with nothing in it but what Hydra put there before our part began, and what
    it was made in.
    """
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
