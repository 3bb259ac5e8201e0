"""docs/architecture.md and the docstrings of folders name every file: each `__init__` of a folder
of convrag, and of a larger one of plugins/, has a line for each file.
"""

import ast
import re
import sys
from pathlib import Path
from unittest import mock

import pytest

from places import ROOT

with mock.patch.object(sys, "path", [str(ROOT / "docs"), *sys.path]):
    from build_module_map import build_section, replace_section

PACKAGE = ROOT / "convrag"
PAGE = ROOT / "docs/architecture.md"
TOP = "(?:convrag|plugins|tests|benchmarks|docs)/"
ROOMS = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))
SUBJECTS = sorted(path.parent for path in PACKAGE.glob("sdk/*/__init__.py"))


def list_files(folder: Path) -> list[str]:
    """List the names of a folder's modules, without `__init__`."""
    return sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")


PLUGINS = sorted(
    path.parent
    for path in ROOT.glob("plugins/convrag_*/**/__init__.py")
    if len(list_files(path.parent)) > 3
)


def read_map(room: Path) -> tuple[str, list[str]]:
    """Return the first line of the room's docstring, and the files that its map names.

    A line may be about several files: "* `vectors`, `vector_builder`: ...".
    """
    source = (room / "__init__.py").read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(source)) or ""
    subject = docstring.partition("\n")[0]
    files = []
    for names in re.findall(r"^\* ((?:`\w+`(?:, )?)+): \S", docstring, re.MULTILINE):
        files += re.findall(r"\w+", names)
    return subject, files


def name_folder(folder: Path) -> str:
    """Name a folder as the page does: `convrag/turn/`."""
    return f"{folder.relative_to(ROOT).as_posix()}/"


@pytest.mark.parametrize("room", [*ROOMS, *SUBJECTS, *PLUGINS], ids=name_folder)
def test_the_map_of_a_room_has_a_line_for_each_file(room: Path) -> None:
    subject, files = read_map(room)
    assert subject
    folders = [path.parent.name for path in room.glob("*/__init__.py")]
    assert sorted(files) == sorted([*list_files(room), *folders])


def test_the_page_of_the_architecture_has_a_line_for_each_room() -> None:
    page = PAGE.read_text(encoding="utf-8")
    drawn = re.findall(r"^ {6}(\w+)/ +\S", page, re.MULTILINE)
    assert sorted(drawn) == [room.name for room in ROOMS]


def test_each_file_that_the_page_names_is_there() -> None:
    """A row names a folder once: `plugins/convrag_mmr/rewriter.py`, its candidates `selection.py`."""
    page = PAGE.read_text(encoding="utf-8")
    rows = page.split("## Where is what?")[1].split("\n## ")[0]
    for row in re.findall(r"^\| .+ \| (.+) \|$", rows, re.MULTILINE):
        folder = ROOT
        for name in re.findall(rf"`([\w./]+\.(?:py|js|jinja|yaml)|{TOP}[\w/]+)`", row):
            path = ROOT / name if re.match(TOP, name) else folder / name
            assert path.exists(), f"{row}: {name}"
            folder = path.parent


def test_the_page_names_each_package_of_plugins() -> None:
    page = PAGE.read_text(encoding="utf-8")
    packages = [path.parent.name for path in ROOT.glob("plugins/convrag_*/__init__.py")]
    assert [name for name in packages if f"`{name}`" not in page] == []


def test_the_section_of_modules_is_that_of_the_docstrings() -> None:
    """A line for each module of each folder; `python docs/build_module_map.py` writes them."""
    page = PAGE.read_text(encoding="utf-8")
    assert replace_section(page) == page, "run python docs/build_module_map.py"


def test_each_module_says_what_it_is() -> None:
    untold = re.findall(r"^\* `[\w.]+`:$", build_section(), re.MULTILINE)
    assert untold == []
