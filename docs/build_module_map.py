"""Writes the section "Modules, folder by folder" of architecture.md: a line for each module.

`python docs/build_module_map.py` puts it into the page. The line of a module is the first sentence
of its docstring, or of the comment at the top of a script or a style sheet.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from page_parts import flatten

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/architecture.md"
HEADING = "## Modules, folder by folder\n"

INTRODUCTION = """
Each folder with its modules: Python files, and the scripts and style sheets of the chat page and of reports. This section is written by
`python docs/build_module_map.py` from the docstrings. The tests of `convrag/turn/` are in `tests/turn/`, and those of a package
in `tests/plugins/<package>/`.
"""

PARTS = {
    "The kernel and the layers above it": ("convrag",),
    "The plugins": ("plugins",),
    "The tests": ("tests",),
    "The benchmarks and the docs": ("benchmarks", "docs"),
}
"""Heading -> the folders at the top that it is about."""

SUBJECTS = {
    "benchmarks/": "Measurements beside other libraries, and their page; `run` starts them.",
    "benchmarks/peers/": "The programs of other libraries, one for each.",
    "benchmarks/quality/": "The quality of answers, rewrites and rankings.",
    "benchmarks/robustness/": "Mutated documents, a proxy, and clients for an hour.",
    "benchmarks/speed/": "Speed, memory and kills.",
    "docs/": "What writes the generated pages, llms.txt and this section.",
    "plugins/convrag_web/page/": "The chat page, in JavaScript.",
    "plugins/convrag_web/view/": "How a turn is shown, in the chat page and in reports, in JavaScript.",
    "tests/": "The fixtures of all tests.",
    "tests/api/": "The interfaces.",
    "tests/cli/": "The command.",
    "tests/concurrency/": "Threads and processes.",
    "tests/config/": "Configurations.",
    "tests/distribution/": "The wheel, and plugins of third parties.",
    "tests/docs/": "Pages, notebooks and examples do what they say.",
    "tests/fuzz/": "Readers and models' replies with damaged input.",
    "tests/integration/": "Real servers (search engines, PostgreSQL, Slurm, Ray, two hosts), and the promises of every store.",
    "tests/plugins/": "A folder for each package; every option's contract.",
    "tests/registry/": "Options, plugins, libraries that are missing.",
    "tests/robustness/": "Damage, full disks, hostile texts, leaks, secrets.",
    "tests/run/": "Runs.",
    "tests/score/": "Scores.",
    "tests/store/": "The cache.",
    "tests/sweep/": "Grids.",
    "tests/systems/": "The five systems, as commands.",
    "tests/testing/": "The contracts and the helpers of tests themselves.",
    "tests/turn/": "Turns and conversations.",
    "tests/support/": "Test servers, toy stages, browsers and other helpers.",
    "tests/support/broken/": "Stages that break one promise each.",
    "tests/support/models/": "Tiny models of random weights.",
    "tests/support/web/": "The browser, the chat page, and data for them.",
}
"""Folder without an `__init__.py` that says it -> what is in it."""


SUFFIXES = (".py", ".js", ".css")
"""The modules: Python, scripts and style sheets."""


def build_section() -> str:
    """Build the section, without its heading."""
    blocks = [INTRODUCTION.strip("\n")]
    for heading, tops in PARTS.items():
        blocks.append(f"### {heading}")
        blocks.extend(build_folder(folder) for folder in list_folders(*tops))
    return "\n\n".join(blocks) + "\n"


def list_folders(*tops: str) -> list[Path]:
    """List the folders of these that have modules."""
    folders = set()
    for top in tops:
        for suffix in SUFFIXES:
            files = (ROOT / top).rglob(f"*{suffix}")
            folders.update(path.parent for path in files if is_source(path))
    return sorted(folders)


def is_source(path: Path) -> bool:
    """Whether a file is a module of convrag's: no template, no example, no hidden folder."""
    inner = path.relative_to(ROOT).parts
    left_out = {"templates", "examples", "notebooks", "site", "vendor", "__pycache__"}
    return not left_out & set(inner) and not any(part.startswith(".") for part in inner)


def list_modules(folder: Path) -> list[Path]:
    """List the files of a folder's modules."""
    files = (path for suffix in SUFFIXES for path in folder.glob(f"*{suffix}"))
    return sorted(path for path in files if path.stem not in ("__init__", "__main__"))


def name_module(module: Path) -> str:
    """Name a module as the page does: `turn`, `turn.css`."""
    return f"`{module.name}`" if module.suffix == ".css" else f"`{module.stem}`"


def name_folder(folder: Path) -> str:
    """Name a folder as the page does: `convrag/turn/`."""
    return f"{folder.relative_to(ROOT).as_posix()}/"


def build_folder(folder: Path) -> str:
    """Build the line of a folder, with the names of its tests, and the lines of its modules."""
    name = name_folder(folder)
    init = folder / "__init__.py"
    docstring = read_docstring(init) if init.is_file() else ""
    subject = SUBJECTS.get(name) or find_first_sentence(docstring)
    modules = list_modules(folder)
    tests = [module for module in modules if is_test(module)]
    parts = [f"**`{name}`**", subject, *map(name_module, tests)]
    lines = [" ".join(part for part in parts if part), ""]
    others = (module for module in modules if module not in tests)
    lines.extend(f"* {name_module(module)}: {describe_module(module)}" for module in others)
    return "\n".join(lines).rstrip()


def is_test(module: Path) -> bool:
    """Whether a module is a file of tests, whose name alone stands on the page."""
    return module.is_relative_to(ROOT / "tests") and module.name.startswith("test_")


def describe_module(module: Path) -> str:
    """Return the first sentence of what a module says of itself."""
    if module.suffix == ".py":
        return find_first_sentence(read_docstring(module))
    comment = re.match(r"/\*\*?(.*?)\*/", module.read_text(encoding="utf-8"), re.DOTALL)
    text = re.sub(r"^ *\* ?", "", comment[1], flags=re.MULTILINE) if comment else ""
    return find_first_sentence(text)


def read_docstring(path: Path) -> str:
    """Return the docstring of a file; empty if it has none."""
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def find_first_sentence(text: str) -> str:
    """Return the first sentence of a text, on one line."""
    paragraph = flatten(text.strip().split("\n\n")[0])
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", paragraph)[0]


def replace_section(page: str) -> str:
    """Return the page with a new section."""
    before, _, rest = page.partition(HEADING)
    after = rest.partition("\n## ")[2]
    return f"{before}{HEADING}\n{build_section()}\n## {after}"


if __name__ == "__main__":
    PAGE.write_text(replace_section(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
