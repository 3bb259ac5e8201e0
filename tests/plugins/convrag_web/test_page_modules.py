"""Modules of the chat page by themselves, in Chromium: events, pairs of turns, sources, citations,
Markdown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from web.browser import Server, open_page
from web.chat_page import ChatPage

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

READ_EVENTS = """async ([parts]) => {
    const { readEvents } = await import("/static/page/events.js");
    const body = new ReadableStream({
        start(controller) {
            for (const part of parts) controller.enqueue(new Uint8Array(part));
            controller.close();
        },
    });
    const events = [];
    for await (const event of readEvents(body)) events.push(event);
    return events;
}"""
MARK = """async ([text, spans]) => {
    const { renderMarkdown } = await import("/static/page/markdown.js");
    const { markSigned, signSpans } = await import("/static/page/unsupported.js");
    const fragment = renderMarkdown(signSpans(text, spans));
    markSigned(fragment);
    const element = document.createElement("div");
    element.append(fragment);
    return [[...element.querySelectorAll("mark")].map((mark) => mark.textContent), element.textContent];
}"""
RENDER = """async ([text, sources]) => {
    const { renderMarkdown } = await import("/static/page/markdown.js");
    const { linkCitations, cutUnfinishedCitation } = await import("/static/page/citations.js");
    const fragment = renderMarkdown(cutUnfinishedCitation(text));
    linkCitations(fragment, sources, () => {});
    const element = document.createElement("div");
    element.append(fragment);
    return element.innerHTML;
}"""


@pytest.fixture(scope="module")
def modules(browser: Browser, server: Server) -> Iterator[ChatPage]:
    """A page for tests that only call functions of modules."""
    with open_page(browser, server.address) as page:
        yield ChatPage(page)


def call(chat: ChatPage, module: str, function: str, *arguments: Any) -> Any:
    script = f"async (all) => (await import('/static/page/{module}')).{function}(...all)"
    return chat.page.evaluate(script, list(arguments))


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_events_are_read_however_they_are_cut(modules: ChatPage, size: int, end: str):
    lines = [
        ": ping",
        "",
        "event: piece",
        'data: {"text": "Mondphasen – Ägypten 🌒"}',
        "",
        "data: [1,",
        "data: 2]",
        "",
    ]
    stream = end.join([*lines, "event: half"]).encode()
    parts = [list(stream[place : place + size]) for place in range(0, len(stream), size)]
    assert modules.page.evaluate(READ_EVENTS, [parts]) == [
        {"event": "piece", "data": {"text": "Mondphasen – Ägypten 🌒"}},
        {"event": "message", "data": [1, 2]},
    ]


@pytest.mark.parametrize(
    ("left", "right", "pairs"),
    [
        ("", "", []),
        ("abc", "abc", [[0, 0], [1, 1], [2, 2]]),
        ("abc", "ac", [[0, 0], [1, None], [2, 1]]),
        ("ac", "abc", [[0, 0], [None, 1], [1, 2]]),
        ("", "ab", [[None, 0], [None, 1]]),
        ("ax", "ay", [[0, 0], [1, None], [None, 1]]),
        ("aab", "ab", [[0, 0], [1, None], [2, 1]]),
    ],
)
def test_turns_are_paired_by_their_questions(modules: ChatPage, left: str, right: str, pairs: list):
    turns = [[{"original_query": question} for question in side] for side in (left, right)]
    assert call(modules, "comparison.js", "pairTurns", *turns) == pairs


def test_sources_have_the_numbers_of_the_conversation(modules: ChatPage):
    moon = {"id": "moon", "title": "Moon", "text": "Grey.", "url": "", "score": 2.0}
    mars = {"id": "mars", "title": "Mars", "text": "Red.", "url": "", "score": 1.0}
    earlier = {
        "contexts": [moon],
        "evidence": [{"id": "moon", "number": 1, "hint": False}],
        "citations": ["moon"],
    }
    record = {
        "contexts": [mars],
        "evidence": [{"id": "mars", "number": 2, "hint": False, "shown": "Mars\nRed."}],
        "citations": ["moon"],
        "trace": {"generator": {"numbers": {"moon": 1, "mars": 2, "unknown": 3}}},
    }
    first, second = call(modules, "sources.js", "listSources", record, [earlier])
    assert (first["number"], first["id"], first["text"], first["cited"]) == (
        1,
        "moon",
        "Grey.",
        True,
    )
    assert (second["number"], second["id"], second["rank"], second["cited"]) == (
        2,
        "mars",
        1,
        False,
    )
    assert first["rank"] is None
    assert call(modules, "sources.js", "listSources", {}, []) == []


def test_citations_are_buttons_where_they_are_known_and_no_code(modules: ChatPage):
    sources = [{"number": number, "title": f"T{number}", "text": ""} for number in (1, 2)]
    html = modules.page.evaluate(
        RENDER, ["Round **it is** [1, 2]. Code `a[1]` [3] and [1", sources]
    )
    assert html.count("<button") == 2
    assert 'aria-label="Source 2: T2"' in html
    assert "<code>a[1]</code> [3] and</p>" in html


def test_markdown_has_no_html_and_no_images(modules: ChatPage):
    text = "# Title\n\n<i>raw</i> ![alt](https://a.example/x.png) <https://a.example/> [x](ftp://a.example) \u202etx.exe"
    html = modules.page.evaluate(RENDER, [text, []])
    assert html.startswith("<h3>Title</h3>")
    assert "&lt;i&gt;raw&lt;/i&gt; alt" in html
    assert '<a href="https://a.example/" target="_blank" rel="noopener noreferrer">' in html
    assert "ftp:" not in html
    assert "| 1 | 2 |<br>| 3 | 4 |" in modules.page.evaluate(
        RENDER, ["| 1 | 2 |\n| 3 | 4 |", []]
    )  # rows, no head
    assert "\u202e" not in html


def test_the_corpus_is_chosen_where_there_are_several(chat: ChatPage):
    models = [
        {"id": "one", "overrides": [], "domains": ["moon", "mars"], "llm": "x", "examples": []},
        {"id": "two", "overrides": [], "domains": ["mars", "venus"], "llm": "x", "examples": []},
    ]
    chat.page.route("**/api/models", lambda route: route.fulfill(json={"models": models}))
    begun: list[Any] = []
    chat.page.route(
        "**/api/conversations",
        lambda route: (
            (begun.append(route.request.post_data_json), route.fulfill(status=500, json={}))
            if route.request.method == "POST"
            else route.continue_()
        ),
    )
    chat.page.reload()
    corpus = chat.page.get_by_label("Corpus")
    assert corpus.locator("option").all_inner_texts() == ["moon", "mars"]
    corpus.select_option("mars")
    chat.send("Why?")
    chat.wait_for_notice("There is no answer.")
    assert begun == [{"model": "one", "domain": "mars"}]
    chat.page.get_by_role("link", name="New conversation").click()
    chat.page.reload()
    chat.page.get_by_label("Compare with").select_option("two")
    assert not corpus.is_visible()
    chat.send("Why?")
    chat.last.locator(".notice").nth(1).wait_for()
    assert begun[1:] == [{"model": "one", "domain": "mars"}, {"model": "two", "domain": "mars"}]


def test_what_the_generator_names_is_marked_and_shared_words_elsewhere(modules: ChatPage):
    text = "🙂 Tea is hot. Milk is cold."
    spans = [{"id": "tea", "start": 2, "end": 13}, {"id": "milk", "start": 0, "end": 1}]
    record = {"support": [{"start": 0, "end": 5, "spans": spans}]}
    found = call(
        modules, "../view/support.js", "findCitedSpans", record, "tea", text, ["Milk is cold."]
    )
    assert found == {"spans": [[3, 14]], "named": True}
    for silent in ({}, {"support": []}, {"support": [{"start": 0, "end": 5, "spans": spans[1:]}]}):
        found = call(
            modules, "../view/support.js", "findCitedSpans", silent, "tea", text, ["Milk is cold."]
        )
        assert found == {"spans": [[15, 28]], "named": False}


RENDER_DOCUMENT = """async ([shown]) => {
    const { renderDocumentText } = await import("/static/page/document_text.js");
    return renderDocumentText(shown).map((part) => `${part.tagName.toLowerCase()}: ${part.innerHTML}`);
}"""


def test_the_text_of_a_document_has_headings_pages_and_the_passage(modules: ChatPage):
    text = "🙂 Before\n# One\n\n<b>first</b> 👩‍👩‍👧\r\n\n### Deep\nsecond 🙂 mark\n\n## Two\n"
    found = [text.index(each) for each in ("# One", "### Deep", "## Two")]
    shown = {
        "text": text,
        "headings": [
            {"start": start, "level": level, "text": ""}
            for start, level in zip(found, (1, 3, 2), strict=True)
        ],
        "pages": [{"start": 0, "number": 4}, {"start": found[2], "number": 5}],
        "page_name": "slide",
        "passage": {"start": text.index("👩‍👩‍👧"), "end": text.index(" mark")},
    }
    assert modules.page.evaluate(RENDER_DOCUMENT, [shown]) == [
        "p: slide 4",
        "div: 🙂 Before",
        "h3: # One",
        'div: &lt;b&gt;first&lt;/b&gt; <mark class="cited">👩‍👩‍👧</mark>',
        'h4: <mark class="cited">### Deep</mark>',
        'div: <mark class="cited">second 🙂</mark> mark',
        "p: slide 5",
        "h4: ## Two",
    ]


def test_the_passage_of_a_long_document_is_found_behind_many_emoji(modules: ChatPage):
    text = "🙂" * 10_000 + "here" + "🙂" * 10_000
    shown = {
        "text": text,
        "headings": [],
        "pages": [],
        "page_name": "page",
        "passage": {"start": 10_000, "end": 10_004},
    }
    (part,) = modules.page.evaluate(RENDER_DOCUMENT, [shown])
    assert '<mark class="cited">here</mark>' in part
    bare = {
        **shown,
        "passage": None,
        "headings": [{"start": start, "level": 1, "text": ""} for start in (0, 0, 10_000)],
    }
    assert "mark" not in "".join(modules.page.evaluate(RENDER_DOCUMENT, [bare]))


def test_sentences_without_support_are_marked_across_markdown(modules: ChatPage):
    text = "\U0001f375 Fine.\n\n1. **Ale** is `beer`.\n2. Tea is hot."
    marks, shown = modules.page.evaluate(MARK, [text, [[9, 30]]])
    assert "".join(marks) == "Ale is beer."
    assert "Tea is hot." in shown
    assert not {"\ue000", "\ue001"} & set(shown)
