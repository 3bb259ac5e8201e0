"""Words, stop words and stems of English texts."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from convrag.api.errors import UnknownName
from convrag.sdk.text.analysis import (
    GRAMMAR_WORDS,
    PLAIN,
    Analysis,
    find_content_words,
    find_stems,
    is_stop_word,
    split_words,
    stem_content_words,
    stem_words,
)


def test_content_words_keep_their_order_and_form() -> None:
    text = "What’s the Melting point of Ann’s tin, and don’t tell me 5?"
    assert [word.text for word in find_content_words(text)] == [
        "Melting",
        "point",
        "Ann's",
        "tin",
        "5",
    ]
    assert [word.stem for word in find_content_words(text)] == ["melt", "point", "ann", "tin", "5"]
    assert stem_content_words("A kettle, and kettles.") == ("kettl", "kettl")
    assert find_stems("A kettle, and kettles.") == {"kettl"}


def test_numbers_names_and_compounds_are_words() -> None:
    assert split_words("384,400 km, Jean-Paul’s 3.5 U.S. ends.") == (
        *["384,400", "km", "jean-paul's", "3.5", "u.s", "ends"],
    )


def test_scripts_without_spaces_have_a_word_for_each_two_characters() -> None:
    assert split_words("お茶は熱い") == ("お茶", "茶は", "は熱", "熱い")


def test_a_language_that_is_not_known_is_refused() -> None:
    assert Analysis.choose("auto", "german").languages == ("german",)
    with pytest.raises(UnknownName, match="language 'germn' does not exist. Did you mean 'german'"):
        Analysis.choose("auto", "germn")


def test_stop_words_are_of_grammar_and_of_chats() -> None:
    assert all(map(is_stop_word, ("The", "they’re", "it's", "question")))
    assert stem_content_words("The question of tea", GRAMMAR_WORDS) == ("question", "tea")


def test_words_of_grammar_are_those_of_bm25s() -> None:
    assert frozenset(pytest.importorskip("bm25s.stopwords").STOPWORDS_EN_PLUS) == GRAMMAR_WORDS


def test_inflected_forms_have_one_stem() -> None:
    assert stem_words(["whistle", "whistles", "whistling", "whistled"]) == ["whistl"] * 4
    assert stem_words(["boiling", "kettles", "boils"]) == ["boil", "kettl", "boil"]


def test_words_keep_their_order_and_number() -> None:
    assert stem_words([]) == []
    assert stem_words(("", "2026", "緑茶", "вода", "steel")) == [
        "",
        "2026",
        "緑茶",
        "вода",
        "steel",
    ]


def test_many_threads_at_once() -> None:
    words = [
        f"{word}{ending}" for word in ("boil", "whistl", "connect") for ending in ("ing", "ed", "s")
    ] * 200
    expected = stem_words(words)
    together = threading.Barrier(8)

    def stem(_: int) -> list[str]:
        together.wait(timeout=60)
        return stem_words(words)

    with ThreadPoolExecutor(8) as pool:
        assert all(stems == expected for stems in pool.map(stem, range(8)))


def test_parts_of_a_compound_weigh_half() -> None:
    analysis = Analysis("auto", ("english",))
    assert dict(analysis.weigh("How long is a valve-seat?")) == {
        "long": 1,
        "valve-seat": 1,
        "valv": 0.5,
        "seat": 0.5,
    }
    assert analysis.weigh("How far is the moon?") == [("far", 1), ("moon", 1)]
    assert PLAIN.weigh("How long is it?") == [("how", 1), ("long", 1)]
