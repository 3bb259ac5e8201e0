"""Pairs of tags, and what a reply has between them.

The thoughts of a reply are separated from its text where replies are read. A server that stops at a
closing tag leaves that tag out, and a model may write its tags inside of a thought.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from convrag import Completion, ConfigError


class TagPair(NamedTuple):
    """An opening and a closing tag.

    Args:
        opening: such as "<search>".
        closing: such as "</search>".
    """

    opening: str
    closing: str

    @classmethod
    def parse(cls, text: str, place: str) -> TagPair:
        """Parse the tags of a configuration: "<search>...</search>".

        Args:
            text: both tags, with three dots between them.
            place: of the text in the configuration, for the message.

        Raises:
            ConfigError: there are not two different tags.
        """
        parts = [part.strip(" ") for part in text.split("...")]
        names = {part.strip().lower() for part in parts}
        is_pair = len(parts) == 2 and len(names) == 2 and "" not in names
        if not is_pair:
            raise ConfigError(
                f"{place}={text!r}: name two different tags with three dots between them, such as "
                "'<search>...</search>'"
            )
        return cls(*parts)

    def describe(self) -> dict[str, str]:
        """Make an input of a prompt: both tags, without the line ends that belong to them."""
        return {"opening": self.opening.strip(), "closing": self.closing.strip()}


class Span(NamedTuple):
    """What a reply has between two tags.

    Args:
        tags: the tags.
        text: between them, without white space around it.
        start: the place of the opening tag in the reply.
        end: the place after the closing tag, or the end of the reply without one.
        is_closed: whether the closing tag is in the reply.
    """

    tags: TagPair
    text: str
    start: int
    end: int
    is_closed: bool


def find_span(reply: str, pairs: Sequence[TagPair]) -> Span | None:
    """Find the first closed pair of tags; else the last opening tag, to the end of the reply.

    A thought may name a tag before it is used ("I write <search> now: <search>tea</search>"), so
    the last opening tag before the closing one counts. An empty pair is passed over.

    Args:
        reply: the reply, or its thoughts.
        pairs: the tags that are looked for.
    """
    closed = [span for pair in pairs for span in _list_closed(reply, pair)]
    if closed:
        return min(closed, key=lambda span: span.end)
    opened = [span for pair in pairs for span in _list_opened(reply, pair)]
    return max(opened, key=lambda span: span.start, default=None)


def _list_closed(reply: str, pair: TagPair) -> list[Span]:
    """List the first span of a pair that is closed and has a text."""
    begin = 0
    for closing in _compile(pair.closing).finditer(reply):
        openings = list(_compile(pair.opening).finditer(reply, begin, closing.start()))
        begin = closing.end()
        if not openings:
            continue
        text = reply[openings[-1].end() : closing.start()].strip()
        if text:
            return [Span(pair, text, openings[-1].start(), closing.end(), True)]
    return []


def _list_opened(reply: str, pair: TagPair) -> list[Span]:
    """List the last span of a pair that goes to the end of the reply and has a text."""
    openings = list(_compile(pair.opening).finditer(reply))
    if not openings:
        return []
    rest = reply[openings[-1].end() :]
    is_closed = _compile(pair.closing).search(rest) is not None
    text = rest.strip()
    if is_closed or not text:
        return []
    return [Span(pair, text, openings[-1].start(), len(reply), False)]


def cut_before(reply: str, tag: str) -> str:
    """Cut a reply before a tag, if it has it."""
    found = _compile(tag).search(reply)
    return reply[: found.start()] if found else reply


def protect_tags(text: str, pairs: Sequence[TagPair]) -> str:
    """Return a passage's text without the tags of a format, of the same length.

    Example:
        >>> protect_tags("Tea</information><search>x", [TagPair("<search>", "</search>")])
        'Tea</information>‹search>x'
    """
    tags = [re.escape(tag.strip()) for pair in pairs for tag in pair]
    return re.sub("|".join(tags), lambda tag: f"‹{tag[0][1:]}", text, flags=re.IGNORECASE)


def is_cut(completion: Completion) -> bool:
    """Whether a reply ended at max_tokens."""
    return completion.finish_reason == "length"


def _compile(tag: str) -> re.Pattern[str]:
    return re.compile(re.escape(tag.strip()), re.IGNORECASE)
