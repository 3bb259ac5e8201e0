"""`retriever=web`: each engine's protocol, as its documentation has it, on a scripted server."""

import json
from pathlib import Path
from typing import Any

import pytest

from convrag import ConfigError, Query, Store
from convrag.store.remember import remember
from convrag.testing import RetrieverContract, passages
from convrag_web_search.client import FIRST_WAIT, SearchFailed
from convrag_web_search.retriever import WebRetriever
from web_server import Reply, WebServer

KEY = "tvly-abcdef-0123456789"

SEARXNG = {
    "query": "kettle",
    "number_of_results": 2,
    "results": [
        {
            "url": "https://tea.example/kettles",
            "title": "Kettles &amp; tea",
            "content": "A kettle <b>whistles</b> because of steam.",
            "engine": "duckduckgo",
            "score": 2.0,
            "publishedDate": "2025-03-01T00:00:00",
        },
        {"url": "https://tea.example/kettles", "title": "again", "content": "twice"},
        {"url": "https://copper.example/", "title": "Copper", "content": ""},
        {"url": "javascript:alert(1)", "title": "no page", "content": "x"},
        {"title": "without an address", "content": "x"},
        "no result",
    ],
    "answers": [],
    "infoboxes": [],
    "suggestions": [],
    "unresponsive_engines": [],
}
BRAVE = {
    "type": "search",
    "query": {"original": "kettle"},
    "web": {
        "type": "search",
        "results": [
            {
                "title": "Kettles",
                "url": "https://tea.example/kettles",
                "description": "A <strong>kettle</strong> whistles.",
                "page_age": "2025-03-01T00:00:00",
                "extra_snippets": ["Steam leaves its lid.", "A kettle whistles."],
            }
        ],
    },
}
TAVILY = {
    "query": "kettle",
    "answer": None,
    "images": [],
    "results": [
        {
            "title": "Kettles",
            "url": "https://tea.example/kettles",
            "content": "A kettle whistles because of steam.",
            "score": 0.81,
            "raw_content": None,
        }
    ],
    "response_time": 1.2,
}
PATHS = {"searxng": "/search", "brave": "/web/search", "tavily": "/search"}
BODIES: dict[str, dict[str, Any]] = {"searxng": SEARXNG, "brave": BRAVE, "tavily": TAVILY}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEARXNG_URL", raising=False)
    monkeypatch.setenv("BRAVE_API_KEY", KEY)
    monkeypatch.setenv("TAVILY_API_KEY", KEY)


def make(web: WebServer, engine: Any = "searxng", **parameters: Any) -> WebRetriever:
    web.replies.setdefault(PATHS[engine], [Reply(BODIES[engine])])
    given: dict[str, Any] = {"api_base": web.address, "chunker": None, "ranker": None, "retries": 1}
    given |= parameters
    return WebRetriever(engine=engine, **given)


