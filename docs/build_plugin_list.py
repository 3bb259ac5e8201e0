"""Writes the page plugin_list.md of the site from listed_plugins.yaml.

`python docs/build_plugin_list.py` prints it; site_hooks.py adds it to the site.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml
from page_parts import escape_cell, make_table

LIST = Path(__file__).with_name("listed_plugins.yaml")
KEYS = ("name", "brings", "install", "source")

_INTRODUCTION = """\
# Plugins to install

These packages add options to convrag. Install one with the command of its row; its options are then in `python -m convrag --help`.
A plugin is code: install only plugins that you trust. `python -m convrag task=plugins task.check=NAME` runs convrag's contracts
against an installed plugin and prints a report."""

_LISTING = """\
## Be listed

1. Write a plugin: `python -m convrag task=new_plugin task.package=acme_rewriter task.stage=rewriter` writes a whole repository, with
   tests, a CI workflow and a licence ([plugins.md](plugins.md)).
2. See that `python -m convrag task=plugins task.check=acme_rewriter` reports no failure.
3. Add an entry to `docs/listed_plugins.yaml`, with `name`, `brings`, `install` and `source`, and open a pull request. Put the last
   line of the report into its description."""


def build_page(source: Path = LIST) -> str:
    """Build the whole page. Raises ValueError where an entry is not complete."""
    rows = []
    for entry in read_entries(source):
        row = [f"[{entry['name']}]({entry['source']})", entry["brings"], f"`{entry['install']}`"]
        rows.append([escape_cell(cell) for cell in row])
    table = make_table(["plugin", "what it brings", "install"], rows)
    return "\n\n".join([_INTRODUCTION, table, _LISTING]) + "\n"


def read_entries(source: Path) -> list[dict[str, str]]:
    """Read the entries of the list, in order.

    Raises:
        ValueError: an entry lacks a key, or has another one; two have the same name; or an address
            is not one of the web.
    """
    listed: Any = yaml.safe_load(source.read_text(encoding="utf-8"))
    names = set()
    for number, entry in enumerate(listed, 1):
        place = f"{source.name}, entry {number}"
        if not isinstance(entry, dict) or sorted(entry) != sorted(KEYS):
            raise ValueError(f"{place}: it must have {', '.join(KEYS)}, and nothing else")
        if not all(isinstance(value, str) and value.strip() for value in entry.values()):
            raise ValueError(f"{place}: each value must be a text")
        if not entry["source"].startswith("https://"):
            raise ValueError(f"{place}: source must be an address that begins with https://")
        if entry["name"] in names:
            raise ValueError(f"{place}: {entry['name']} is listed twice")
        names.add(entry["name"])
    return list(listed)


if __name__ == "__main__":
    sys.stdout.write(build_page())
