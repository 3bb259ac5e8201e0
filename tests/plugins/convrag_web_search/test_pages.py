"""Pages of results: their text, robots.txt, and addresses that are not public."""

import socket
import time
from pathlib import Path
from typing import Any

import pytest

from convrag import Query, Store
from convrag.store.remember import remember
from convrag_chunkers.sentences import SentenceChunker
from convrag_retrieval.rankers import BM25Ranker
from convrag_web_search import addresses
from convrag_web_search.addresses import PrivateAddress, is_public, resolve_public
from convrag_web_search.client import Failure
from convrag_web_search.pages import PageFetcher, WebPage, read_html
from convrag_web_search.retriever import WebRetriever
from convrag_web_search.robots import allows, parse_rules
from web_server import Reply, WebServer

HTML = {"Content-Type": "text/html; charset=utf-8"}
PAGE = """<!doctype html><html><head><title>All of tea</title><style>p {}</style></head><body>
<nav>Home | Shop</nav><main><h1>Tea</h1>
<p>Green tea is brewed at <b>eighty</b> degrees.</p>
<p>A kettle whistles because of steam.</p><p>Copper conducts heat well.</p>
<script>alert(1)</script></main><footer>Imprint</footer></body></html>"""


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the names under .example stand for this machine, as if it were public."""

    def resolve(host: str, port: int) -> str:
        if not host.endswith(".example"):
            raise PrivateAddress(host)
        return "127.0.0.1"

    monkeypatch.setattr(addresses, "resolve_public", resolve)


def fetch(web: WebServer, path: str = "/tea") -> WebPage:
    return PageFetcher(5.0).fetch(f"http://tea.example:{web.port}{path}")


@pytest.mark.usefixtures("public")
def test_a_page_is_its_own_text_without_navigation_and_scripts(web: WebServer) -> None:
    web.plan("/tea", Reply(PAGE, headers=HTML))
    page = fetch(web)
    assert page == WebPage(
        "Tea\nGreen tea is brewed at eighty degrees.\nA kettle whistles because of steam.\n"
        "Copper conducts heat well.",
        "All of tea",
    )
    assert [seen.path for seen in web.seen] == ["/robots.txt", "/tea"]
    assert {seen.headers["host"] for seen in web.seen} == {f"tea.example:{web.port}"}
    assert {seen.headers["user-agent"] for seen in web.seen} == {"convrag"}


@pytest.mark.usefixtures("public")
@pytest.mark.parametrize(
    ("robots", "is_fetched"),
    [
        (Reply("User-agent: *\nDisallow: /tea"), False),
        (Reply("User-agent: *\nDisallow: /coffee"), True),
        (Reply("User-agent: convrag\nDisallow: /\n\nUser-agent: *\nAllow: /"), False),
        (Reply("gone", 404), True),
        (Reply("broken", 500), False),
        (Reply("no", 403), False),
    ],
)
def test_robots_txt_decides(web: WebServer, robots: Reply, is_fetched: bool) -> None:
    web.plan("/robots.txt", robots)
    web.plan("/tea", Reply(PAGE, headers=HTML))
    page = fetch(web)
    assert bool(page.text) == is_fetched
    assert ("/tea" in [seen.path for seen in web.seen]) == is_fetched
    if not is_fetched:
        assert page.problem == "the site's robots.txt does not allow it"


@pytest.mark.parametrize(
    ("robots", "path", "expected"),
    [
        ("", "/a", True),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: *\nAllow: /\nDisallow: /private", "/private/x", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf?z", True),
        ("User-agent: *\nDisallow: /caf%C3%A9", "/café", False),
        ("User-agent: *\nDisallow: /a*b$", "/ab", False),
        ("User-agent: *\nDisallow: /ab*b$", "/ab", True),
        ("User-agent: *\nDisallow: /a*b*", "/axxbyy", False),
        ("User-agent: *\nDisallow: /a$", "/ab", True),
        ("user-agent: a\nuser-agent: CONVRAG # both\ndisallow: /", "/x", False),
        ("User-agent: other\nDisallow: /", "/x", True),
        ("Disallow: /", "/x", True),
    ],
)
def test_rules_are_read_as_the_standard_says(robots: str, path: str, expected: bool) -> None:
    assert allows(parse_rules(robots), path) is expected


def test_a_rule_of_many_stars_takes_a_time_in_proportion() -> None:
    rules = parse_rules("User-agent: *\nDisallow: /" + "a*" * 200 + "b")
    start = time.process_time()
    assert allows(rules, "/" + "a" * 2_000)
    assert time.process_time() - start < 1


@pytest.mark.usefixtures("public")
def test_a_page_that_its_parser_would_take_very_long_for_has_a_reason(web: WebServer) -> None:
    web.plan("/tea", Reply("<p>Tea." + "<b>" * 200_000, headers=HTML))
    start = time.process_time()
    assert "nested" in fetch(web).problem
    assert time.process_time() - start < 10


@pytest.mark.usefixtures("public")
def test_a_redirect_is_followed_to_allowed_and_public_places_alone(web: WebServer) -> None:
    site = f"http://tea.example:{web.port}"
    web.plan("/tea", Reply(PAGE, headers=HTML))
    web.plan("/old", Reply("", 301, {"Location": "/tea"}))
    web.plan("/inside", Reply("", 302, {"Location": f"http://127.0.0.1:{web.port}/secret"}))
    web.plan("/file", Reply("", 302, {"Location": "file:///etc/passwd"}))
    web.plan("/round", Reply("", 302, {"Location": f"{site}/round"}))
    assert fetch(web, "/old").title == "All of tea"
    assert "127.0.0.1 is not a public address" in fetch(web, "/inside").problem
    assert "something else than a page" in fetch(web, "/file").problem
    assert "redirects too often" in fetch(web, "/round").problem
    assert "/secret" not in [seen.path for seen in web.seen]


@pytest.mark.usefixtures("public")
def test_what_is_no_text_has_a_reason(web: WebServer) -> None:
    web.plan("/pdf", Reply(b"%PDF", headers={"Content-Type": "application/pdf"}))
    web.plan("/empty", Reply("<html></html>", headers=HTML))
    web.plan("/plain", Reply(" Tea. ", headers={"Content-Type": "text/plain"}))
    assert fetch(web, "/pdf").problem == "it is not a text: application/pdf"
    assert fetch(web, "/empty").problem == "it has no text"
    assert fetch(web, "/plain").text == "Tea."
    assert fetch(web, "/missing").problem == "HTTP 404"
    web.plan("/busy", Reply("later", 503))
    with pytest.raises(Failure, match="503"):
        fetch(web, "/busy")


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"),
        *("100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1%eth0", "fd00::1"),
        *("::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1", "not an address"),
    ],
)
def test_private_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


def test_public_addresses_are() -> None:
    assert is_public("93.184.216.34")
    assert is_public("2606:2800:220:1:248:1893:25c8:1946")


@pytest.mark.parametrize(
    "found", [["10.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::ffff:192.168.0.1"]]
)
def test_a_name_that_stands_for_a_private_address_is_refused(
    found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(*args: Any, **parameters: Any) -> list[Any]:
        return [(0, 0, 0, "", (address, 80)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", find)
    with pytest.raises(PrivateAddress, match=r"tea\.example is not a public address"):
        resolve_public("tea.example", 80)


def test_a_page_on_this_machine_is_not_fetched(web: WebServer) -> None:
    for host in ("localhost", "127.0.0.1", "[::1]"):
        page = PageFetcher(5.0).fetch(f"http://{host}:{web.port}/tea")
        assert "is not a public address" in page.problem
    assert not web.seen


@pytest.mark.usefixtures("public")
@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        ("thé".encode("latin-1"), "text/html; charset=ISO-8859-1", "thé"),
        ("<meta charset='cp1251'>чай".encode("cp1251"), "text/html", "чай"),
        ("茶".encode(), "text/html", "茶"),
        ("茶".encode(), "text/html; charset=no-such", "茶"),
    ],
)
def test_the_encoding_is_the_one_that_is_named(
    web: WebServer, body: bytes, content_type: str, expected: str
) -> None:
    web.plan("/tea", Reply(body, headers={"Content-Type": content_type}))
    assert fetch(web).text == expected


def test_a_page_without_a_main_part_is_its_body() -> None:
    assert read_html(b"<p>One<br>two</p><table><tr><td>3</td></tr></table>").text == "One\ntwo\n3"


@pytest.mark.usefixtures("public")
def test_the_best_passages_of_a_page_take_the_place_of_its_snippet(
    web: WebServer, tmp_path: Path
) -> None:
    site = f"http://tea.example:{web.port}"
    rows = [
        {"url": f"{site}/tea", "title": "Tea", "content": "a snippet"},
        {"url": f"{site}/missing", "title": "Gone", "content": "a kettle that is gone"},
    ]
    web.plan("/search", Reply({"results": rows}))
    web.plan("/tea", Reply(PAGE, headers=HTML))
    retriever = WebRetriever(
        api_base=web.address,
        pages=True,
        page_passages=1,
        chunker=SentenceChunker(tokens=12, overlap=0),
        ranker=BM25Ranker(),
    )
    retriever.fingerprint = "web"
    remember(retriever, Store(tmp_path / "store"))
    first = retriever.retrieve([Query("why does a kettle whistle with steam")], 5)
    assert "kettle whistles because of steam" in first[0].passage.text
    assert first[0].passage.url == f"{site}/tea"
    assert first[0].passage.document == f"{site}/tea"
    assert first[1].passage.text == "a kettle that is gone"
    asked = len(web.seen)
    assert retriever.retrieve([Query("why does a kettle whistle with steam")], 5) == first
    assert len(web.seen) == asked
