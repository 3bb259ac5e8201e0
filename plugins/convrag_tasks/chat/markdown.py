"""Markdown on a terminal: split into finished blocks, and rendered as lines."""

from itertools import pairwise
from typing import ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement

from convrag.sdk.output.printable import make_printable
from convrag_tasks.chat.terminal_lines import Line, print_lines, render_lines

_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
_PARSER.disable(["reference", "image", "autolink"])
"""The parser of answers, in which HTML, images and <addresses> are text.

A line "[1]: https://..." does not make a link of each "[1]".
"""


class _Heading(Heading):
    """A heading at the left, of whatever level; Rich puts the first level in the middle."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        heading = self.text.copy()
        heading.justify = "left"
        yield heading


class _ChatMarkdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", code_theme="ansi_dark", hyperlinks=False)
        self.parsed = _PARSER.parse(make_printable(text))


def print_markdown(console: Console, text: str) -> None:
    """Print a text in Markdown, with an empty line between its blocks."""
    blocks, rest = split_finished_blocks(make_printable(text))
    gap: list[Line] = []
    for block in filter(str.strip, [*blocks, rest]):
        print_lines(console, [*gap, *render_block(console, block)])
        gap = [[]]


def render_block(console: Console, block: str) -> list[Line]:
    """Render a block of Markdown as lines of a terminal, without empty lines around them.

    Links show their address, and control characters a character that stands for them. Code is
    coloured in the terminal's own colours.
    """
    lines = render_lines(console, _ChatMarkdown(block))
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        del lines[0]
    return lines


def split_finished_blocks(text: str) -> tuple[list[str], str]:
    """Split the beginning of a text into the blocks that no further text can change, and the rest.

    A paragraph, a list or a table is finished when another block has begun.

    Args:
        text: in Markdown, without control characters.

    Returns:
        The blocks, which make up the text together with the rest.
    """
    starts = [token.map[0] for token in _PARSER.parse(text) if token.map and token.level == 0]
    lines = text.split("\n")
    bounds = [0, *starts[1:]]
    blocks = ["\n".join([*lines[start:end], ""]) for start, end in pairwise(bounds)]
    return blocks, "\n".join(lines[bounds[-1] :])
