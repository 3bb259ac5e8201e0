"""The arguments of the command: flags, and overrides."""

from argparse import ArgumentError, ArgumentParser, Namespace
from collections.abc import Sequence

from convrag.api.errors import ConfigError, UnknownName

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
    """Return the flags of a command, each as an attribute, and its `overrides`.

    Raises:
        ConfigError: a flag is unknown or lacks its value.
    """
    parser = _make_parser()
    try:
        known, rest = parser.parse_known_args(arguments)
    except ArgumentError as error:
        raise ConfigError(str(error).removeprefix("argument ")) from error
    unknown = [argument for argument in rest if argument.startswith("-")]
    if unknown:
        names = [name for name in vars(parser.parse_args([])) if name != "overrides"]
        flags = [f"--{name.replace('_', '-')}" for name in names]
        raise UnknownName("flag", unknown[0], flags, ["An override has no dashes: rewriter=mmr."])
    given = {*known.overrides, *rest}
    known.overrides = [argument for argument in arguments if argument in given]
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
