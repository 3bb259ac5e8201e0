"""convrag with the libraries of its core alone: the command, or without arguments, what each option
says.

Of an option the line is "group=name built", or "group=name MissingExtra ...", with any error in its
place.
"""

import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

from omegaconf import OmegaConf
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def find_core() -> set[str]:
    """The distributions that come with convrag without extras, itself included."""
    found: set[tuple[str, str]] = set()
    waiting = [("convrag", "")]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        try:
            lines = requires(name) or []
        except PackageNotFoundError:
            continue
        for needed in map(Requirement, lines):
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(needed.name), each) for each in ("", *needed.extras)]
    return {name for name, _ in found}


class CoreAlone:
    """Finds no module of any other distribution than the core's."""

    def __init__(self) -> None:
        core = find_core()
        modules = packages_distributions().items()
        self.absent = {
            each for each, owners in modules if not core & set(map(canonicalize_name, owners))
        }

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Refuse an absent module."""
        if name.partition(".")[0] in self.absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def build_all() -> None:
    """Build all options, with a text for each value that they need."""
    from convrag.api.groups import GROUPS
    from convrag.config.compose import compose
    from convrag.registry import plugins
    from convrag.sdk.groups import SEVERAL
    from convrag.turn.wiring import Wiring

    config = compose()
    OmegaConf.set_struct(config, False)
    for group in GROUPS:
        for option in plugins.load().registry.options(group).values():
            chosen = config.copy()
            try:
                needed = [
                    name
                    for name, each in option.parameters.items()
                    if each.required and not each.group
                ]
                node = {"_option_": option.name, **dict.fromkeys(needed, "x")}
                chosen[group] = {option.name: node} if group in SEVERAL else node
                wiring = Wiring(chosen)
                (wiring.get_all if group in SEVERAL else wiring.get)(group)
                said = "built"
            except Exception as error:
                said = f"{type(error).__name__} {error}".replace("\n", " ")
            sys.stdout.write(f"{group}={option.name} {said}\n")


if __name__ == "__main__":
    sys.meta_path.insert(0, CoreAlone())
    if len(sys.argv) > 1:
        from convrag.__main__ import main

        sys.exit(main())
    build_all()
