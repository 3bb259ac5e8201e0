"""What programs read of the site: llms.txt, llms-full.txt, and each page as Markdown.

A page is `start/` for browsers and `start.md` for programs, so that a link from one Markdown page to another works there too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class MachinePage:
    """A page of the site.

    Args:
        section: the part of the navigation that it is in; empty at the top.
        title: its title.
        path: the path of its Markdown below the site: "start.md".
        markdown: its text.
    """

    section: str
    title: str
    path: str
    markdown: str

    def summarize(self) -> str:
        """Return the first sentence of the page's first paragraph, without links."""
        for paragraph in re.split(r"\n\s*\n", self.markdown):
            if re.match(r"[#<`|!\s]|[*-] ", paragraph) or not paragraph.strip():
                continue
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
            first = re.match(r".+?[.:](?=\s|$)", text)
            return (first[0] if first else text).rstrip(":")
        return ""


def build_index(name: str, description: str, address: str, pages: list[MachinePage]) -> str:
    """Build llms.txt: the name, the description, and a link to each page with what it is about.

    Args:
        name: of the site.
        description: of the site.
        address: where the site is, with a slash at its end.
        pages: in the order of the navigation.
    """
    lines = [f"# {name}", "", f"> {description}"]
    section = None
    for page in pages:
        if page.section != section:
            section = page.section
            lines += ["", f"## {section or 'Overview'}", ""]
        summary = page.summarize()
        lines.append(f"- [{page.title}]({address}{page.path}){f': {summary}' if summary else ''}")
    lines += ["", "## Optional", ""]
    lines.append(f"- [All pages in one file]({address}llms-full.txt)")
    lines.append(f"- [JSON schema of the configuration]({address}conf.schema.json)")
    return "\n".join(lines) + "\n"


def build_full(address: str, pages: list[MachinePage]) -> str:
    """Build llms-full.txt: all pages, each after its address."""
    parts = [f"<!-- {address}{page.path} -->\n\n{page.markdown.strip()}\n" for page in pages]
    return "\n".join(parts)


def list_files(
    name: str, description: str, address: str, pages: list[MachinePage]
) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file."""
    yield "llms.txt", build_index(name, description, address, pages)
    yield "llms-full.txt", build_full(address, pages)
    for page in pages:
        yield page.path, page.markdown


def write_files(folder: Path, files: Iterator[tuple[str, str]]) -> None:
    """Write files below a folder."""
    for path, text in files:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
