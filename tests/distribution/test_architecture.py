"""The rooms of the package: the docstring of each `__init__` says what the room is, with a line for
each file.
"""

import ast
import re
from pathlib import Path

import pytest

from places import ROOT

PACKAGE = ROOT / "convrag"
ROOMS = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))


def read_map(room: Path) -> tuple[str, dict[str, str]]:
    """The first line of the room's docstring, and file -> what the map says of it."""
    docstring = (
        ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))) or ""
    )
    return docstring.partition("\n")[0], dict(
        re.findall(r"^\* `(\w+)`: (.+)$", docstring, re.MULTILINE)
    )


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_the_map_of_a_room_has_a_line_for_each_file(room: Path) -> None:
    subject, entries = read_map(room)
    assert subject
    files = [path.stem for path in room.glob("*.py") if path.stem != "__init__"]
    assert sorted(entries) == sorted(
        [*files, *(path.parent.name for path in room.glob("*/__init__.py"))]
    )


def test_the_page_of_the_architecture_has_a_line_for_each_room() -> None:
    page = (PACKAGE.parent / "docs/architecture.md").read_text(encoding="utf-8")
    drawn = re.findall(r"^ {6}(\w+)/ +\S", page, re.MULTILINE)
    assert sorted(drawn) == [room.name for room in ROOMS]


def test_each_file_that_the_page_names_is_there() -> None:
    """A row names a folder once: `plugins/convrag_mmr/rewriter.py`, its candidates `selection.py`."""
    root = PACKAGE.parent
    rows = (
        (root / "docs/architecture.md")
        .read_text(encoding="utf-8")
        .split("## Where is what?")[1]
        .split("\n## ")[0]
    )
    for row in re.findall(r"^\| .+ \| (.+) \|$", rows, re.MULTILINE):
        folder = root
        for name in re.findall(r"`([\w./]+\.py|(?:convrag|plugins)/[\w/]+)`", row):
            path = root / name if name.startswith(("convrag/", "plugins/")) else folder / name
            assert path.exists(), f"{row}: {name}"
            folder = path.parent


def test_the_page_names_each_package_of_plugins() -> None:
    root = PACKAGE.parent
    page = (root / "docs/architecture.md").read_text(encoding="utf-8")
    packages = [path.parent.name for path in root.glob("plugins/convrag_*/__init__.py")]
    assert [name for name in packages if f"`{name}`" not in page] == []
