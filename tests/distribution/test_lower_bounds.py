"""The lower bounds of pyproject.toml leave out versions with known holes; constraints.txt satisfies them.

The list is kept by hand, for what convrag names itself. The weekly job asks a registry of advisories
about every pinned version (.github/workflows/weekly.yml).
"""

import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from places import ROOT

SOUND = {
    "certifi": ("2024.7.4", "CVE-2024-39689: roots that are no longer trusted"),
    "filelock": ("3.20.3", "CVE-2025-68146, CVE-2026-22701: symbolic links"),
    "h11": ("0.16", "CVE-2025-43859: chunked bodies that are read as another request"),
    "jinja2": ("3.1.6", "CVE-2025-27516: a way out of the sandbox, through |attr"),
    "litellm": ("1.90", "1.82.7 and 1.82.8 carried a credential stealer"),
    "mlflow": ("3.16", "CVE-2026-2614, CVE-2026-2652, CVE-2026-0545, CVE-2026-71211"),
    "mlflow-skinny": ("3.16", "as mlflow"),
    "orjson": ("3.11.6", "CVE-2025-67221: recursion without a limit"),
    "protobuf": ("6.33.5", "CVE-2025-4565, CVE-2026-0994: recursion without a limit"),
    "pymdown-extensions": ("11.0.1", "CVE-2025-68142, CVE-2026-67422: regular expressions"),
    "pypdf": ("6.14.2", "CVE-2026-59935 and others: files that take endless time or memory"),
    "pytest": ("9.0.3", "CVE-2025-71176: a temporary folder that others can foresee"),
    "ray": ("2.55", "CVE-2025-62593, CVE-2026-27482, CVE-2026-32981: its dashboard"),
    "scikit-learn": ("1.5", "CVE-2024-5206: texts that a vectorizer keeps"),
    "sentencepiece": ("0.2.1", "CVE-2026-1260: memory that a model file corrupts"),
    "setuptools": ("78.1.1", "CVE-2025-47273: paths of downloads"),
    "starlette": (
        "1.3.1",
        "CVE-2025-62727: ranges; CVE-2026-48710: hosts; GHSA-82w8-qh3p-5jfq: forms",
    ),
    "torch": ("2.10", "CVE-2025-32434, CVE-2026-24747: code in files of weights"),
    "transformers": ("5.5", "CVE-2026-4372, CVE-2026-5241: code of a model that nobody trusted"),
    "urllib3": ("2.7", "CVE-2026-21441: redirects that decompress; CVE-2026-44431, CVE-2026-44432"),
}
"""Distribution -> the first version without the holes, and these."""

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PINS = {
    canonicalize_name(name): Version(version)
    for name, _, version in (
        line.partition("==")
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line and not line.startswith("#")
    )
}


def list_requirements() -> list[Requirement]:
    """All that pyproject.toml names: the dependencies, those of extras, and those of the build."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    texts = [
        *PROJECT["build-system"]["requires"],
        *PROJECT["project"]["dependencies"],
        *(text for extra in extras for text in extra),
    ]
    return [Requirement(text) for text in texts]


def test_each_listed_distribution_is_named() -> None:
    """One that is not named any more leaves the list."""
    assert SOUND.keys() <= {canonicalize_name(each.name) for each in list_requirements()}


@pytest.mark.parametrize("name", SOUND)
def test_versions_with_known_holes_are_left_out(name: str) -> None:
    version, why = SOUND[name]
    for requirement in list_requirements():
        if canonicalize_name(requirement.name) != name:
            continue
        bounds = [Version(each.version) for each in requirement.specifier if each.operator == ">="]
        assert bounds, f"{requirement} has no lower bound"
        assert max(bounds) >= Version(version), f"{requirement}: {why}"


def test_the_pinned_versions_satisfy_the_bounds() -> None:
    wrong = [
        f"{requirement}: {pinned} is pinned"
        for requirement in list_requirements()
        if (pinned := PINS.get(canonicalize_name(requirement.name)))
        and not requirement.specifier.contains(pinned, prereleases=True)
    ]
    assert wrong == []


def test_names_of_extras_have_no_underscore() -> None:
    """pip before 23.3 finds no extra whose name has one, and installs nothing but a warning."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    requested = [
        extra for lines in extras.values() for line in lines for extra in Requirement(line).extras
    ]
    assert [name for name in (*extras, *requested) if "_" in name] == []
