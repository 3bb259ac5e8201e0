"""The measured part of docs/benchmarks.md: one block for each part, made from results/<part>.json.

A block stands between two comments, and all other text of the page is left as it is:

    <!-- measured: lexical -->
    <!-- end: lexical -->
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs/benchmarks.md"
RESULTS = HERE / "results"


def make_table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in GitHub's Markdown."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def format_number(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits, an empty cell for None."""
    if value is None:
        return ""
    if isinstance(value, int) or value == 0 or abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{float(f'{value:.{digits}g}'):.{digits}g}"


def read_results(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """The results by part."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.json"))
    }


def fill_page(page: str, blocks: dict[str, str]) -> str:
    """The page with these blocks.

    Raises:
        SystemExit: the page has no place for one of them.
    """
    for part, block in blocks.items():
        begin, end = f"<!-- measured: {part} -->", f"<!-- end: {part} -->"
        if begin not in page or end not in page:
            raise SystemExit(
                f"docs/benchmarks.md has no {begin} and {end}: write them where the part's tables go"
            )
        found = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        page = found.sub(lambda _, text=f"{begin}\n\n{block}\n\n{end}": text, page)  # type: ignore[misc]
    return page


def format_block(result: dict[str, Any], tables: str) -> str:
    """A part's tables, and below them its raw numbers and what they were measured with."""
    machine = result["machine"]
    peers = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    made = (
        f"{result['date']}, `{result['command']}`, {machine['processor']}, {machine['cores']} cores"
    )
    load = f"load {machine['load_before']} to {machine['load_after']}"
    raw = f"raw numbers: `benchmarks/results/{result['part']}.json`"
    return f"{tables}\n\n{made}, {machine['memory_gib']} GiB, {load}, Python {machine['python']}; {peers}; {raw}."
