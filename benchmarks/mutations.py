"""Counts the faults that tests notice: breaks lines of product code, one at a time.

    pip install pytest-cov
    python benchmarks/mutations.py map                     # once: which tests of the default layer reach which lines
    python benchmarks/mutations.py run --seed 1 --count 50 # a line for each fault: caught or missed
    python benchmarks/mutations.py run --seed 1 --count 50 --layer slow --only missed.txt

Faults are chosen by the seed among the expressions of convrag/ and plugins/: a comparison or a
condition is turned round, a number is one more, a call whose value nobody takes is left out, a
function returns None. The tests run in a copy of the tree, so this one stays as it is. `--layer
slow` runs the slow tests that name the broken package.
"""

import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
MAP = ROOT / ".coverage"
TESTS = 400  # of those that reach a line, at most: the shortest files first
READERS = (
    "tests/docs/test_docs.py",
    "tests/docs/test_authors_page.py",
)  # read the product's source: defaults, for one
OPPOSITE = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}
OPPOSITE |= {ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}


class Fault(NamedTuple):
    """A fault: columns `start` to `end` of a line (from 1) of a file become `text`."""

    path: str
    line: int
    start: int
    end: int
    text: str

    def name(self) -> str:
        """The place and the new text."""
        return f"{self.path}:{self.line}:{self.start} {self.text}"


def find_faults(path: Path) -> Iterator[Fault]:
    """All faults that can be made in a file."""
    for node in _walk(ast.parse(path.read_text(encoding="utf-8"))):
        broken = _break(node)
        if broken is not None and node.lineno == node.end_lineno:
            name = str(path.relative_to(ROOT))
            yield Fault(
                name, node.lineno, node.col_offset, node.end_col_offset or 0, ast.unparse(broken)
            )


