"""What a configuration needs: its stages, libraries, keys and the store; all read only."""

import os
import platform
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, NamedTuple

from convrag import ConvragError, __version__
from convrag.sdk.groups import GROUPS, SEVERAL
from convrag.sdk.secrets import redact_address
from convrag.sdk.tasks.options import plugins, variants_of
from convrag.sdk.tasks.turns import Stages, Wiring
from convrag_kit.inventory import find_version

_GROUPS = ("dataset", *Stages._fields, "tracker")


Level = Literal["ok", "-", "warn", "fail"]


class Finding(NamedTuple):
    """One line of the report.

    Args:
        level: "ok", "-" (not installed or not set, and not needed), "warn" (unusual, but a run may
            work), or "fail" (a run would fail).
        subject: what was examined.
        message: what was found, and what to do about it.
    """

    level: Level
    subject: str
    message: str = ""


class ConfiguredStages:
    """The stages of a configuration, as far as they can be built.

    Args:
        wiring: of the configuration; its store is for these checks alone.
    """

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        group_of: dict[str, str] = {}
        for group in (*_GROUPS, *SEVERAL):
            try:
                (wiring.get_all if group in SEVERAL else wiring.get)(group)
            except ConvragError as error:
                group_of.setdefault(
                    str(error), group
                )  # stages that need a broken one raise its error again
        self.build_errors = {group: message for message, group in group_of.items()}
        self.problems = {place: self._find_problems(place) for place in wiring.stages}

    def findings(self) -> Iterator[Finding]:
        """A line for each stage, also for one that only another stage needs."""
        yield from (Finding("fail", group, message) for group, message in self.build_errors.items())
        for place, problems in self.problems.items():
            yield from (
                Finding("fail", self.wiring.describe_choice(place), problem) for problem in problems
            )
            if not problems:
                yield Finding("ok", self.wiring.describe_choice(place))

    def list_variables(self) -> Iterator[tuple[str, str]]:
        """Yield (place, variable) for each environment variable that a parameter of these stages
        names.
        """
        for place in self.wiring.stages:
            node: Any = self.wiring.config
            for step in place.split("."):
                node = node.get(step) if isinstance(node, Mapping) else None
            for name, value in node.items() if isinstance(node, Mapping) else ():
                if str(name).endswith("_env") and isinstance(value, str):
                    yield place, value

    def _find_problems(self, place: str) -> list[str]:
        try:
            return self.wiring.find_problems(place)
        except ConvragError as error:
            return [str(error)]


def check_versions() -> Iterator[Finding]:
    """Python, convrag, the libraries that it depends on, and the extras that are not installed."""
    from packaging.requirements import Requirement

    installed = [f"python {platform.python_version()}", f"convrag {__version__}"]
    absent: dict[str, list[str]] = defaultdict(list)
    for requirement in map(Requirement, metadata.requires(plugins.FIRST_PARTY) or ()):
        extra = _get_extra(requirement)
        if requirement.name == plugins.FIRST_PARTY or extra == "test":
            continue
        found = find_version(requirement.name)
        if not found and extra:
            absent[extra].append(requirement.name)
        elif not found:
            yield Finding(
                "fail", requirement.name, f"is not installed: pip install '{requirement.name}'"
            )
        elif not requirement.specifier.contains(found, prereleases=True):
            wanted = f"{requirement.name}{requirement.specifier}"
            yield Finding(
                "warn" if extra else "fail",
                f"{requirement.name} {found}",
                f"is none of the versions that convrag works with: pip install '{wanted}'",
            )
        else:
            installed.append(f"{requirement.name} {found}")
    yield Finding("ok", ", ".join(dict.fromkeys(installed)))
    for extra, names in absent.items():
        yield Finding(
            "-",
            f"extra {extra}",
            f"without {', '.join(names)}: pip install 'convrag[{extra}]' brings it",
        )


def check_keys(stages: ConfiguredStages) -> Iterator[Finding]:
    """The environment variables that options and variants read, by name; no value is shown."""
    readers: dict[str, list[str]] = defaultdict(list)
    for place, variable in stages.list_variables():
        readers[variable].append(stages.wiring.describe_choice(place))
    for variant in (variant for group in GROUPS for variant in variants_of(group)):
        for name, value in variant.values.items():
            if name.endswith("_env") and isinstance(value, str):
                readers[value].append(f"{variant.group}={variant.name}")
    for option in (
        option for group in GROUPS for option in plugins.load().registry.options(group).values()
    ):
        with suppress(
            ConvragError
        ):  # of a class that cannot be imported: versions and plugins say so
            for variable in option.cls.env_vars:
                readers[variable].append(f"{option.group}={option.name}")
    for variable in sorted(name for name in readers if os.environ.get(name)):
        yield Finding("ok", f"set: {variable} ({', '.join(dict.fromkeys(readers[variable]))})")
    if unset := sorted(name for name in readers if not os.environ.get(name)):
        yield Finding("-", f"not set: {', '.join(unset)}")


def _get_extra(requirement: object) -> str:
    """The extra that a requirement belongs to; empty for what is always needed."""
    found = re.search(r'extra == "([^"]+)"', str(getattr(requirement, "marker", None)))
    return found[1] if found else ""


def check_store(path: Path, url: str = "") -> Iterator[Finding]:
    """Whether the store can be written to, and whether its server answers."""
    if url:  # nothing is made on its server
        try:
            found = plugins.open_database(url, "store.url").check()
            yield Finding("ok", f"store.url={redact_address(url)}", f"answers: {found}")
        except ConvragError as error:
            yield Finding("fail", "store.url", str(error))
    subject, place = f"store.path={path}", path.absolute()
    while not place.exists():
        place = place.parent
    try:
        tempfile.TemporaryFile(dir=place).close()  # permissions do not tell all
    except OSError:
        yield Finding(
            "fail", subject, f"{place} cannot be written to: choose another folder, store.path=..."
        )
    else:
        yield Finding("ok", subject, "can be written to")
