"""Two configurations side by side in the chat page."""

import pytest

from web.chat_page import ChatPage

pytestmark = pytest.mark.slow

PHASES = "Why does the Moon have phases?"


def wait_for_both(chat: ChatPage, turn: int = 1) -> None:
    chat.page.locator(".row").nth(turn - 1).wait_for()
    chat.last.locator(".answer .actions").get_by_role("button", name="Look inside").nth(
        1
    ).wait_for()


def begin(chat: ChatPage) -> None:
    chat.page.get_by_label("Compare with").select_option("plain")
    chat.send(PHASES)
    wait_for_both(chat)


def test_a_question_is_answered_in_two_configurations(chat: ChatPage):
    begin(chat)
    chat.send("How far is it from the Earth?")
    wait_for_both(chat, 2)
    gated, plain = chat.last.locator(".query-text").all_inner_texts()
    assert gated != plain == "How far is it from the Earth?"
    assert chat.last.get_by_role("heading", level=3).all_inner_texts() == ["gated", "plain"]
    left, right = chat.last.locator(".answer").all()
    assert left.bounding_box()["y"] == right.bounding_box()["y"]
    assert [len(chat.read_records(place)) for place in (0, 1)] == [2, 2]


def test_a_turn_that_only_one_of_two_keeps_has_nothing_beside_it(chat: ChatPage):
    begin(chat)
    chat.last.locator(".answer").nth(1).get_by_role("button", name="Edit the query").click()
    chat.page.get_by_label("Query to search for").fill("age of the Moon")
    chat.button("Search for this instead").click()
    chat.last.get_by_text("You chose this query.").wait_for(state="attached")
    wait_for_both(chat)
    assert [
        record["rewritten_query"] for place in (0, 1) for record in chat.read_records(place)
    ] == [
        PHASES,
        "age of the Moon",
    ]
    chat.call("POST", f"/api/conversations/{chat.ids[1]}/reset", {})
    chat.page.reload()
    chat.page.get_by_text("Not asked here").wait_for()
