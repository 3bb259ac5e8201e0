"""The chat page in Chromium, with a server in a process of its own: a conversation from its first
question on.
"""

import re
from pathlib import Path
from urllib.error import HTTPError

import pytest
from playwright.sync_api import Route

from web.chat_page import ChatPage
from web.scripted_llm import HOSTILE, SUGGESTED

pytestmark = pytest.mark.slow

PHASES = "Why does the Moon have phases?"
DISTANCE = "How far is it from the Earth?"


def test_a_conversation_with_a_follow_up(chat: ChatPage):
    chat.ask(PHASES)
    assert chat.query == PHASES
    assert "The phases of the Moon are caused by its motion around the Earth." in chat.text
    chat.ask(DISTANCE, turn=2)
    assert "Moon" in chat.query
    assert chat.query != DISTANCE
    chat.last.get_by_text("Why this query?").click()
    why = chat.last.locator(".why-body").inner_text()
    assert (
        "The gate found that the question depends on the conversation (it has a pronoun, it is short)."
        in why
    )
    assert [record["original_query"] for record in chat.read_records()] == [PHASES, DISTANCE]
    assert chat.page.locator("nav [aria-current=page] .title").inner_text() == PHASES
    assert chat.page.get_by_role("heading", level=1).inner_text() == PHASES


def test_the_query_is_in_sight_before_the_answer_and_the_answer_grows(chat: ChatPage):
    chat.send("Does the Moon have air? Write slowly.")
    chat.last.locator(".query-text").wait_for()
    chat.last.locator(".text p").wait_for()
    assert chat.last.locator(".answer").get_attribute("aria-busy") == "true"
    first = chat.text
    chat.page.wait_for_timeout(1200)
    assert chat.text.startswith(first)
    assert len(chat.text) > len(first)
    assert chat.page.get_by_role("status").first.inner_text() == ""  # pieces are not read out
    chat.button("Stop").click()


def test_a_citation_opens_its_passage_with_the_cited_sentence_marked(chat: ChatPage):
    chat.ask(PHASES)
    citation = chat.last.get_by_role("button", name=re.compile("^Source 1: ")).first
    citation.click()
    assert chat.panel.get_by_role("heading").first.inner_text().startswith("1")
    assert chat.panel.locator("mark").all_inner_texts() == [
        "The phases of the Moon are caused by its motion around the Earth."
    ]
    assert chat.panel.get_by_role("button", name="Open the document").count() == 0, (
        "it was cut from none"
    )
    chat.page.keyboard.press("Escape")
    chat.panel.wait_for(state="hidden")
    assert citation.evaluate("button => button === document.activeElement")


def test_another_query_replaces_the_answer(chat: ChatPage):
    chat.ask(PHASES)
    before = chat.text
    chat.button("Edit the query").click()
    chat.page.get_by_label("Query to search for").fill("age of the Moon in years")
    chat.button("Search for this instead").click()
    chat.page.get_by_text("You chose this query.").wait_for(state="attached")
    chat.wait()
    assert chat.query == "age of the Moon in years"
    assert chat.text != before
    assert [record["rewritten_query"] for record in chat.read_records()] == [
        "age of the Moon in years"
    ]


def test_a_turn_that_is_stopped_is_not_kept_and_can_be_tried_again(chat: ChatPage):
    chat.send("Is there water on the Moon? Write slowly.")
    chat.last.locator(".text p").wait_for()
    chat.button("Stop").click()
    chat.wait_for_notice("Stopped. This turn is not kept.")
    assert chat.read_records() == []
    chat.button("Try again").click()
    chat.last.locator(".text p").wait_for()
    chat.page.keyboard.press("Escape")
    chat.wait_for_notice("Stopped.")
    chat.ask(PHASES, turn=2)
    assert [record["original_query"] for record in chat.read_records()] == [PHASES]
    assert chat.page.get_by_role("button", name="Try again").count() == 0


def test_regenerate_replaces_the_last_answer(chat: ChatPage):
    chat.ask(PHASES)
    chat.ask(DISTANCE, turn=2)
    assert chat.page.get_by_role("button", name="Regenerate").count() == 1
    chat.button("Regenerate").click()
    chat.last.locator(".text", has_text="Attempt 2.").wait_for()
    chat.wait(2)
    records = chat.read_records()
    assert len(records) == 2
    assert records[1]["agent_response"].startswith("Attempt 2.")


def test_a_reload_goes_on_where_one_was(chat: ChatPage):
    chat.ask(PHASES)
    chat.page.reload()
    chat.wait()
    assert "The phases of the Moon" in chat.text
    chat.ask(DISTANCE, turn=2)
    assert len(chat.read_records()) == 2


