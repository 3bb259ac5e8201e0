"""The notebooks in docs/notebooks run, cell by cell, in this process: no kernel is needed.

They are stored without outputs: what is shown depends on times and versions, and differences of
commits stay readable.
"""

import ast
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import run_convrag
from places import ROOT

pytestmark = pytest.mark.slow

FOLDER = ROOT / "docs/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
COMMAND = "!{sys.executable} -m convrag "


def read_cells(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def run_notebook(
    path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, Any], list[Any]]:
    """Run the cells of a notebook; return its variables, and the values that its cells end with."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    variables: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for number, cell in enumerate(read_cells(path), 1):
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            continue
        if source.startswith("%%writefile "):
            first, _, text = source.partition("\n")
            Path(first.split()[1]).write_text(text + "\n", encoding="utf-8")
            continue
        value = None
        for part in split_commands(source):
            if part.startswith(COMMAND):
                arguments = part.removeprefix(COMMAND).format_map(variables)
                done = run_convrag(shlex.split(arguments), folder)
                assert done.returncode == 0, f"{path.name}, cell {number}: {done.stderr}"
            else:
                value = run_cell(part, f"{path.name}, cell {number}", variables)
        if value is not None:
            shown.append(value)
    return variables, shown


def split_commands(source: str) -> Iterator[str]:
    """Split a cell into commands, which begin with `!` and end with the line, and the Python
    between them.
    """
    for part in re.split(r"^(!.*)\n?", source.replace("\\\n", ""), flags=re.MULTILINE):
        if part.strip():
            yield part


def run_cell(source: str, name: str, variables: dict[str, Any]) -> Any:
    """Run Python as a notebook does: the value of a last expression is shown, unless a semicolon
    ends it.
    """
    tree = ast.parse(source, name)
    last = (
        tree.body.pop()
        if isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";")
        else None
    )
    exec(compile(tree, name, "exec"), variables)
    if last is None:
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), name, "eval"), variables)


def test_your_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    variables, shown = run_notebook(FOLDER / "your_documents.ipynb", tmp_path, monkeypatch)
    pages = [getattr(value, "_repr_html_", value.__repr__)() for value in shown]
    assert "Parental leave is twelve weeks" in pages[0]
    assert "It may be taken in two parts" in pages[1]
    assert "Flights need the approval" in pages[2]
    assert "<mark>A doctor&#x27;s note is needed" in pages[3]
    assert pages[4].count("lexical") > 1  # auto: many queries
    assert (
        "A lost laptop is reported to the help desk within 24 hours."
        in pages[6].split("<details>")[0]
    )
    printed = capsys.readouterr().out
    assert "May it be taken in two parts? -> May it be taken in two parts? " in printed
    for stage in (
        "memory",
        "rewriter",
        "retriever",
        "reranker",
        "selector",
        "context",
        "generator",
    ):
        assert re.search(rf"^{stage} +query: 'Are flights allowed\?'", printed, re.MULTILINE)
    assert variables["record"].hits[0].passage.name.startswith("travel.md")


def test_compare_rewriters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("MTRAG", "absent")
    variables, shown = run_notebook(FOLDER / "compare_rewriters.ipynb", tmp_path, monkeypatch)
    assert shown[0] == "dataset=sample"
    assert {cell.state for cell in variables["grid"].cells} == {"ok"}
    assert len(variables["grid"].cells) == 5
    page = shown[1]._repr_html_()
    assert all(f">rewriter={name}</td>" in page for name in variables["rewriters"].split(","))
    assert shown[3].sum(axis=1).eq(8).all()  # better, equal and worse are all conversations
    assert variables["gain"].max() > 0 > variables["gain"].min()
    assert shown[4].turn_id == shown[5].turn_id != shown[6].turn_id
    assert shown[4].rewritten_query == shown[4].original_query
    assert "\\toprule" in capsys.readouterr().out


def test_write_a_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    _, shown = run_notebook(FOLDER / "write_a_plugin.ipynb", tmp_path, monkeypatch)
    assert [query.weight for query in shown[0].queries] == [1, 0.5]
    assert shown[0].queries[1].text == "away Moon"
    assert "topic" in shown[2]._repr_html_()
    assert shown[3].shape == (2, 3)
    assert not shown[3].isna().any().any()
    printed = capsys.readouterr().out
    assert "wieght" in printed
    assert "weight" in printed.replace("wieght", "")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_has_no_outputs(path: Path) -> None:
    code = [cell for cell in read_cells(path) if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code), (
        f"clear the outputs of {path.name}"
    )
    for target in re.findall(r"\]\((?!http)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (FOLDER / target).exists(), f"{path.name} links to {target}"
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.read(path, as_version=4))


def test_each_notebook_has_a_test() -> None:
    assert {f"test_{path.stem}" for path in NOTEBOOKS} <= set(globals())
