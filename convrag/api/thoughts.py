"""Separates the thoughts of a reasoning model from its text, whole or piece by piece.

A server without a parser of thoughts sends them in the text: `<think>...</think>`, then the answer.
Some templates of prompts end with the opening tag, so that the reply has only the closing one.
"""

import re
from dataclasses import replace
from typing import Literal

from convrag.api.completions import Completion

_NAMES = ("think", "thinking", "thought", "seed:think")
_PAIRS = {f"<{name}>": f"</{name}>" for name in _NAMES} | {
    "[think]": "[/think]",  # Magistral
    "◁think▷": "◁/think▷",  # Kimi
}
"""Opening tag -> closing tag, in lower case."""

_OPENING = re.compile("|".join(re.escape(tag) for tag in _PAIRS), re.IGNORECASE)
_CLOSING = re.compile("|".join(re.escape(tag) for tag in _PAIRS.values()), re.IGNORECASE)
_SPACE = re.compile(r"\s*")
_LONGEST_SPACE = 1000
"""Characters of white space after which no thought begins, so that a reply need not wait for it."""

_LONGEST_TAG = max(len(tag) for tag in _PAIRS.values())

_QUOTES = "`\"'“”‘’"
"""Characters on both sides of a tag that is quoted: such a tag belongs to the text."""


