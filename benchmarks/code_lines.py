"""Counts lines of code by room, without docstrings, comments and blanks.

Run `python benchmarks/code_lines.py [REVISION]`.

With a revision of git, its counts stand beside today's.
"""

import ast
import io
import subprocess
import sys
import tarfile
import tokenize
from collections import Counter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
FOLDERS = ("convrag", "plugins", "tests", "benchmarks")
KERNEL = tuple(f"convrag/{room}" for room in ("api", "store", "registry", "config", "turn"))
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def count_lines(source: str) -> int:
    """The lines of a file that hold code."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {
        line
        for token in tokens
        if token.type not in LAYOUT
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(source)):
        documented = isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        )
        if documented and ast.get_docstring(node) is not None:
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def count_rooms(sources: dict[str, str]) -> Counter[str]:
    """Room ("convrag/api", "plugins/convrag_mmr", "tests") -> lines; also "kernel" and "product"."""
    rooms: Counter[str] = Counter()
    for name, source in sources.items():
        parts = PurePosixPath(name).parts
        room = "/".join(parts[:2]) if parts[0] in FOLDERS[:2] and len(parts) > 2 else parts[0]
        lines = count_lines(source)
        rooms[room] += lines
        rooms["kernel"] += lines * (room in KERNEL)
        rooms["product"] += lines * (parts[0] in FOLDERS[:2])
    return rooms


def read_today() -> dict[str, str]:
    """Path -> source of the working tree."""
    files = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files}


def read_revision(revision: str) -> dict[str, str]:
    """Path -> source of a revision of git."""
    packed = subprocess.run(
        ["git", "archive", revision, *FOLDERS], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        members = [member for member in archive if member.isfile() and member.name.endswith(".py")]
        return {member.name: archive.extractfile(member).read().decode() for member in members}  # type: ignore[union-attr]


def main() -> None:
    """Print a line for each room."""
    columns = [count_rooms(read_revision(revision)) for revision in sys.argv[1:2]] + [
        count_rooms(read_today())
    ]
    for room in sorted({room for column in columns for room in column}):
        sys.stdout.write(f"{room:32}{''.join(f'{column[room]:8,}' for column in columns)}\n")


if __name__ == "__main__":
    main()
