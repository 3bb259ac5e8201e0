"""The requests and replies of each engine: SearXNG, Brave and Tavily."""

from __future__ import annotations

import html
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal
from urllib.parse import urlencode, urlsplit

from convrag_web_search.client import Request, SearchFailed

Freshness = Literal["any", "day", "week", "month", "year"]

LONGEST_QUERY = 400
"""Characters of a query that Brave and Tavily take; a longer one is cut at a word."""

_MARKUP = re.compile(r"<[^<>]{1,200}>")
_ALL_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class WebResult:
    """A result of an engine, as plain data for the store.

    Args:
        url: of the page.
        title: of the page, as a text.
        texts: what the engine shows of it: a snippet, and more where it gives more.
        published: the date, in the engine's form; empty where it gives none.
    """

    url: str
    title: str
    texts: tuple[str, ...]
    published: str = ""


@dataclass(frozen=True)
class Engine(ABC):
    """An engine's protocol.

    Args:
        address: of the server, without a slash at the end.
        language: of the results, as the engine names it; empty for its default.
        freshness: how old results may be.
        key: the key; it is in no message and no fingerprint.
    """

    name: ClassVar[str]
    default_address: ClassVar[str] = ""
    address_variable: ClassVar[str] = ""
    key_variable: ClassVar[str] = ""
    most_results: ClassVar[int] = 20
    """Results that the engine gives to one request."""

    address: str
    language: str = ""
    freshness: Freshness = "any"
    key: str = field(default="", repr=False)

    @abstractmethod
    def make_request(self, query: str, count: int) -> Request:
        """Make the request for a query."""

    @abstractmethod
    def list_rows(self, data: Mapping[str, Any]) -> Any:
        """Return the list of results of a reply."""

    @abstractmethod
    def list_texts(self, row: Mapping[str, Any]) -> Sequence[Any]:
        """List the texts of a result."""

    def read(self, content: bytes, count: int) -> list[WebResult]:
        """Read the results of a reply. Raises SearchFailed where it is no reply of this engine."""
        try:
            data = json.loads(content)
        except (ValueError, RecursionError):
            start = content[:80].decode(errors="replace")
            raise SearchFailed(f"what {self.name} sent is not JSON: {start!r}") from None
        rows = self.list_rows(data) if isinstance(data, dict) else None
        if not isinstance(rows, list):
            raise SearchFailed(f"what {self.name} sent has no list of results")
        results = [self._read_row(row) for row in rows if isinstance(row, dict)]
        found = {result.url: result for result in reversed(results) if result is not None}
        ordered = [result for result in results if result and found[result.url] is result]
        return ordered[:count]

    def explain(self, status: int) -> str:
        """Say what to do about an HTTP status; empty where nothing is known."""
        if status in (401, 403) and self.key_variable:
            return f"See that {self.key_variable} is a valid key of {self.name}."
        return ""

    def _read_row(self, row: Mapping[str, Any]) -> WebResult | None:
        """Read a result; None for one without an address on the web, or without a text."""
        url = row.get("url")
        if not isinstance(url, str) or urlsplit_safely(url) not in ("http", "https"):
            return None
        title = clean_text(row.get("title"))
        texts = [clean_text(text) for text in self.list_texts(row)]
        shown = tuple(dict.fromkeys(text for text in texts if text)) or (title,)
        if not shown[0]:
            return None
        return WebResult(url, title, shown, clean_text(self._find_date(row)))

    def _find_date(self, row: Mapping[str, Any]) -> Any:
        for name in ("publishedDate", "page_age", "published_date"):
            if row.get(name):
                return row[name]
        return ""


class SearXNG(Engine):
    """SearXNG's search API, with format=json (https://docs.searxng.org/dev/search_api.html)."""

    name = "SearXNG"
    address_variable = "SEARXNG_URL"

    def make_request(self, query: str, count: int) -> Request:
        parameters = {"q": query, "format": "json"}
        if self.language:
            parameters["language"] = self.language
        if self.freshness != "any":
            parameters["time_range"] = self.freshness
        return Request("GET", f"{self.address}/search?{urlencode(parameters)}")

    def list_rows(self, data: Mapping[str, Any]) -> Any:
        return data.get("results")

    def list_texts(self, row: Mapping[str, Any]) -> Sequence[Any]:
        return [row.get("content")]

    def explain(self, status: int) -> str:
        if status == 403:
            return "Its settings.yml must allow JSON: search.formats: [html, json]."
        if status == 429:
            return "Its limiter is on: allow this address, or turn it off (server.limiter)."
        return ""


