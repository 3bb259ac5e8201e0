"""The arguments of a command before Hydra reads them: flags stand first, and unknown ones are told what to type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from hydra._internal.utils import get_args_parser

from convrag.api.errors import ConfigError
from convrag.config.quoting import quote_value

EMPTY_FOLDERS = ("hydra.run.dir=", "hydra.sweep.dir=", "hydra.sweep.subdir=")


def prepare_arguments(arguments: Sequence[str]) -> list[str]:
    """The arguments as Hydra reads them.

    Flags come first: argparse takes no overrides on both sides of one (`rewriter=mmr -m top_k=1,2`). Values that
    Hydra's grammar cannot read are put in quotation marks, of which a user need not know (`quote_value`).

    Raises:
        ConfigError: a flag is unknown, or the run's folder has no name.
    """
    known, rest = get_args_parser().parse_known_args(list(arguments))
    if unknown := [argument for argument in rest if argument.startswith("-")]:
        raise ConfigError(_explain_flag(unknown[0]))
    if empty := [argument for argument in arguments if argument in EMPTY_FOLDERS]:
        raise ConfigError(f"{empty[0]}: name a folder. The one that you are in would be filled with the run's files.")
    overrides = {*known.overrides, *rest}
    flags = [argument for argument in arguments if argument not in overrides]
    return [*flags, *(quote_value(argument) for argument in arguments if argument in overrides)]


def is_multirun(arguments: Sequence[str]) -> bool:
    """Whether they ask for a grid."""
    return any(argument in ("-m", "--multirun") for argument in arguments)


def _explain_flag(flag: str) -> str:
    name = flag.lstrip("-")
    if "=" in name:
        return f"{flag}: an override has no dashes: {name}"
    flags = sorted(_list_flags())
    if similar := get_close_matches(flag, flags, n=1):
        return f"{flag}: there is no such flag. Did you mean {similar[0]}?"
    return f"{flag}: there is no such flag; overrides have no dashes ({name}=...), flags are {', '.join(flags)}"


def _list_flags() -> Iterator[str]:
    for action in get_args_parser()._actions:
        yield from [name for name in action.option_strings if name.startswith("--")][:1]
