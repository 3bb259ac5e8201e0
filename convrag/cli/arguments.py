"""The arguments of a command: Hydra's flags, told from overrides."""

from __future__ import annotations

from argparse import ArgumentError, ArgumentParser, Namespace
from collections.abc import Sequence
from difflib import get_close_matches

from convrag.api.errors import ConfigError
from convrag.config.choices import quote_value

_FLAGS = [
    "-h --help",
    "-r --run",
    "-m --multirun",
    "-sc --shell-completion",
    "--hydra-help",
    "--resolve",
    "--version",
]
_WITH_VALUE = ["-cd --config-dir", "-cn --config-name", "-cp --config-path", "-p --package"]
_INFOS = ["all", "config", "defaults", "defaults-tree", "plugins", "searchpath"]


def read_arguments(arguments: Sequence[str]) -> Namespace:
    """The flags of a command, each as an attribute, and its `overrides`, of which values are quoted where need be.

    Raises:
        ConfigError: a flag is unknown or lacks its value.
    """
    parser = _make_parser()
    try:
        known, rest = parser.parse_known_args(arguments)
    except ArgumentError as error:
        raise ConfigError(str(error).removeprefix("argument ")) from error
    if unknown := [argument for argument in rest if argument.startswith("-")]:
        raise ConfigError(_explain_flag(unknown[0], parser))
    given = {*known.overrides, *rest}
    known.overrides = [quote_value(argument) for argument in arguments if argument in given]
    known.flags = [argument for argument in arguments if argument not in given]
    return known


def _make_parser() -> ArgumentParser:
    parser = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for names in _FLAGS:
        parser.add_argument(*names.split(), action="store_true")
    for names in _WITH_VALUE:
        parser.add_argument(*names.split())
    parser.add_argument("-c", "--cfg", choices=["job", "hydra", "all"])
    parser.add_argument("-i", "--info", nargs="?", const="all", choices=_INFOS)
    parser.add_argument("overrides", nargs="*")
    return parser


def _explain_flag(flag: str, parser: ArgumentParser) -> str:
    name = flag.lstrip("-")
    if "=" in name:
        return f"{flag}: an override has no dashes: {name}"
    flags = sorted(f"--{each.replace('_', '-')}" for each in vars(parser.parse_args([])) if each != "overrides")
    if similar := get_close_matches(flag, flags, n=1):
        return f"{flag}: there is no such flag. Did you mean {similar[0]}?"
    return f"{flag}: there is no such flag; overrides have no dashes ({name}=...), flags are {', '.join(flags)}"