class ThoughtSplitter:
    """Splits a reply into thoughts and text; its pieces may be cut anywhere, in tags too.

    Thoughts are what is between tags at the beginning of the reply, and what is before a closing
    tag without an opening one. A tag that the text quotes is text.

    Args:
        begins_inside: whether the reply may begin inside a thought: then nothing is text before a
            closing tag, or the end of a reply without one.

    Example:
        >>> splitter = ThoughtSplitter()
        >>> splitter.add("<think>Laika was a dog.</th") + splitter.add("ink>A dog.")
        'A dog.'
        >>> splitter.finish()
        ''
        >>> splitter.thoughts, splitter.text
        ('Laika was a dog.', 'A dog.')
    """

    def __init__(self, begins_inside: bool = False) -> None:
        self.begins_inside = begins_inside
        self.closed_unopened = False
        """Whether a thought ended that had not begun: the opening tag is in the prompt."""
        self._state: Literal["start", "thought", "text"] = "start"
        self._unread = ""
        self._place = 0
        """The place in the unread text; the text is cut once for each piece, not for each tag."""
        self._closing = _CLOSING
        self._has_opened = False
        self._thoughts: list[str] = []
        self._text: list[str] = []
        self._passed: list[str] = []
        self._last_character = ""

    @property
    def thoughts(self) -> str:
        """The thoughts until now."""
        return "".join(self._thoughts).strip()

    @property
    def text(self) -> str:
        """The text until now."""
        return "".join(self._text)

    @property
    def is_thinking(self) -> bool:
        """Whether the last piece ended inside a thought."""
        return self._state == "thought"

    def expect_text(self) -> None:
        """Note that the thoughts come separately, so that the reply begins with its text."""
        if not self._has_opened and not self._thoughts:
            self.begins_inside = False
            if self._state == "thought":
                self._state = "start"

    def add(self, piece: str) -> str:
        """Add a piece of the reply, and return the text that is known since."""
        self._unread += piece
        return self._read(is_last=False)

    def finish(self, cut: bool = False) -> str:
        """End the reply, and return the rest of the text.

        Args:
            cut: whether the reply ended at max_tokens. A reply that may have begun inside a
                thought, and has no tag, is a thought if it was cut, and a text if it was not.
        """
        rest = self._read(is_last=True)
        is_text = self.is_thinking and not self._has_opened and not cut
        if not is_text:
            return rest
        text = "".join(self._thoughts)
        self._thoughts = []
        self._text = [text]
        return text

    def _read(self, is_last: bool) -> str:
        """Read as much as can be decided; all of it at the end."""
        self._passed = []
        while self._place < len(self._unread):
            before = (self._state, self._place)
            if self._state == "start":
                self._read_start(is_last)
            elif self._state == "thought":
                self._read_thought(is_last)
            else:
                self._read_text(is_last)
            if (self._state, self._place) == before:
                break
        self._unread = self._unread[self._place :]
        self._place = 0
        return "".join(self._passed)

    def _read_start(self, is_last: bool) -> None:
        """Read white space and an opening tag, at the beginning or after a thought."""
        start = self._find_start()
        opening = _OPENING.match(self._unread, start)
        if opening:
            self._closing = re.compile(re.escape(_PAIRS[opening[0].lower()]), re.IGNORECASE)
            self._has_opened = True
            self._place = opening.end()
            self._state = "thought"
            return
        rest = self._unread[start : start + _LONGEST_TAG].lower()
        may_open = any(tag.startswith(rest) for tag in _PAIRS)
        if may_open and not is_last and start - self._place < _LONGEST_SPACE:
            return
        is_first = not self._thoughts and not self._has_opened
        if self.begins_inside and is_first:
            self._state = "thought"
            return
        if not is_first:
            self._place = start
        self._state = "text"

    def _find_start(self) -> int:
        """Find where the white space ends."""
        space = _SPACE.match(self._unread, self._place)
        assert space is not None
        return space.end()

    def _read_thought(self, is_last: bool) -> None:
        """Read until the closing tag, or as far as none can begin."""
        closing = self._closing.search(self._unread, self._place)
        if closing is None:
            end = self._find_end(is_last)
            self._thoughts.append(self._unread[self._place : end])
            self._place = end
            return
        self._thoughts += [self._unread[self._place : closing.start()], "\n"]
        self._place = closing.end()
        if not self._has_opened:
            self.closed_unopened = True
        self._has_opened = True
        self._state = "start"

    def _read_text(self, is_last: bool) -> None:
        """Read until a closing tag, or as far as none can begin."""
        closing = _CLOSING.search(self._unread, self._place)
        if closing is None:
            self._pass_on(self._find_end(is_last))
            return
        if closing.end() == len(self._unread) and not is_last:
            self._pass_on(closing.start())  # the next character says whether it is quoted
            return
        if self._is_quoted(closing):
            self._pass_on(closing.end())
            return
        if self._has_opened:  # a closing tag too many
            self._pass_on(closing.start())
            self._place = closing.end()
            return
        self.closed_unopened = True
        self._has_opened = True
        self._thoughts += [*self._text, self._unread[self._place : closing.start()], "\n"]
        self._text = []
        self._passed = []
        self._place = closing.end()
        self._state = "start"

    def _is_quoted(self, tag: re.Match[str]) -> bool:
        is_first = tag.start() == self._place
        before = self._last_character if is_first else self._unread[tag.start() - 1]
        after = self._unread[tag.end() : tag.end() + 1]
        return bool(before and after) and before in _QUOTES and after in _QUOTES

    def _find_end(self, is_last: bool) -> int:
        """Find the end of the text in which no tag begins that may go on after it."""
        length = len(self._unread)
        if is_last:
            return length
        for place in range(max(self._place, length - _LONGEST_TAG + 1), length):
            rest = self._unread[place:].lower()
            if any(tag.startswith(rest) for tag in _PAIRS.values()):
                return place
        return length

    def _pass_on(self, end: int) -> None:
        """Make text of what is unread, up to a place."""
        text = self._unread[self._place : end]
        if not text:
            return
        self._place = end
        self._last_character = text[-1]
        self._text.append(text)
        self._passed.append(text)


def split_thoughts(
    reply: str, *, begins_inside: bool = False, cut: bool = False
) -> tuple[str, str]:
    """Split a whole reply into its thoughts and its text (see ThoughtSplitter).

    Example:
        >>> split_thoughts("Is it Laika?</think>A dog.")
        ('Is it Laika?', 'A dog.')
    """
    splitter = ThoughtSplitter(begins_inside)
    splitter.add(reply)
    splitter.finish(cut)
    return splitter.thoughts, splitter.text


def separate_thoughts(reply: Completion) -> Completion:
    """Separate the thoughts of a reply from its text, where they are in it.

    Replies that earlier versions have cached, and those of other plugins, may have them there.
    """
    has_tag = _CLOSING.search(reply.text) or _OPENING.search(reply.text)
    if reply.reasoning or not has_tag:
        return reply
    thoughts, text = split_thoughts(reply.text, cut=reply.finish_reason == "length")
    return replace(reply, text=text, reasoning=thoughts)
