"""Is what is installed what convrag was written for? Its own metadata says which versions will do, and which never."""

from __future__ import annotations

import platform
from collections import defaultdict
from collections.abc import Iterator
from importlib import metadata

from convrag import __version__
from convrag.registry import plugins
from convrag_doctor.finding import Finding


def versions() -> Iterator[Finding]:
    """Python and convrag, what it depends on, and the extras."""
    from packaging.requirements import Requirement

    described = metadata.metadata(plugins.FIRST_PARTY)
    yield from _python(described["Requires-Python"])
    good, absent = [f"convrag {__version__}"], defaultdict[str, list[str]](list)
    for requirement in map(Requirement, metadata.requires(plugins.FIRST_PARTY) or ()):
        extra = _extra(requirement)
        if requirement.name == plugins.FIRST_PARTY or extra == "test":
            continue
        found = _version(requirement.name)
        if not found and extra:
            absent[extra].append(requirement.name)
        elif not found:
            yield Finding("fail", requirement.name, f"is not installed: pip install '{requirement.name}'")
        elif not requirement.specifier.contains(found, prereleases=True):
            wanted = f"{requirement.name}{requirement.specifier}"
            yield Finding(
                "warn" if extra else "fail",
                f"{requirement.name} {found}",
                f"is none of the versions that convrag works with: pip install '{wanted}'",
            )
        else:
            good.append(f"{requirement.name} {found}")
    yield Finding("ok", ", ".join(dict.fromkeys(good)))
    for extra, names in absent.items():
        yield Finding("-", f"extra {extra}", f"without {', '.join(names)}: pip install 'convrag[{extra}]' brings it")


def _python(wanted: str) -> Iterator[Finding]:
    from packaging.specifiers import SpecifierSet

    version = platform.python_version()
    if SpecifierSet(wanted).contains(version, prereleases=True):
        yield Finding("ok", f"python {version}")
    else:
        yield Finding("fail", f"python {version}", f"convrag is made for {wanted}")


def _extra(requirement: object) -> str:
    """The extra that a requirement belongs to; empty for what is always needed."""
    marker = str(getattr(requirement, "marker", None) or "")
    return marker.partition("extra ==")[2].strip().strip("\"'").partition('"')[0] if "extra ==" in marker else ""


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
