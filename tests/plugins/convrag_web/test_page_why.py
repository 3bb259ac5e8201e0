"""Why a query was searched for, as the chat page tells it: the references that were linked to what
was said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from web.browser import Server, open_page
from web.scripted_llm import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

EXPLAIN = """async ([record, earlier]) => {
    const { explainQuery } = await import("/static/page/why_query.js");
    const body = document.createElement("div");
    body.className = "why-body";
    body.append(...explainQuery(record, earlier));
    document.querySelector("main").append(body);
    return [...body.querySelectorAll("li")].map((row) => [...row.children].map((part) => part.textContent));
}"""


@pytest.fixture(scope="module")
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """A page for tests that only call functions of modules."""
    with open_page(browser, server.address) as page:
        yield page


def make_link(**fields: Any) -> dict[str, Any]:
    link = {
        "kind": "reference",
        "phrase": "it",
        "antecedent": "the Moon",
        "turn": "c<::>1",
        "rule": "language model",
    }
    return link | fields


def explain(page: Page, trace: dict[str, Any]) -> list[list[str]]:
    """The rows of an explanation of a second turn: note and text of each."""
    record = {"original_query": "How old is it?", "rewritten_query": "How old is the Moon?"}
    rows: list[list[str]] = page.evaluate(
        EXPLAIN, [record | {"trace": {"rewriter": trace}}, [{"turn_id": "c<::>1", "turn": 1}]]
    )
    return rows


def test_a_reference_is_shown_with_what_it_was_linked_to(page: Page) -> None:
    assert explain(page, {"links": [make_link()]}) == [
        ["turn 1", "“it” is “the Moon” (reference: language model)"]
    ]


def test_carried_passages_have_their_turn_and_their_rank(page: Page) -> None:
    carried = [
        {"id": "a", "name": "tea.md, 'Green tea'", "turn": "c<::>1", "number": 1, "score": 0.5},
        {"id": "b", "name": HOSTILE, "turn": "c<::>2", "number": 2, "score": 0.1},
        None,
    ]
    record = {
        "original_query": "why?",
        "contexts": [{"id": "x"}, {"id": "a"}],
        "trace": {"retriever": {"carried": carried}},
    }
    assert page.evaluate(EXPLAIN, [record, []]) == [
        ["turn 1, rank 2", "tea.md, 'Green tea'"],
        ["turn 2, not among the best", HOSTILE],
    ]
    assert page.evaluate("() => window.hurt") is None


def test_hostile_links_are_text_and_odd_ones_are_left_out(page: Page) -> None:
    hostile = make_link(
        phrase=HOSTILE, antecedent=HOSTILE, turn=HOSTILE, kind=HOSTILE, rule=HOSTILE
    )
    [[turn, text]] = explain(page, {"links": [hostile, None, "it", 3, {}, {"antecedent": 1}]})
    assert turn == f"turn {HOSTILE}"
    assert text.count("<img") == 4
    page.wait_for_timeout(200)
    assert page.evaluate("() => window.hurt") is None
    assert explain(page, {"links": "it"}) == explain(page, {"links": {"a": 1}, "of": "mmr"}) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_queries_are_readable_beside_long_notes(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    sources = ["a rewriter with a name", "another of the rewriters", "the third of all rewriters"]
    queries = [
        {"text": text, "weight": 0.25, "search": "dense", "source": source}
        for text in (
            "How far away is the Moon from the Earth, in miles?",
            "Who was there first, and when was that?",
        )
        for source in sources
    ]
    page.evaluate(EXPLAIN, [{"queries": queries}, []])
    texts = page.locator(".why-body").last.locator("li > span:last-child")
    assert texts.count() == 2
    assert all((text.bounding_box() or {"width": 0})["width"] > 200 for text in texts.all())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
