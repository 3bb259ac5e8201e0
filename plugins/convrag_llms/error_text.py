"""The text of a server's error, short enough for a message: an HTML page is reduced to what it says."""

from __future__ import annotations

import re
from html.parser import HTMLParser

MAX_LENGTH = 300
"""The most characters of a server's error that a message has."""

MAX_READ = 20_000
"""The most characters of an error that are looked at."""

_PAGE = re.compile(r"<(?:!doctype|html|head|body)\b", re.IGNORECASE)


def shorten_error(text: str) -> str:
    """An error on one line of at most `MAX_LENGTH` characters, an HTML page in it as its title and text."""
    text = text[:MAX_READ]
    if page := _PAGE.search(text):
        text = f"{text[: page.start()]}{read_page(text[page.start() :].rpartition('<')[0])}"  # it may end within a tag
    line = " ".join(text.split())
    return line if len(line) <= MAX_LENGTH else f"{line[:MAX_LENGTH].rstrip()} ..."


def read_page(page: str) -> str:
    """The words of an HTML page, its title first, without scripts and styles; the page may be cut off anywhere."""
    reader = _PageReader()
    reader.feed(page)
    reader.close()
    return " ".join(dict.fromkeys(reader.texts)) or "an HTML page without text"


class _PageReader(HTMLParser):
    """Collects the texts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._hidden = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in ("script", "style"):
            self._hidden = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._hidden:
            self._hidden = ""

    def handle_data(self, data: str) -> None:
        if (words := " ".join(data.split())) and not self._hidden:
            self.texts.append(words)
