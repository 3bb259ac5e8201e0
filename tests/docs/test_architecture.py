"""docs/architecture.md and the docstrings of folders name every file: each `__init__` of a folder
of convrag, and of a larger one of plugins/, has a line for each file.
"""

import ast
import re
from pathlib import Path

import pytest

from places import ROOT

PACKAGE = ROOT / "convrag"
PAGE = ROOT / "docs/architecture.md"
TOP = "(?:convrag|plugins|tests|benchmarks|docs)/"
ROOMS = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))
SUBJECTS = sorted(path.parent for path in PACKAGE.glob("sdk/*/__init__.py"))


def list_files(folder: Path, suffix: str = ".py") -> list[str]:
    """List the names of a folder's modules, without `__init__`."""
    return sorted(path.stem for path in folder.glob(f"*{suffix}") if path.stem != "__init__")


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


def list_folders() -> list[Path]:
    """List the folders that have a row on the page: those with Python files, and the chat page's.

    Each package has a folder of tests by the same name, and so has each subject of the sdk; these
    have no row.
    """
    inner = [ROOT / "tests/plugins", ROOT / "tests/sdk"]
    folders = {ROOT / "docs", ROOT / "plugins/convrag_web/page", ROOT / "plugins/convrag_web/view"}
    for top in ("convrag/*", "plugins", "tests", "benchmarks"):
        folders.update(path.parent for path in ROOT.glob(f"{top}/**/*.py"))
    return sorted(path for path in folders if path.parent not in inner)


def list_row_files(folder: Path) -> list[str]:
    """List the files that a folder's row names: in tests/, the helpers alone."""
    if folder.name in ("page", "view"):
        return list_files(folder, ".js")
    files = list_files(folder)
    if folder.is_relative_to(ROOT / "tests"):
        files = [name for name in files if not name.startswith("test_")]
    return files


def test_the_page_names_each_module_of_each_folder() -> None:
    page = PAGE.read_text(encoding="utf-8")
    section = page.split("## Modules, folder by folder")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([\w/]+/)` \| .+ \| (.+) \|$", section, re.MULTILINE)
    named = {folder: sorted(re.findall(r"`(\w+)`", files)) for folder, files in rows}
    assert len(named) == len(rows), "a folder has two rows"
    assert named == {name_folder(folder): list_row_files(folder) for folder in list_folders()}
