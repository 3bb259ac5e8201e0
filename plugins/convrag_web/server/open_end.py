"""The end of an answer that is not complete yet: code, a citation mark, or the space before one.

Each character is looked at a limited number of times, however the answer is cut into pieces: while
something is open, only a new piece is searched for what may close it.
"""

import re

_FENCE = "```"

_FENCE_END = re.compile(_FENCE)
_INLINE_END = re.compile(r"[`\n]")
_SPACE_END = re.compile(r"[\S\n]")
_MARK_END = re.compile(r"[^\s\d,;]")
_ANY_END = re.compile(r".", re.DOTALL)

_INLINE_REST = re.compile(r"[^`\n]*")
_MARK_REST = re.compile(r"[\s\d,;]*")


class OpenEnd:
    """Holds back the end of a text until it is complete."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._closing: re.Pattern[str] | None = None
        self._last_characters = ""

    def add(self, piece: str) -> str:
        """Add a piece of the text, and return what is complete."""
        self._parts.append(piece)
        # A fence may be cut in two
        searched = self._last_characters + piece
        self._last_characters = searched[1 - len(_FENCE) :]
        if self._closing is not None and not self._closing.search(searched):
            return ""
        text = "".join(self._parts)
        start, self._closing = _find_open(text)
        self._parts = [text[start:]]
        return text[:start]

    def finish(self) -> str:
        """Return the rest of the text, whose end is complete now."""
        rest = "".join(self._parts)
        self._parts = []
        self._closing = None
        return rest


def _find_open(text: str) -> tuple[int, re.Pattern[str] | None]:
    """Find where something begins that is open at the end of a text, and what may close it."""
    place = 0
    while (tick := text.find("`", place)) >= 0:
        if text.startswith(_FENCE, tick):
            end = text.find(_FENCE, tick + len(_FENCE))
            if end < 0:
                return tick, _FENCE_END
            place = end + len(_FENCE)
        elif text.startswith("``", tick):
            place = tick + 2
            if place == len(text):  # a fence may begin
                return tick, _ANY_END
        else:
            rest = _INLINE_REST.match(text, tick + 1)
            assert rest is not None
            if rest.end() == len(text):
                return tick, _INLINE_END
            is_code = text[rest.end()] == "`"
            place = rest.end() + 1 if is_code else tick + 1
    return _find_open_mark(text, place)


def _find_open_mark(text: str, place: int) -> tuple[int, re.Pattern[str] | None]:
    """Find the mark or the space after a place that is open at the end of a text."""
    bracket = text.rfind("[", place)
    if bracket >= 0 and _MARK_REST.fullmatch(text, bracket + 1):
        return _find_gap(text, place, bracket), _MARK_END
    start = _find_gap(text, place, len(text))
    return start, _SPACE_END if start < len(text) else None


def _find_gap(text: str, first: int, end: int) -> int:
    """Return where the space within a line begins that ends at a place."""
    before = text[first:end]
    stripped = before.rstrip()
    gap = before[len(stripped) :]
    return first + len(stripped) + gap.rfind("\n") + 1
