"""Checks of a configuration's needs: its stages, libraries, keys and store; all read only."""

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


_FOR_TESTS = frozenset({"test", "small-model"})
"""Extras of those who work on convrag itself."""

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
            get = wiring.get_all if group in SEVERAL else wiring.get
            try:
                get(group)
            except ConvragError as error:
                # Stages that need a broken one raise its error again.
                group_of.setdefault(str(error), group)
        self.build_errors = {group: message for message, group in group_of.items()}
        self.problems = {place: self._find_problems(place) for place in wiring.stages}

    def findings(self) -> Iterator[Finding]:
        """Yield a line for each stage, also for one that only another stage needs."""
        for group, message in self.build_errors.items():
            yield Finding("fail", group, message)
        for place, problems in self.problems.items():
            choice = self.wiring.describe_choice(place)
            for problem in problems:
                yield Finding("fail", choice, problem)
            if not problems:
                yield Finding("ok", choice)

    def list_variables(self) -> Iterator[tuple[str, str]]:
        """Yield (place, variable) for each environment variable that a parameter names."""
        for place in self.wiring.stages:
            node: Any = self.wiring.config
            for step in place.split("."):
                node = node.get(step) if isinstance(node, Mapping) else None
            if not isinstance(node, Mapping):
                continue
            for name, value in node.items():
                if str(name).endswith("_env") and isinstance(value, str):
                    yield place, value

    def _find_problems(self, place: str) -> list[str]:
        try:
            return self.wiring.find_problems(place)
        except ConvragError as error:
            return [str(error)]


def check_versions() -> Iterator[Finding]:
    """Check Python, convrag, its libraries, and the extras that are not installed."""
    from packaging.requirements import Requirement

    installed = [f"python {platform.python_version()}", f"convrag {__version__}"]
    absent: dict[str, list[str]] = defaultdict(list)
    for requirement in map(Requirement, metadata.requires(plugins.FIRST_PARTY) or ()):
        extra = _get_extra(requirement)
        if requirement.name == plugins.FIRST_PARTY or extra in _FOR_TESTS:
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
                f"is not a version that convrag works with: pip install '{wanted}'",
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
    """Check the environment variables that options and variants read; no value is shown."""
    readers: dict[str, list[str]] = defaultdict(list)
    for variable, reader in _list_readers(stages):
        readers[variable].append(reader)
    unset = []
    for variable in sorted(readers):
        if os.environ.get(variable):
            yield Finding("ok", f"set: {variable} ({', '.join(dict.fromkeys(readers[variable]))})")
        else:
            unset.append(variable)
    if unset:
        yield Finding("-", f"not set: {', '.join(unset)}")


def _list_readers(stages: ConfiguredStages) -> Iterator[tuple[str, str]]:
    """Yield (variable, reader) for the configured stages, all variants and all options."""
    for place, variable in stages.list_variables():
        yield variable, stages.wiring.describe_choice(place)
    for group in GROUPS:
        for variant in variants_of(group):
            for name, value in variant.values.items():
                if name.endswith("_env") and isinstance(value, str):
                    yield value, f"{variant.group}={variant.name}"
    for group in GROUPS:
        for option in plugins.load().registry.options(group).values():
            with suppress(ConvragError):  # check_versions reports a class that cannot be imported
                for variable in option.cls.env_vars:
                    yield variable, f"{option.group}={option.name}"


def _get_extra(requirement: object) -> str:
    """Return the extra that a requirement belongs to; empty for a core dependency."""
    found = re.search(r'extra == "([^"]+)"', str(getattr(requirement, "marker", None)))
    return found[1] if found else ""


def check_store(path: Path, url: str = "") -> Iterator[Finding]:
    """Check that the store can be written to, and that its server answers."""
    if url:  # nothing is created on its server
        try:
            found = plugins.open_database(url, "store.url").check()
            yield Finding("ok", f"store.url={redact_address(url)}", f"answers: {found}")
        except ConvragError as error:
            yield Finding("fail", "store.url", str(error))
    subject = f"store.path={path}"
    place = path.absolute()
    while not place.exists():
        place = place.parent
    try:
        tempfile.TemporaryFile(dir=place).close()  # permissions alone do not prove it
    except OSError:
        yield Finding(
            "fail", subject, f"{place} cannot be written to: choose another folder, store.path=..."
        )
    else:
        yield Finding("ok", subject, "can be written to")
