"""Installed versions, checked against the requirements in convrag's own metadata."""

from __future__ import annotations

import platform
from collections import defaultdict
from collections.abc import Iterator
from importlib import metadata

from convrag import __version__
from convrag.sdk.tasks.options import plugins
from convrag_kit.doctor_findings import Finding


def check_versions() -> Iterator[Finding]:
    """Python, convrag, the libraries that it depends on, and the extras that are not installed."""
    from packaging.requirements import Requirement

    convrag_metadata = metadata.metadata(plugins.FIRST_PARTY)
    yield _check_python(convrag_metadata["Requires-Python"])
    installed, absent = [f"convrag {__version__}"], defaultdict[str, list[str]](list)
    for requirement in map(Requirement, metadata.requires(plugins.FIRST_PARTY) or ()):
        extra = _get_extra(requirement)
        if requirement.name == plugins.FIRST_PARTY or extra == "test":
            continue
        found = _find_version(requirement.name)
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
            installed.append(f"{requirement.name} {found}")
    yield Finding("ok", ", ".join(dict.fromkeys(installed)))
    for extra, names in absent.items():
        yield Finding("-", f"extra {extra}", f"without {', '.join(names)}: pip install 'convrag[{extra}]' brings it")


def _check_python(wanted: str) -> Finding:
    from packaging.specifiers import SpecifierSet

    version = platform.python_version()
    if SpecifierSet(wanted).contains(version, prereleases=True):
        return Finding("ok", f"python {version}")
    return Finding("fail", f"python {version}", f"convrag is made for {wanted}")


def _get_extra(requirement: object) -> str:
    """The extra that a requirement belongs to; empty for what is always needed."""
    marker = str(getattr(requirement, "marker", None) or "")
    return marker.partition("extra ==")[2].strip().strip("\"'").partition('"')[0] if "extra ==" in marker else ""


def _find_version(name: str) -> str:
    """The version of a distribution; empty where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