def _walk(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Yield the nodes that run as a part of the product's work.

    Annotations, messages of errors and logs are not among them.

    Nor is zip's `strict=True` one: it says, as an assertion does, that lengths are equal.
    """
    says = ast.Raise | ast.Assert | ast.JoinedStr
    for name, value in ast.iter_fields(node):
        if (
            name in ("annotation", "returns", "decorator_list")
            or isinstance(node, says)
            or _is_strict(node)
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_log(child):
                if isinstance(child, ast.expr | ast.stmt):
                    yield child
                yield from _walk(child)


def _is_strict(node: ast.AST) -> bool:
    return isinstance(node, ast.keyword) and node.arg == "strict"


def _is_log(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith(
        ("log.", "logging.", "warnings.", "'", '"')
    )


def _break(node: ast.AST) -> ast.AST | None:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=comparators) if type(op) in OPPOSITE:
            return ast.Compare(left, [OPPOSITE[type(op)]()], comparators)
        case ast.BoolOp(op=op, values=values):
            return ast.BoolOp(ast.And() if isinstance(op, ast.Or) else ast.Or(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Constant(value=bool() as value):
            return ast.Constant(not value)
        case ast.Constant(value=int() as value):
            return ast.Constant(value + 1)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right) if not isinstance(
            right, ast.Constant
        ):
            return ast.BinOp(left, ast.Sub() if isinstance(op, ast.Add) else ast.Add(), right)
        case ast.Expr(value=ast.Call()):
            return ast.Pass()
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            return ast.Return(ast.Constant(None))
    return None


def choose(seed: int, count: int) -> list[Fault]:
    """Faults in as many lines, each line as likely as any other."""
    chance = random.Random(seed)
    lines: dict[tuple[str, int], list[Fault]] = {}
    for path in sorted([*ROOT.glob("convrag/**/*.py"), *ROOT.glob("plugins/**/*.py")]):
        for fault in find_faults(path):
            lines.setdefault((fault.path, fault.line), []).append(fault)
    return [chance.choice(lines[place]) for place in chance.sample(sorted(lines), count)]


def find_tests(fault: Fault, layer: str) -> list[str]:
    """Find the tests that reach the broken line, or its file where that runs at its import.

    Files of the slow layer are found too.

    Those in a folder or file that is named as the line's package come first.
    """
    if layer == "slow":
        package = fault.path.split("/")[1]
        word = package if package.startswith("convrag_") else f"convrag.{package}"
        return sorted(
            str(path.relative_to(ROOT))
            for path in ROOT.glob("tests/**/test_*.py")
            if _is_slow(path, word)
        )
    from coverage import CoverageData

    data = CoverageData(str(MAP))
    data.read()
    tree = ast.parse((ROOT / fault.path).read_text(encoding="utf-8"))
    by_line = data.contexts_by_lineno(str(ROOT / fault.path))
    room = fault.path.split("/")[1].removeprefix("convrag_")
    reached = by_line.get(fault.line) or by_line.get(_find_statement(tree, fault.line)) or []
    if not any(reached) or _runs_once(tree, fault):
        own = (
            context for context in data.measured_contexts() if room in context.partition("::")[0]
        )
        reached = [*chain.from_iterable(by_line.values()), *own, *READERS]
    names = {context.rpartition("|")[0] or context for context in reached if ".py" in context}

    def rank(name: str) -> tuple[bool, int, str]:
        path = name.partition("::")[0]
        return room not in path, (ROOT / path).stat().st_size, name

    return sorted(names, key=rank)[:TESTS]


def _runs_once(tree: ast.AST, fault: Fault) -> bool:
    """Tell whether a line is of a package's hooks or of no function, but for a first test."""
    functions = (
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    is_inside = any(
        node.body[0].lineno <= fault.line <= (node.end_lineno or 0) for node in functions
    )
    return not is_inside or fault.path.endswith("__init__.py")


def _find_statement(tree: ast.AST, line: int) -> int:
    """The first line of the statement that a line belongs to."""
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    return max(node.lineno for node in statements if node.lineno <= line <= (node.end_lineno or 0))


def _is_slow(path: Path, word: str) -> bool:
    text = path.read_text(encoding="utf-8")
    return "mark.slow" in text and word in text


def is_caught(fault: Fault, tests: list[str], copy: Path, layer: str) -> bool:
    """Tell whether one of the tests fails with the fault."""
    place = copy / fault.path
    source = place.read_text(encoding="utf-8")
    lines = source.splitlines(keepends=True)
    line = lines[fault.line - 1].encode()
    lines[fault.line - 1] = (line[: fault.start] + fault.text.encode() + line[fault.end :]).decode()
    place.write_text("".join(lines), encoding="utf-8")
    workers = 2 if len(tests) > 20 else 0
    paths = os.pathsep.join([str(copy), str(copy / "plugins")])
    command = [sys.executable, "-m", "pytest", "-q", "--maxfail=20", "-p", "no:cacheprovider"]
    if layer == "slow":
        command += ["-m", "slow"]

    def find_failed(chosen: list[str], workers: int) -> list[str]:
        run = subprocess.run(
            [*command, "-n", str(workers), *chosen],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        if run.returncode == 5 and workers:  # with a name that is no test's, xdist runs none
            return find_failed(chosen, 0)
        failed = re.findall(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", run.stdout, re.MULTILINE)
        return failed or (chosen if run.returncode not in (0, 5) else [])  # 5: no test was there

    try:
        failed = find_failed(tests, workers)
    except subprocess.TimeoutExpired:
        return True
    finally:
        place.write_text(source, encoding="utf-8")
    return bool(failed) and len(find_failed(failed, workers)) < len(
        failed
    )  # one that fails without the fault notices nothing


def main() -> None:
    """Make the map, or break lines."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=["map", "run"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--layer", choices=["default", "slow"], default="default")
    parser.add_argument(
        "--only", type=Path, help="the printed lines of the faults to try, of this seed and count"
    )
    options = parser.parse_args()
    if options.step == "map":
        coverage = [
            f"--cov={ROOT / 'convrag'}",
            f"--cov={ROOT / 'plugins'}",
            "--cov-context=test",
            "--cov-report=",
        ]
        subprocess.run([sys.executable, "-m", "pytest", "-q", *coverage], cwd=ROOT, check=False)
        return
    faults = choose(options.seed, options.count)
    if options.only:
        wanted = options.only.read_text(encoding="utf-8")
        faults = [fault for fault in faults if fault.name() in wanted]
    caught = 0
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "main"
        shutil.copytree(
            ROOT,
            copy,
            ignore=shutil.ignore_patterns(".git", "outputs", ".coverage*", "__pycache__"),
        )
        (Path(scratch) / "shared").symlink_to(ROOT.parent / "shared")
        for fault in faults:
            tests = find_tests(fault, options.layer)
            found = bool(tests) and is_caught(fault, tests, copy, options.layer)
            caught += found
            sys.stdout.write(
                f"{'caught' if found else 'MISSED'} {fault.name()} ({len(tests)} tests)\n"
            )
            sys.stdout.flush()
    sys.stdout.write(
        f"{caught} of {len(faults)} caught, layer {options.layer}, seed {options.seed}\n"
    )


if __name__ == "__main__":
    main()
