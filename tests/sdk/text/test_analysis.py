"""Words, stop words and stems of English texts."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, strategies as st

from convrag.api.errors import UnknownName
from convrag.sdk.text.analysis import (
    GRAMMAR_WORDS,
    PLAIN,
    Analysis,
    count_words,
    find_content_words,
    find_stems,
    is_stop_word,
    split_words,
    stem_content_words,
    stem_words,
    take_words,
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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Donau\u00addampfer Fahr\u200bplan Auf\u200clage \ufeffNote",
            "donaudampfer fahrplan auflage note",
        ),
        ("של\u200eום w\u2060rite", "שלום write"),
        ("图\u200b书馆 葛\U000e0100城", "图书 书馆 葛城"),
        ("oﬃce ﬁle", "office file"),
        ("state‑of‑the‑art self‐made", "state-of-the-art self-made"),
        ("10⁶ mended¹ 10⁻⁶ 2½ m² H₂O log₁₀5", "10 6 mended 1 10 −6 2 1 2 m2 h2o log10 5"),
    ],
)
def test_a_word_is_one_word_whatever_is_not_seen_in_it(text: str, words: str) -> None:
    assert split_words(text) == tuple(words.replace("−", "").split())


def test_a_joiner_ends_a_part_of_a_persian_word() -> None:
    assert split_words("می\u200cخواهم") == ("می", "خواهم")


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("  \n", 0),
        ("How far is the Moon?", 5),
        ("a state-of-the-art F-16 - 3.5 %", 6),
        ("Wie weit ist es?", 4),
        ("달은 얼마나 멀어요?", 3),
        ("月亮有多远？", 3),
        ("是的。", 1),
        ("「月亮」绕着地球转。", 4),
        ("月は地球の周りを回る。", 5),
        ("AI是人工智能", 4),
        ("BERT 是什么", 3),
        ("ดวงจันทร์อยู่ไกลแค่ไหน", 6),
    ],
)
def test_words_are_counted_in_any_script(text: str, words: int) -> None:
    assert count_words(text) == words


@given(st.text(alphabet="ab ,.-\n月亮。「ไ달", max_size=30), st.integers(0, 9))
def test_first_words_are_a_beginning_with_so_many_words(text: str, most: int) -> None:
    beginning = take_words(text, most)
    assert text.startswith(beginning)
    assert count_words(beginning) == min(most, count_words(text))
    if count_words(text) <= most:
        assert beginning == text.rstrip()
