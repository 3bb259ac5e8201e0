"""Markdown, and Jupyter notebooks: the Markdown and the code of the cells, without what the code
printed.

The text stays as it is in the file, but for line breaks within paragraphs, which are spaces, and
badges (images that are links) and front matter, which are left out.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from convrag import Document
from convrag.sdk.data.strict_json import parse_json
from convrag.sdk.types import Heading
from convrag_documents.readers.text import TextBuilder, decode
from convrag_documents.unreadable import Unreadable

_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BLOCK = re.compile(
    r"[ \t]*(?:$|#{1,6}(?:\s|$)|[-*+](?:\s|$)|\d{1,9}[.)]\s|>|\||<|`{3}|~{3}|=+\s*$|(?:[-*_][ \t]*){3,}$)"
)
"""A line that begins a block of its own, so that it does not go on with the line above it."""

_HARD_BREAK = ("  ", "\\", "|", "<br>", "<br/>")
_FRONT_MATTER = re.compile(r"---\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_BADGE = re.compile(r"\[!\[[^\]\n]*\](?:\([^)\n]*\)|\[[^\]\n]*\])\](?:\([^)\n]*\)|\[[^\]\n]*\])")
_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")


def read_markdown(content: bytes) -> Iterator[Document]:
    """Read Markdown with its headings; its front matter has the title, and a description that comes
    first.
    """
    title, text = _read_front_matter(_BADGE.sub("", decode(content)))
    joined, headings = parse_markdown(text)
    yield Document("", joined, title=title, headings=tuple(headings))


def _read_front_matter(text: str) -> tuple[str, str]:
    """Return the title of the front matter (YAML between two lines of ---), and the text, its
    description before it.
    """
    found = _FRONT_MATTER.match(text)
    try:
        fields = yaml.load(found[1], yaml.BaseLoader) if found else None
    except yaml.YAMLError:
        return "", text
    if not found or not isinstance(fields, dict):
        return "", text
    title, about = (
        " ".join(str(fields.get(name, "")).split()) for name in ("title", "description")
    )
    about += "." * about[-1:].isalnum()
    return title, f"{about}\n\n{text[found.end() :].lstrip()}" if about else text[found.end() :]


def parse_markdown(text: str) -> tuple[str, list[Heading]]:
    """Return Markdown with each paragraph in one line, and its headings; those within blocks of
    code are none.
    """
    joined: list[str] = []
    headings: list[Heading] = []
    fence = ""
    start = above = 0
    # Whether the line above is of a paragraph, which this line can go on with, or underline
    paragraph = False
    for line in text.split("\n"):
        plain = line[:1].isalpha()  # most lines: they begin no block
        found = None if plain else _FENCE.match(line)
        goes_on = paragraph and (plain or not (found or _BLOCK.match(line)))
        if start:
            joined.append(" " if goes_on and not joined[-1].endswith(_HARD_BREAK) else "\n")
        joined.append(line)
        if not goes_on and (plain or not _UNDERLINE.match(line)):
            above = start  # where the paragraph begins
        if fence:
            closes = found is not None and found[1].startswith(fence) and not line.strip(" \t`~")
            fence = "" if closes else fence
            paragraph = False
        elif plain:
            paragraph = True
        elif found:
            fence, paragraph = found[1], False
        elif heading := _HEADING.match(line):
            headings.append(Heading(start, len(heading[1]), _clean(line[heading.end() :])))
            paragraph = False
        elif paragraph and (underline := _UNDERLINE.match(line)):
            level = 1 if underline[1].startswith("=") else 2
            headings.append(Heading(above, level, _clean(text[above:start].replace("\n", " "))))
            paragraph = False
        else:
            paragraph = goes_on or _begins_paragraph(line)
        start += len(line) + 1
    return "".join(joined), headings


def _begins_paragraph(line: str) -> bool:
    """Whether the next line may go on with a line: no table, HTML, rule or code."""
    stripped = line.strip()
    is_block = stripped.startswith(("|", "<")) or line.startswith(("    ", "\t"))
    is_rule = len(stripped) > 2 and set(stripped) <= set("-*_= \t")
    return bool(stripped) and not is_block and not is_rule


def _clean(heading: str) -> str:
    """The text of a heading without closing signs, links and emphasis."""
    unclosed = heading.strip().rstrip("#")
    heading = unclosed if unclosed[-1:] in ("", " ", "\t") else heading
    return _EMPHASIS.sub("", _LINK.sub(r"\1", heading)).strip()


def read_notebook(content: bytes) -> Iterator[Document]:
    """Read the cells of a notebook in their order; code stands between ```."""
    try:
        notebook = parse_json(decode(content))
    except ValueError as error:
        raise Unreadable(f"it is damaged: {error}") from error
    builder = TextBuilder()
    for cell in _list_cells(notebook):
        text = _read_source(cell)
        if cell.get("cell_type") == "code":
            builder.add(f"```\n{text.strip()}\n```" if text.strip() else "")
        else:
            builder.add(*parse_markdown(text))
    yield builder.build()


def _list_cells(notebook: Any) -> list[dict[str, Any]]:
    """List the cells of a notebook, in its form since 2015."""
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise Unreadable("this is no notebook")
    return [cell for cell in notebook["cells"] if isinstance(cell, dict)]


def _read_source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))