def test_turns_of_another_window_appear(chat: ChatPage):
    chat.ask(PHASES)
    asked = {"question": "What is a lunar eclipse?"}
    chat.call("POST", f"/api/conversations/{chat.ids[0]}/turns", asked)
    chat.send(DISTANCE)
    chat.page.locator(".row").nth(2).wait_for()
    chat.wait(3)
    questions = chat.page.locator(".question").all_inner_texts()
    assert [each.removeprefix("You asked:").strip() for each in questions] == [
        PHASES,
        asked["question"],
        DISTANCE,
    ]


def test_turns_of_another_window_are_seen_when_this_one_is_looked_at(chat: ChatPage):
    chat.ask(PHASES)
    chat.call(
        "POST", f"/api/conversations/{chat.ids[0]}/turns", {"question": "What is a lunar eclipse?"}
    )
    chat.page.evaluate("dispatchEvent(new Event('focus'))")
    chat.last.locator(".question", has_text="eclipse").wait_for()


@pytest.mark.parametrize("width", [1280, 390])
def test_an_answer_goes_on_after_a_reload_and_with_the_window_closed(
    chat: ChatPage, width: int, tmp_path: Path
):
    chat.page.set_viewport_size({"width": width, "height": 800})
    question = f"Does the Moon have air? And wait for {tmp_path / 'go'}"
    chat.send(question)
    chat.last.locator(".text p").wait_for()
    chat.page.reload()
    chat.last.locator(".text p").wait_for()
    assert chat.last.locator(".question").inner_text().endswith(question)
    assert chat.last.locator(".answer").get_attribute("aria-busy") == "true"
    assert chat.page.get_by_role("heading", level=1).inner_text() == question
    address, id = chat.page.url, chat.ids[0]
    chat.page.goto("about:blank")
    chat.page.goto(address)
    chat.button("Stop").wait_for()
    (tmp_path / "go").touch()
    chat.last.locator(".cited-sources").wait_for()
    (record,) = chat.call("GET", f"/api/conversations/{id}")["records"]
    assert record["agent_response"].startswith(chat.text.partition(".")[0])


def test_two_windows_show_the_same_turns_and_both_can_stop_them(chat: ChatPage, tmp_path: Path):
    chat.ask(PHASES)
    other = ChatPage(chat.page.context.new_page())
    other.page.goto(chat.page.url)
    other.wait()
    chat.send(f"Does the Moon have air? And wait for {tmp_path / 'ever'}")
    other.page.locator(".row").nth(1).wait_for()
    other.last.locator(".text p").wait_for()
    other.button("Stop").click()
    for each in (chat, other):
        each.wait_for_notice("Stopped. This turn is not kept.")
    other.ask("What is a lunar eclipse?", turn=3)
    chat.page.locator(".row").nth(1).locator(".question", has_text="eclipse").wait_for()
    chat.page.locator(".row").nth(1).locator(".cited-sources").wait_for()
    chat.button("Regenerate").click()
    chat.last.locator(".text", has_text="Attempt 2.").wait_for()
    other.last.locator(".text", has_text="Attempt 2.").wait_for()
    assert len(chat.read_records()) == 2


def test_a_conversation_about_other_documents_can_be_read_alone(chat: ChatPage):
    chat.ask(PHASES)

    def close(route: Route) -> None:
        reply = route.fetch()
        route.fulfill(response=reply, body=re.sub(r'"open":\s*true', '"open": false', reply.text()))

    chat.page.route("**/api/conversations**", close)
    chat.page.reload()
    chat.page.get_by_text("begun with other documents or settings").wait_for()
    assert not chat.input.is_visible()
    chat.page.locator("nav li .meta", has_text="other documents").first.wait_for()
    chat.page.get_by_role("link", name="New conversation").click()
    chat.input.wait_for()
    chat.page.unroute_all(behavior="ignoreErrors")  # the list may be on its way


def test_conversations_are_listed_opened_and_begun(chat: ChatPage):
    chat.ask(PHASES)
    first = chat.ids
    chat.page.get_by_role("link", name="New conversation").click()
    chat.welcome.wait_for()
    chat.ask("What is a lunar eclipse?")
    assert chat.ids != first
    chat.page.locator("nav li a", has_text=PHASES).first.click()
    chat.last.locator(".question", has_text=PHASES).wait_for()
    assert chat.ids == first
    chat.page.go_back()
    chat.last.locator(".question", has_text="eclipse").wait_for()


