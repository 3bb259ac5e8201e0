"""Import every library that an extra of convrag names, in an environment that has the extra.

    pip install ".[serve]" && python .ci/import_extra.py serve

It fails, and names the library, where one is missing or cannot be imported on this Python.
"""

import importlib
import sys
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROGRAMS = {"ruff"}
"""Distributions that have a program and no module that anyone imports."""


def list_distributions(extra: str) -> list[str]:
    """List the distributions that an extra names on this Python, other extras included."""
    names = []
    for line in metadata.requires("convrag") or []:
        requirement = Requirement(line)
        belongs = requirement.marker and "extra" in str(requirement.marker)
        if not belongs or not requirement.marker.evaluate({"extra": extra}):
            continue
        if requirement.name == "convrag":
            for other in sorted(requirement.extras):
                names += list_distributions(other)
        else:
            names.append(canonicalize_name(requirement.name))
    return sorted({*names} - PROGRAMS)


def find_modules(distribution: str) -> list[str]:
    """Find the top-level modules that a distribution brings, without private ones."""
    brought = []
    for module, owners in metadata.packages_distributions().items():
        if distribution in map(canonicalize_name, owners) and module.isidentifier():
            brought.append(module)
    return [name for name in sorted(brought) if not name.startswith("_")]


def main(extra: str) -> int:
    """Import the modules; return 1 where one fails."""
    failed = 0
    distributions = list_distributions(extra)
    if not distributions:
        sys.stderr.write(f"convrag has no extra {extra}\n")
        return 1
    for distribution in distributions:
        for module in find_modules(distribution) or [distribution.replace("-", "_")]:
            try:
                importlib.import_module(module)
            except Exception as error:
                sys.stderr.write(f"[{extra}] {module} of {distribution}: {error!r}\n")
                failed = 1
    sys.stdout.write(f"[{extra}] {len(distributions)} libraries looked at\n")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
