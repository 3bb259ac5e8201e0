"""Check that every file that says convrag's version says the same one, before a release.

python .ci/check_release.py v0.2.0      # the tag; without one, the files alone
"""

import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def read_versions(root: Path = ROOT) -> dict[str, str]:
    """Read the version that each file says."""
    server = json.loads((root / "server.json").read_text(encoding="utf-8"))
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        "pyproject.toml": project["version"],
        "server.json": server["version"],
        "server.json, its package": server["packages"][0]["version"],
        "CITATION.cff": _find(r"^version: (.+)$", citation),
        "CHANGELOG.md": _find(r"^## \[(\d[^]]*)\]", changes),
    }


def find_problems(tag: str, root: Path = ROOT) -> list[str]:
    """List what does not agree with the version of pyproject.toml.

    Args:
        tag: the tag of the release, "v0.2.0"; empty for none.
        root: the folder of the source.
    """
    versions = read_versions(root)
    version = versions["pyproject.toml"]
    problems = [
        f"{file} says {found or 'no version'}, and pyproject.toml {version}"
        for file, found in versions.items()
        if found != version
    ]
    if tag and tag != f"v{version}":
        problems.append(f"the tag is {tag}, and pyproject.toml says {version}")
    return problems


def _find(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else ""


if __name__ == "__main__":
    problems = find_problems(sys.argv[1] if len(sys.argv) > 1 else "")
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    sys.exit(bool(problems))
