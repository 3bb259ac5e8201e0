"""The text of a result's page, where it is fetched."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit

from convrag.sdk.text.encodings import decode_page
from convrag.sdk.text.html_bounds import check_bounds
from convrag.sdk.text.unreadable import Unreadable
from convrag_web_search.addresses import open_pool
from convrag_web_search.client import Failure, read_body
from convrag_web_search.engines import clean_text, urlsplit_safely
from convrag_web_search.robots import AGENT, Rule, allows, parse_rules

MAX_REDIRECTS = 3
_MOST_SITES = 1_000
"""The sites whose rules are kept in memory."""

_DAY = 24 * 60 * 60
"""Seconds in which a site's rules are read once; RFC 9309 allows a day."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TYPES = ("text/html", "application/xhtml+xml", "text/plain")
_HEADERS = {"user-agent": AGENT, "accept-encoding": "gzip"}
_CHARSET = re.compile(r"charset=[\"']?([\w.:-]+)", re.IGNORECASE)
"""The encoding in a header Content-Type."""

_LEFT_OUT = (
    "script, style, template, noscript, nav, header, footer, aside, form, button, select, svg, "
    "iframe, video, audio, canvas"
)
"""Elements without text of the page's own."""

_BLOCKS = "p, li, h1, h2, h3, h4, h5, h6, tr, div, section, article, pre, blockquote, dt, dd, br"

FORBIDDEN: tuple[Rule, ...] = (Rule("/", False),)
"""The rules of a site whose robots.txt cannot be read."""


@dataclass(frozen=True)
class WebPage:
    """A page, as plain data for the store.

    Args:
        text: of the page, a block a line; empty where it has none, or may not be fetched.
        title: of the page.
        problem: why there is no text; empty where there is one.
    """

    text: str
    title: str = ""
    problem: str = ""


class Fetched(NamedTuple):
    """A response: its status, its headers with names in any case, and its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class PageFetcher:
    """Fetches pages, as far as their sites' robots.txt allows it.

    Args:
        timeout: seconds for each request.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._find_rules = lru_cache(_MOST_SITES)(self._read_rules)

    def fetch(self, url: str) -> WebPage:
        """Fetch a page, and read its text.

        Raises:
            Failure: it may be there another time: the site does not answer, or is overloaded.
        """
        try:
            fetched = self._follow(url)
        except Failure as error:
            if error.may_pass:
                raise
            return WebPage("", problem=str(error))
        content_type = fetched.headers.get("content-type", "").lower()
        if not content_type.startswith(_TYPES):
            return WebPage("", problem=f"it is not a text: {content_type[:60]}")
        declared = _CHARSET.search(content_type)
        label = declared[1] if declared else ""
        try:
            if content_type.startswith("text/plain"):
                return WebPage(decode_page(fetched.body, label).strip())
            return read_html(fetched.body, label)
        except Unreadable as error:
            return WebPage("", problem=error.reason)

    def _follow(self, url: str) -> Fetched:
        """Fetch an address and those that it redirects to. Raises Failure."""
        for _ in range(MAX_REDIRECTS + 1):
            if urlsplit_safely(url) not in ("http", "https"):
                raise Failure("it redirects to something else than a page", 404)
            parts = urlsplit(url)
            site = f"{parts.scheme}://{parts.netloc}"
            rules = self._find_rules(site, int(time.time() // _DAY))
            if not allows(rules, _path(parts)):
                raise Failure("the site's robots.txt does not allow it", 403)
            fetched = self._get(parts, _path(parts))
            location = fetched.headers.get("location")
            if fetched.status not in _REDIRECTS or not location:
                if fetched.status != 200:
                    raise Failure(f"HTTP {fetched.status}", fetched.status)
                return fetched
            url = urljoin(url, location)
        raise Failure("it redirects too often", 404)

    def _read_rules(self, site: str, day: int) -> tuple[Rule, ...]:
        """Read a site's robots.txt: none allows all, an error of the site's forbids all.

        Args:
            site: its address, "https://example.org".
            day: the number of today; tomorrow the rules are read again.

        Raises:
            Failure: the site does not answer.
        """
        fetched = self._get(urlsplit(f"{site}/robots.txt"), "/robots.txt")
        if fetched.status == 200:
            return tuple(parse_rules(fetched.body.decode("utf-8-sig", errors="replace")))
        if fetched.status in (401, 403, 429) or fetched.status >= 500:
            return FORBIDDEN
        return ()

    def _get(self, parts: SplitResult, path: str) -> Fetched:
        """Send a request to the public address of a host. Raises Failure."""
        import urllib3

        host = parts.netloc.rpartition("@")[2]
        pool = open_pool(parts)
        try:
            response = pool.urlopen(
                "GET",
                path,
                headers={**_HEADERS, "host": host},
                retries=False,
                redirect=False,
                timeout=urllib3.Timeout(total=self.timeout),
                preload_content=False,
            )
            body = read_body(response, time.monotonic() + self.timeout)
        except urllib3.exceptions.HTTPError as error:
            raise Failure(f"{host} does not answer ({type(error).__name__})") from None
        finally:
            pool.close()
        return Fetched(response.status, response.headers, body)


def _path(parts: SplitResult) -> str:
    path = parts.path or "/"
    return f"{path}?{parts.query}" if parts.query else path


def read_html(content: bytes, label: str = "") -> WebPage:
    """Read a page's own text: without navigation, forms and scripts, a block a line.

    Args:
        content: the page.
        label: the encoding that its server declares; empty where it declares none.

    Raises:
        Unreadable: it is not text, or its parser would take very long for it.
    """
    check_bounds(content)
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(decode_page(content, label))
    title = tree.css_first("title")
    name = clean_text(title.text()) if title is not None else ""
    for node in tree.css(_LEFT_OUT):
        node.decompose()
    body = tree.css_first("main") or tree.css_first("article") or tree.body
    if body is None:
        return WebPage("", name, "it has no text")
    for node in body.css(_BLOCKS):
        node.insert_before("\n")
        node.insert_after("\n")
    lines = [" ".join(line.split()) for line in body.text().split("\n")]
    shown = "\n".join(line for line in lines if line)
    return WebPage(shown, name, "" if shown else "it has no text")
