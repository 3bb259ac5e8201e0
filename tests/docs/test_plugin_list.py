"""docs/plugin_list.md is made of docs/listed_plugins.yaml, and llms.txt of the pages."""

import sys
import tomllib
from pathlib import Path
from unittest import mock

import pytest

from places import ROOT

with mock.patch.object(sys, "path", [str(ROOT / "docs"), *sys.path]):
    from build_plugin_list import LIST, build_page, read_entries
    from machine_pages import MachinePage, build_full, build_index

ENTRY = "- {name: a, brings: an option, install: pip install a, source: https://example.org/a}\n"


def test_each_entry_is_a_row() -> None:
    page = build_page()
    entries = read_entries(LIST)
    assert len(entries) >= 5
    for entry in entries:
        assert f"| [{entry['name']}]({entry['source']}) | " in page
        assert f"| `{entry['install']}` |" in page


def test_our_entries_name_the_examples_as_they_are() -> None:
    listed = {entry["name"]: entry for entry in read_entries(LIST)}
    for file in sorted((ROOT / "docs/examples").glob("*/pyproject.toml")):
        name = tomllib.loads(file.read_text(encoding="utf-8"))["project"]["name"]
        folder = file.parent.relative_to(ROOT).as_posix()
        assert listed[name]["source"].endswith(f"/{folder}")
        assert listed[name]["install"].endswith(f'#subdirectory={folder}"')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {name: a}\n", "entry 1: it must have name, brings, install, source"),
        (ENTRY.replace("pip install a", "''"), "entry 1: each value must be a text"),
        (ENTRY.replace("https", "http"), "entry 1: source must be an address"),
        (ENTRY + ENTRY, "entry 2: a is listed twice"),
    ],
)
def test_an_entry_that_is_not_complete_is_refused(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "listed.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        build_page(file)


def test_llms_txt_has_a_line_for_each_page() -> None:
    intro = "# One\n\n```bash\nrun\n```\n\nIt is [a page](two.md). More.\n"
    pages = [
        MachinePage("", "One", "one.md", intro),
        MachinePage("Guides", "Two", "two.md", "# Two\n\n| a |\n"),
    ]
    index = build_index("site", "what it is", "https://example.org/", pages)
    assert index.splitlines()[:9] == [
        *("# site", "", "> what it is", "", "## Overview", ""),
        "- [One](https://example.org/one.md): It is a page.",
        *("", "## Guides"),
    ]
    assert "- [Two](https://example.org/two.md)\n" in index
    full = build_full("https://example.org/", pages)
    assert full.startswith("<!-- https://example.org/one.md -->\n\n# One\n")
    assert full.endswith("# Two\n\n| a |\n")
