"""Comments of Markdown (`<!-- not run -->`), which its readers do not see.

CommonMark has two kinds. A comment that begins a line is a block: it ends at the next `-->`, and
may contain blank lines. Any other comment ends within its paragraph. A comment without an end is
text, and so is one within code.
"""

import re
from bisect import bisect_left
from collections import defaultdict

from convrag_documents.readers.markdown_lines import BLOCK, HEADING

_OPENING = "<!--"
_CLOSING = "-->"

_CONTAINERS = r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)]|>)[ \t]+)*"
"""Indentation, and the marks of the lists and quotations that a line begins."""

_FENCE = re.compile(_CONTAINERS + r"(`{3,}(?=[^`]*$)|~{3,})")
_CLOSING_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t]*$")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_BLANKS = re.compile(r"[ \t]*")
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)*")
_INLINE_MARK = re.compile(rf"\\.|`+|{_OPENING}", re.DOTALL)
_BACKTICKS = re.compile(r"`+")


def remove_comments(text: str) -> str:
    """Return Markdown without its comments; a comment between two blocks leaves one blank line."""
    if _OPENING not in text or _CLOSING not in text:
        return text
    remover = _CommentRemover(text)
    remover.read()
    return "".join(remover.kept)


class _CommentRemover:
    """Reads Markdown block by block, in linear time.

    Attributes:
        kept: the pieces of the text outside of comments.
    """

    def __init__(self, text: str) -> None:
        self.kept: list[str] = []
        self._text = text
        self._last_closing = text.rfind(_CLOSING)
        self._position = 0
        """The place of the block that is being read."""
        self._after_blank = True
        """Whether the last line that was kept is blank; true at the beginning."""
        self._after_code = False
        """Whether the last line was indented code."""
        self._in_list = False

    def read(self) -> None:
        """Read all blocks."""
        while self._position < len(self._text):
            line = self._get_line(self._position)
            fence = _FENCE.match(line)
            if fence:
                self._note_list(line)
                self._read_fenced_code(line, fence[1])
            elif self._is_indented_code(line):
                self._keep_to(self._position + len(line) + 1)
                self._after_code = True
            elif line.lstrip(" \t").startswith(_OPENING):
                self._read_comments()
            else:
                self._read_paragraph(line)

    def _get_line(self, start: int) -> str:
        end = self._text.find("\n", start)
        return self._text[start:] if end < 0 else self._text[start:end]

    def _is_indented_code(self, line: str) -> bool:
        """Whether a line is code because of its indentation; in lists, text is indented too."""
        is_indented = line.startswith(("    ", "\t")) and line.strip() != ""
        return is_indented and not self._in_list and (self._after_blank or self._after_code)

    def _note_list(self, line: str) -> None:
        """Note whether a line is in a list: an indented line or a blank one does not end a list."""
        if _LIST_ITEM.match(line):
            self._in_list = True
        elif line and not line[0].isspace():
            self._in_list = False

    def _read_fenced_code(self, line: str, fence: str) -> None:
        """Keep code up to its closing fence, or to the end of the text."""
        end = self._position + len(line) + 1
        is_closed = False
        while end < len(self._text) and not is_closed:
            line = self._get_line(end)
            closing = _CLOSING_FENCE.match(line)
            is_closed = closing is not None and closing[1].startswith(fence)
            end += len(line) + 1
        self._keep_to(end)

    def _read_comments(self) -> None:
        """Leave out the comments that begin a line; the text after them is a paragraph."""
        start = self._position
        end = _skip(_BLANKS, self._text, start)
        while self._text.startswith(_OPENING, end) and end < self._last_closing:
            closing = self._text.find(_CLOSING, end + 2)  # "<!-->" is a comment, too
            start = closing + len(_CLOSING)
            end = _skip(_BLANKS, self._text, start)
        if start == self._position:  # not closed
            self._read_paragraph(self._get_line(start))
            return
        self._position = end
        is_alone = end == len(self._text) or self._text[end] == "\n"
        if is_alone:
            self._end_comment_lines()
        else:
            self._read_paragraph(self._get_line(end))

    def _end_comment_lines(self) -> None:
        """Leave one blank line instead of lines of comments and the blank lines around them."""
        self._position += 1
        if self._position >= len(self._text):
            return
        if not self._after_blank:
            self.kept.append("\n")
            self._after_blank = True
        self._position = _skip(_BLANK_LINES, self._text, self._position)

    def _read_paragraph(self, line: str) -> None:
        """Keep a line, and those that continue it, without the comments in them."""
        self._note_list(line)
        end = self._position + len(line) + 1
        is_alone = not line.strip() or HEADING.match(line) is not None
        while not is_alone and end < len(self._text):
            next_line = self._get_line(end)
            if BLOCK.match(next_line):
                break
            end += len(next_line) + 1
        paragraph = self._text[self._position : end]
        self.kept.append(_remove_inline(paragraph))
        self._position = end
        self._after_blank = not paragraph.strip()
        self._after_code = self._after_code and self._after_blank

    def _keep_to(self, end: int) -> None:
        """Keep code as it is."""
        self.kept.append(self._text[self._position : end])
        self._position = end
        self._after_blank = False
        self._after_code = False


def _skip(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Return the place after what a pattern matches."""
    found = pattern.match(text, start)
    return start if found is None else found.end()


def _remove_inline(paragraph: str) -> str:
    """Return a paragraph without comments; of the blanks on both sides, those after one stay."""
    last_closing = paragraph.rfind(_CLOSING)
    if _OPENING not in paragraph or last_closing < 0:
        return paragraph
    runs = _find_backticks(paragraph)
    kept = []
    kept_to = 0
    position = 0
    while mark := _INLINE_MARK.search(paragraph, position):
        position = mark.end()
        if mark[0].startswith("`"):
            position = _find_code_end(runs[len(mark[0])], position, len(mark[0]))
        elif mark[0] == _OPENING and mark.start() < last_closing:
            before = paragraph[kept_to : mark.start()]
            position = paragraph.find(_CLOSING, mark.start() + 2) + len(_CLOSING)
            is_before_blank = paragraph[position : position + 1].strip() == ""
            kept.append(before.rstrip(" \t") if is_before_blank else before)
            kept_to = position
    return "".join([*kept, paragraph[kept_to:]])


def _find_backticks(paragraph: str) -> defaultdict[int, list[int]]:
    """Return the places of the runs of backticks, by their length."""
    runs = defaultdict(list)
    for run in _BACKTICKS.finditer(paragraph):
        runs[len(run[0])].append(run.start())
    return runs


def _find_code_end(places: list[int], start: int, length: int) -> int:
    """Return the end of inline code, after a run of the same length; its start if none follows."""
    following = bisect_left(places, start)
    return places[following] + length if following < len(places) else start
