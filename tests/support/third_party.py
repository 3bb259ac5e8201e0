"""Installs a plugin for a test as pip would: its modules and its metadata on the path of a new
process.
"""

import os
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

from commands import run_convrag


def _builds() -> bool:
    """Whether pip can build our distribution here. Looked up: imported, setuptools must come before
    distutils.
    """
    try:
        return (
            bool(find_spec("pip")) and int(metadata.version("setuptools").partition(".")[0]) >= 77
        )
    except metadata.PackageNotFoundError:
        return False


needs_pip = pytest.mark.skipif(not _builds(), reason="needs pip and setuptools>=77")


class Environment:
    """A folder that a new Python process looks into as if it were site-packages."""

    def __init__(self, folder: Path) -> None:
        self.site = folder / "site"
        self.work = folder / "work"
        self.site.mkdir()
        self.work.mkdir()

    def install_project(self, project: Path) -> None:
        """Install a project folder with a pyproject.toml: its packages are linked, its metadata
        written.
        """
        described = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))[
            "project"
        ]
        for package in project.iterdir():
            if (package / "__init__.py").exists():
                (self.site / package.name).symlink_to(package)
        self._metadata(
            described["name"], described["version"], described["entry-points"]["convrag"]
        )

    def install(
        self,
        name: str,
        files: dict[str, str],
        *,
        group: str = "convrag",
        requires: tuple[str, ...] = (),
    ) -> None:
        """Install a distribution made of these files; its entry point in the group is the module
        `name`.

        Without a group it has none. `requires` are its requirements, as pip writes them.
        """
        for path, text in files.items():
            (self.site / path).parent.mkdir(parents=True, exist_ok=True)
            (self.site / path).write_text(text, encoding="utf-8")
        self._metadata(f"{name}-dist", "1.0", {name: name}, group, requires)

    def convrag(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command with what is installed here, without a tracker."""
        return self.run_command(*arguments, "tracker=none")

    def run_command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command with what is installed here."""
        return run_convrag(
            arguments, self.work, environment={**os.environ, "PYTHONPATH": str(self.site)}
        )

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python with what is installed here."""
        environment = {**os.environ, "PYTHONPATH": str(self.site)}
        command = [sys.executable, *arguments]
        return subprocess.run(
            command,
            cwd=self.work,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def _metadata(
        self,
        name: str,
        version: str,
        entry_points: dict[str, str],
        group: str = "convrag",
        requires: tuple[str, ...] = (),
    ) -> None:
        folder = self.site / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        required = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}"
        )
        lines = [f"{key} = {value}" for key, value in entry_points.items()]
        if group:
            (folder / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]))