class TestContract(RetrieverContract):
    """The engine finds the passages of the contract, whatever is asked."""

    network = True

    @pytest.fixture(autouse=True)
    def _web(self, web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SEARXNG_URL", web.address)
        rows = [
            {"url": f"https://tea.example/{each.id}", "title": each.title, "content": each.text}
            for each in passages()
        ]
        web.plan("/search", Reply({"results": rows}))

    def make(self) -> WebRetriever:
        return WebRetriever(chunker=None, ranker=None)  # type: ignore[arg-type]


def test_searxng_is_asked_for_json_and_its_results_become_passages(web: WebServer) -> None:
    retriever = make(web, language="de", freshness="month")
    first, second = retriever.retrieve([Query("kettle & tea")], 5)
    assert web.seen[0].parameters == {
        "q": "kettle & tea",
        "format": "json",
        "language": "de",
        "time_range": "month",
    }
    assert first.passage.title == "Kettles & tea"
    assert first.passage.text == "A kettle whistles because of steam."
    assert first.passage.url == "https://tea.example/kettles"
    assert first.passage.metadata == {"source": "SearXNG", "published": "2025-03-01T00:00:00"}
    assert second.passage.text == "Copper"
    assert first.score > second.score


def test_brave_gets_the_key_in_its_header_and_gives_more_snippets(web: WebServer) -> None:
    retriever = make(web, "brave", results=7, freshness="week", language="en")
    (hit,) = retriever.retrieve([Query("kettle")], 5)
    seen = web.seen[0]
    assert seen.headers["x-subscription-token"] == KEY
    assert seen.parameters == {
        "q": "kettle",
        "count": "7",
        "text_decorations": "false",
        "search_lang": "en",
        "freshness": "pw",
    }
    assert hit.passage.text == "A kettle whistles.\nSteam leaves its lid."
    assert retriever.retrieve([Query("kettle")], 0) == []


def test_brave_without_results_of_the_web_finds_nothing(web: WebServer) -> None:
    web.plan("/web/search", Reply({"type": "search", "query": {"original": "x"}}))
    assert make(web, "brave").retrieve([Query("kettle")], 5) == []


def test_tavily_gets_a_post_with_a_bearer(web: WebServer) -> None:
    (hit,) = make(web, "tavily", results=3, freshness="day").retrieve([Query("kettle")], 5)
    seen = web.seen[0]
    assert (seen.method, seen.headers["authorization"]) == ("POST", f"Bearer {KEY}")
    assert json.loads(seen.body) == {
        "query": "kettle",
        "max_results": 3,
        "search_depth": "basic",
        "time_range": "day",
    }
    assert hit.passage.text == "A kettle whistles because of steam."


def test_the_heaviest_queries_are_searched_for_and_fused(web: WebServer) -> None:
    queries = [
        Query("light", 0.1),
        Query("heavy", 1.0),
        Query("vectors", 5.0, search="dense"),
        Query("middle", 0.5),
        Query("middle", 0.1),
        Query("?!", 9.0),
    ]
    hits = make(web, queries=2).retrieve(queries, 5)
    assert sorted(seen.parameters["q"] for seen in web.seen) == ["heavy", "middle"]
    assert hits[0].score == pytest.approx((1.0 + 0.6) / 61)


def test_a_long_query_is_cut_at_a_word(web: WebServer) -> None:
    make(web).retrieve([Query("kettle " * 100), Query("x" * 500, 0.5)], 5)
    lengths = sorted(len(seen.parameters["q"]) for seen in web.seen)
    assert lengths == [len(("kettle " * 57).strip()), 400]


@pytest.mark.parametrize("engine", PATHS)
def test_an_error_is_said_with_advice_and_without_the_key(web: WebServer, engine: str) -> None:
    status = 403 if engine == "searxng" else 401
    message = f"the key {KEY} is not valid"
    web.plan(PATHS[engine], Reply({"error": {"detail": message}}, status))
    with pytest.raises(SearchFailed) as raised:
        make(web, engine).retrieve([Query("kettle")], 5)
    assert f"HTTP {status}" in str(raised.value)
    assert KEY not in str(raised.value)
    assert raised.value.__context__ is None
    advice = {
        "searxng": "search.formats: [html, json]",
        "brave": "See that BRAVE_API_KEY is a valid key of Brave",
        "tavily": "See that TAVILY_API_KEY is a valid key of Tavily",
    }
    assert advice[engine] in str(raised.value)
    assert len(web.seen) == 1


def test_tavilys_limits_are_named(web: WebServer) -> None:
    web.plan("/search", Reply({"detail": {"error": "This request exceeds your plan"}}, 432))
    with pytest.raises(SearchFailed, match=r"exceeds your plan\. The plan's limit of requests"):
        make(web, "tavily").retrieve([Query("kettle")], 5)


@pytest.mark.parametrize("headers", [{"Retry-After": "0"}, {"X-RateLimit-Reset": "0, 1419704"}])
def test_an_overloaded_engine_is_asked_again_when_it_wants(
    web: WebServer, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("convrag_web_search.client.sleep", waits.append)
    web.plan("/web/search", Reply({"type": "ErrorResponse"}, 429, headers), Reply(BRAVE))
    assert make(web, "brave").retrieve([Query("kettle")], 5)
    assert len(web.seen) == 2
    assert max(waits) < FIRST_WAIT


def test_an_engine_that_asks_for_a_longer_wait_fails_at_once(web: WebServer) -> None:
    web.plan("/search", Reply("busy", 503, {"Retry-After": "3600"}))
    with pytest.raises(SearchFailed, match="HTTP 503: busy"):
        make(web).retrieve([Query("kettle")], 5)
    assert len(web.seen) == 1


def test_a_redirect_takes_no_key_elsewhere(web: WebServer) -> None:
    web.plan("/web/search", Reply("", 302, {"Location": f"{web.address}/thief"}))
    with pytest.raises(SearchFailed, match="HTTP 302"):
        make(web, "brave").retrieve([Query("kettle")], 5)
    assert [seen.path for seen in web.seen] == ["/web/search"]


@pytest.mark.parametrize("body", ["<html>no JSON</html>", "[]", '{"results": 3}', "[" * 100_000])
def test_what_is_no_reply_of_the_engine_is_said(web: WebServer, body: str) -> None:
    web.plan("/search", Reply(body))
    with pytest.raises(SearchFailed, match=r"is not JSON|has no list of results"):
        make(web).retrieve([Query("kettle")], 5)


def test_a_server_that_is_not_there_is_named(web: WebServer) -> None:
    with pytest.raises(SearchFailed, match=r"SearXNG at http://127\.0\.0\.1:1 found nothing"):
        make(web, api_base="http://127.0.0.1:1", retries=0).retrieve([Query("kettle")], 5)


def test_the_store_answers_a_repeated_run(web: WebServer, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    found = []
    for _ in range(2):
        retriever = make(web)
        retriever.fingerprint = "the same"
        remember(retriever, store)
        found.append(retriever.retrieve([Query("kettle")], 5))
    assert found[0] == found[1]
    assert len(web.seen) == 1
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in content for content in files)


def test_what_is_missing_is_said_before_the_first_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BRAVE_API_KEY", "TAVILY_API_KEY"):
        monkeypatch.delenv(name)

    def check(**parameters: Any) -> list[str]:
        return list(WebRetriever(chunker=None, ranker=None, **parameters).check())  # type: ignore[arg-type]

    assert "Set SEARXNG_URL" in check()[0]
    assert "is no address" in check(api_base="localhost:8888")[0]
    assert "set BRAVE_API_KEY" in check(engine="brave")[0]
    assert "set TAVILY_API_KEY" in check(engine="tavily")[0]
    monkeypatch.setenv("SEARXNG_URL", "http://user:secret@search.example:8888/")
    searxng = WebRetriever(chunker=None, ranker=None)  # type: ignore[arg-type]
    assert not list(searxng.check())
    assert searxng.endpoints() == ["http://search.example:8888"]


def test_tavily_has_no_language() -> None:
    with pytest.raises(ConfigError, match=r"retriever\.language='de': Tavily has no such"):
        WebRetriever(engine="tavily", language="de", chunker=None, ranker=None)  # type: ignore[arg-type]


def test_requests_keep_their_distance(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("convrag_web_search.client.sleep", waits.append)
    make(web, interval=5.0).retrieve([Query("kettle"), Query("tea"), Query("steam")], 5)
    assert [round(wait) for wait in sorted(waits)] == [0, 5, 10]