def test_a_conversation_that_no_configuration_goes_on_with_is_listed_without_a_name(chat: ChatPage):
    def take_model_out(route):
        reply = route.fetch()
        body = reply.json()
        for each in body.get("conversations", [body]):
            each["model"] = ""
        route.fulfill(response=reply, json=body)

    chat.ask(PHASES)
    chat.page.route(re.compile(r"/api/conversations(/[^/]+)?(\?.*)?$"), take_model_out)
    chat.page.reload()
    chat.wait()
    assert chat.page.locator("nav [aria-current=page] .meta").inner_text().startswith("1 turn · ")
    assert chat.page.locator("header .meta").inner_text() == ""
    chat.choose_action("Compare configurations")
    chat.welcome.wait_for()
    chosen = [
        chat.page.get_by_label(label).input_value() for label in ("Configuration", "Compare with")
    ]
    assert chosen == ["gated", "plain"]


def test_a_conversation_is_deleted_after_a_question(chat: ChatPage):
    chat.ask(PHASES)
    [deleted] = chat.ids
    chat.choose_action("Delete conversation")
    chat.button("Cancel").click()
    assert len(chat.read_records()) == 1
    chat.choose_action("Delete conversation")
    chat.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    chat.welcome.wait_for()
    with pytest.raises(HTTPError, match="404"):
        chat.call("GET", f"/api/conversations/{deleted}")
    chat.page.locator(f"nav a[href$='{deleted}']").wait_for(state="detached")


def test_suggestions_are_asked(chat: ChatPage):
    chat.ask(PHASES)
    buttons = chat.last.locator(".suggestions button")
    buttons.first.wait_for()
    assert tuple(buttons.all_inner_texts()) == SUGGESTED
    buttons.first.click()
    chat.wait(2)
    assert chat.last.locator(".question").inner_text().endswith(SUGGESTED[0])


def test_a_turn_can_be_looked_into(chat: ChatPage):
    chat.ask(PHASES)
    chat.button("Look inside").click()
    inside = chat.page.get_by_role("dialog", name="Inside this turn")
    inside.get_by_role("heading", name="Passages").wait_for()
    assert "moon-phases-1" in inside.text_content()
    chat.page.keyboard.press("Escape")
    inside.wait_for(state="hidden")


def test_thoughts_are_folded_above_the_answer(chat: ChatPage):
    chat.ask("Does the Moon think?")
    thoughts = chat.last.locator("details.thoughts")
    assert thoughts.get_by_text("Thoughts").is_visible()
    assert not thoughts.get_by_text("Is it the Moon?").is_visible()
    thoughts.locator("summary").click()
    assert thoughts.get_by_text("Is it the Moon?").is_visible()
    assert HOSTILE in thoughts.inner_text()
    assert chat.page.evaluate("window.hurt") is None
    assert "Is it the Moon?" not in chat.text
    (record,) = chat.read_records()
    assert record["trace"]["generator"]["reasoning"].startswith("Is it the Moon?")
    assert "Is it the Moon?" not in record["agent_response"]


NOTICES = """async () => {
    const { AnswerView } = await import("/static/page/answer.js");
    const view = new AnswerView({ records: [] }, "Why?", { place: 0, onChange: () => {} });
    view.startOver();
    view.handle("stage", { stage: "context", record: { evidence: [{}, {}] } });
    view.write("Is it Hull?");
    view.handle("notice", { text: "The model thinks", restarts: true });
    const waiting = view.status.element.textContent;
    view.write("Hull.");
    return [waiting, view.written, view.status.element.textContent];
}"""


def test_a_notice_says_what_is_waited_for_and_may_restart_the_answer(chat: ChatPage):
    writing = "Writing an answer from 2 passages …"
    assert chat.page.evaluate(NOTICES) == ["The model thinks …", "Hull.", writing]


COUNTED = """async (record) => {
    const { renderThoughts } = await import("/static/page/thoughts.js");
    return renderThoughts(record).map((part) => part.textContent);
}"""


def test_thoughts_of_several_stages_are_counted(chat: ChatPage):
    thoughts = {"rewriter": {"reasoning": "Hm."}, "generator": {"reasoning": "Well."}}
    usage = {"rewriter": {"reasoning_tokens": 2}, "generator": {"reasoning_tokens": 3}}
    record = {"trace": thoughts, "usage": usage}
    assert chat.page.evaluate(COUNTED, record) == ["Thought for 5 tokensrewriterHm.generatorWell."]
    assert chat.page.evaluate(COUNTED, {"trace": {"generator": {}}}) == []