class Brave(Engine):
    """Brave's web search (https://api-dashboard.search.brave.com/app/documentation)."""

    name = "Brave"
    default_address = "https://api.search.brave.com/res/v1"
    key_variable = "BRAVE_API_KEY"
    _ages: ClassVar[Mapping[str, str]] = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}

    def make_request(self, query: str, count: int) -> Request:
        parameters: dict[str, Any] = {"q": query, "count": count, "text_decorations": "false"}
        if self.language:
            parameters["search_lang"] = self.language
        if self.freshness != "any":
            parameters["freshness"] = self._ages[self.freshness]
        url = f"{self.address}/web/search?{urlencode(parameters)}"
        headers = {"accept": "application/json", "x-subscription-token": self.key}
        return Request("GET", url, headers)

    def list_rows(self, data: Mapping[str, Any]) -> Any:
        web = data.get("web")
        if web is None and data.get("type") == "search":
            return []
        return web.get("results") if isinstance(web, dict) else None

    def list_texts(self, row: Mapping[str, Any]) -> Sequence[Any]:
        more = row.get("extra_snippets")
        return [row.get("description"), *(more if isinstance(more, list) else [])]


class Tavily(Engine):
    """Tavily's search (https://docs.tavily.com/documentation/api-reference/endpoint/search)."""

    name = "Tavily"
    default_address = "https://api.tavily.com"
    key_variable = "TAVILY_API_KEY"

    def make_request(self, query: str, count: int) -> Request:
        body: dict[str, Any] = {"query": query, "max_results": count, "search_depth": "basic"}
        if self.freshness != "any":
            body["time_range"] = self.freshness
        headers = {"content-type": "application/json", "authorization": f"Bearer {self.key}"}
        return Request("POST", f"{self.address}/search", headers, json.dumps(body).encode())

    def list_rows(self, data: Mapping[str, Any]) -> Any:
        return data.get("results")

    def list_texts(self, row: Mapping[str, Any]) -> Sequence[Any]:
        return [row.get("content")]

    def explain(self, status: int) -> str:
        if status in (432, 433):
            return "The plan's limit of requests is reached: see the account at Tavily."
        return super().explain(status)


ENGINES: Mapping[str, type[Engine]] = {"searxng": SearXNG, "brave": Brave, "tavily": Tavily}


def find_address(engine: type[Engine], given: str | None) -> str:
    """Find an engine's address: the given one, the variable's, or its default; may be empty."""
    variable = engine.address_variable
    from_environment = os.environ.get(variable, "") if variable else ""
    address = given or from_environment or engine.default_address
    return address.strip().rstrip("/")


def list_missing(engine: type[Engine], address: str) -> Iterator[str]:
    """Yield what a search needs and has not: an address, or a key."""
    if not address:
        yield (
            f"{{place}}: where does {engine.name} run? Set {engine.address_variable}, or "
            "{place}.api_base=http://localhost:8888"
        )
    elif urlsplit_safely(address) not in ("http", "https"):
        yield f"{{place}}.api_base={address!r} is no address such as http://localhost:8888"
    if engine.key_variable and not os.environ.get(engine.key_variable):
        yield f"{{place}}: {engine.name} needs a key: set {engine.key_variable}"


def shorten_query(query: str) -> str:
    """Cut a query at a word, where it is longer than engines take."""
    text = " ".join(query.split())
    if len(text) <= LONGEST_QUERY:
        return text
    cut = text[: LONGEST_QUERY + 1].rpartition(" ")[0]
    return cut or text[:LONGEST_QUERY]


def clean_text(value: Any) -> str:
    """Return a text of an engine without markup, entities and white space; "" for no text."""
    if not isinstance(value, str):
        return ""
    plain = html.unescape(_MARKUP.sub("", value))
    return _ALL_SPACE.sub(" ", plain.replace("\0", "")).strip()


def urlsplit_safely(url: str) -> str:
    """Return the scheme of an address that names a host; empty for any other text."""
    try:
        parts = urlsplit(url)
        return parts.scheme.lower() if parts.hostname else ""
    except ValueError:
        return ""
