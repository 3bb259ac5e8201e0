"""Known-item questions: rare words of one sentence, and a heading."""

import pytest

from convrag.sdk.data.known_items import find_known_item, find_known_stems, get_heading
from convrag.sdk.search.frequencies import DocumentFrequencies

TEXT = (
    "Leave is requested in Tempo two weeks ahead. "
    "What is left lapses in March without compensation. Leave is leave."
)


def test_the_rarest_words_of_one_sentence_are_asked_for_in_its_order() -> None:
    frequencies = DocumentFrequencies(
        {"leav": 9, "request": 9, "tempo": 9, "week": 9, "ahead": 9}
        | {"left": 6, "laps": 1, "march": 2, "compens": 1},
        9,
    )
    item = find_known_item(TEXT, frequencies)
    assert item is not None
    assert item.sentence == "What is left lapses in March without compensation."
    assert item.terms == ("lapses", "March", "compensation")
    assert item.ask("Annual  leave") == "Annual leave lapses March compensation"
    assert item.ask() == "lapses March compensation"


def test_words_that_were_asked_for_are_not_asked_for_again() -> None:
    everything = DocumentFrequencies()
    first = find_known_item(TEXT, everything)
    assert first is not None
    known = find_known_stems("Leave", first.ask())
    second = find_known_item(TEXT, everything, known)
    assert second is not None
    assert not set(second.terms) & {"Leave", *first.terms}


@pytest.mark.parametrize("text", ["", "Wait.", "The and of it.", "1 2 3 4 5", "| a | b |"])
def test_a_text_without_enough_words_gives_nothing(text: str) -> None:
    assert find_known_item(text, DocumentFrequencies()) is None


def test_any_language_is_asked_about() -> None:
    item = find_known_item(
        "Der Antrag wird schriftlich beim Werksarzt gestellt.", DocumentFrequencies()
    )
    assert item is not None
    assert item.ask() == "Antrag schriftlich Werksarzt"
    assert find_known_item("出差住宿费每晚不超过三百元。", DocumentFrequencies()) is not None


def test_the_heading_is_the_last_of_a_path() -> None:
    assert get_heading("Handbook > Rules > Leave") == "Leave"
    assert get_heading("") == ""
