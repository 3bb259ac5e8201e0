"""Adds to the site what is generated: mkdocs calls these functions while it builds.

* `on_files`: the three generated pages.
* `on_nav`, `on_page_content`, `on_post_page`, `on_post_build`: llms.txt, llms-full.txt, each page as Markdown, and the JSON schema
  of the configuration.
"""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import build_authors
import build_plugin_list
from build_reference import reference
from machine_pages import MachinePage, list_files, write_files
from mkdocs.structure.files import File, Files

from convrag_kit.config_schema import build_schema

GENERATED = {
    "reference.md": reference,
    "authors.md": build_authors.build_page,
    "plugin_list.md": build_plugin_list.build_page,
}
"""Page -> the function that writes it."""

_markdown: dict[str, str] = {}
"""The path of a page's source -> its Markdown, of the build in progress."""

_order: list[tuple[str, str, str]] = []
"""Section, title and path of each page, in the order of the navigation."""


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages to the pages of docs/."""
    for name, build in GENERATED.items():
        files.append(File.generated(config, name, content=build()))
    return files


def on_nav(nav: Any, config: Any, files: Files) -> Any:
    """Note the order of the pages, and their sections."""
    _order.clear()
    _markdown.clear()
    for page in nav.pages:
        section = page.ancestors[-1].title if page.ancestors else ""
        _order.append((section, page.title, page.file.src_uri))
    return nav


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Note the Markdown of a page."""
    _markdown[page.file.src_uri] = page.markdown
    return html


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Link a page to its Markdown."""
    depth = page.url.count("/")
    link = f'<link rel="alternate" type="text/markdown" href="{"../" * depth}{page.file.src_uri}">'
    return output.replace("</head>", f"{link}</head>", 1)


def on_post_build(config: Any) -> None:
    """Write what programs read."""
    pages = [MachinePage(*known, _markdown[known[2]]) for known in _order]
    address = config.site_url or ""
    folder = Path(config.site_dir)
    write_files(folder, list_files(config.site_name, config.site_description, address, pages))
    schema = json.dumps(build_schema(), indent=1, default=str)
    (folder / "conf.schema.json").write_text(schema + "\n", encoding="utf-8")
