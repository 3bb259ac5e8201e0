"""Windows: the sentences around the one that has most of a query's words."""

import pytest

from convrag.sdk.search.frequencies import DocumentFrequencies
from convrag.sdk.text.overlap import compute_share, find_shared_stems, weigh_query
from convrag.sdk.text.windows import (
    MOST_WORDS,
    Source,
    choose_windows,
    clean_quote,
    find_window,
    select_sentences,
)

KETTLE = "A kettle boils water. Steam lifts its lid. A valve closes it. Then it whistles."


def quote(query: str, text: str, title: str = "") -> str:
    window = find_window(Source(text, title), weigh_query(query, DocumentFrequencies()))
    return window.text if window else ""


def fill(words: int) -> str:
    return f"{' '.join(['Filling'] * words)}."


def test_a_window_is_extended_forward_first() -> None:
    text = " ".join([fill(20), "Before the valve.", "The valve closes.", fill(20), fill(30)])
    window = quote("When does the valve close?", text)
    assert window == f"Before the valve. The valve closes. {fill(20)}"
    assert quote("When does the valve close?", f"{fill(30)} {fill(20)} The valve closes.") == (
        f"{fill(20)} The valve closes."
    )


def test_a_window_has_at_most_45_words() -> None:
    long = f"The valve {fill(60)}"
    window = quote("Which valve?", f"{fill(30)} {long} {fill(30)}")
    assert window == f"{' '.join(long.split()[:MOST_WORDS])} …"
    text = " ".join([fill(9)] * 3 + ["A valve."] + [fill(9)] * 9)
    assert len(quote("Which valve?", text).split()) == 38 < MOST_WORDS == 45


def test_two_chinese_characters_are_a_word() -> None:
    text = f"水壶烧水{'蒸汽' * 50}。"
    assert quote("水壶", text) == f"水壶烧水{'蒸汽' * 43} …"
    found = select_sentences(Source("水壶烧开水。水壶。"), {"水壶": 1.0}, lead=False)
    assert [(each.start, each.end) for each in found] == [(0, 6)]


def test_code_that_is_cut_stays_code() -> None:
    window = quote("Which valve?", f"A valve:\n\n```\n{'open ' * 60}\n```\n")
    assert window == f"A valve: `{' '.join(['open'] * 43)}` …"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Some words.\n\nThere are two ways to descale:\n\n* with vinegar\n* with acid\n",
            "Some words. There are two ways to descale: with vinegar; with acid",
        ),
        (
            "Descale it so:\n\n```bash\nkettle --descale\nkettle --rinse  # items[0]\n```\n",
            "Descale it so: `kettle --descale` `kettle --rinse # items[0]`",
        ),
        (
            "How to descale:\n\n| what | how long |\n|---|---|\n| vinegar | 1 h |\n",
            "How to descale: what | how long | vinegar | 1 h |",
        ),
    ],
)
def test_a_sentence_comes_with_the_list_the_code_or_the_table_that_it_introduces(
    text: str, expected: str
) -> None:
    assert quote("How do I descale?", text) == expected


def test_headings_count_for_the_sentences_below_and_are_not_quoted() -> None:
    text = "## Kettles\n\nThey boil water.\n\n## Valves\n\nThey close by themselves."
    assert quote("valves", text) == "They close by themselves."
    assert quote("kettles", text) == "They boil water."
    assert quote("kettles", "Kettles\n\nThey boil water.", "Guide > Kettles") == "They boil water."
    assert quote("kettles", "# Kettles") == ""


def test_of_sentences_that_cover_as_much_with_the_heading_the_one_with_more_itself_is_best() -> (
    None
):
    text = f"It is far. {fill(45)} The distance varies. So does the distance."
    window = quote("distance of the moon", text, "Distance of the Moon")
    assert window == "The distance varies. So does the distance."
    assert quote("moon", f"It is far. {fill(45)}", "The Moon").startswith("It is far.")


def test_the_two_best_windows_are_of_different_passages_and_texts() -> None:
    weights = weigh_query("When does the kettle whistle?", DocumentFrequencies())
    sources = [
        Source("It is hot."),
        Source(KETTLE, "Whistling"),
        Source(KETTLE),
        Source("A kettle."),
    ]
    windows = choose_windows(sources, weights)
    assert [(window.source, window.text) for window in windows] == [
        (1, KETTLE),
        (3, "A kettle."),
    ]
    assert choose_windows([], weights) == []


def test_without_a_word_in_common_the_first_passage_is_quoted() -> None:
    sources = [Source("A cat sleeps."), Source("A dog barks.")]
    windows = choose_windows(sources, weigh_query("Who whistles?", DocumentFrequencies()))
    assert [window.text for window in windows] == ["A cat sleeps."]


def test_a_rare_word_weighs_more() -> None:
    frequencies = DocumentFrequencies({"kettl": 90, "valv": 2}, 100)
    weights = weigh_query("kettle valve zebra", frequencies)
    assert weights["zebra"] > weights["valv"] > weights["kettl"] > 0
    sources = [Source("A kettle here."), Source("A valve there.")]
    assert choose_windows(sources, weights)[0].text == "A valve there."


def test_parts_of_compounds_match() -> None:
    weights = dict.fromkeys(("urlaub", "mitarbeiterin"), 1.0)
    german = "Jede Mitarbeiterin hat dreißig Urlaubstage im Jahr und nicht mehr."
    assert "urlaub" in find_shared_stems(german, weights)
    assert compute_share("It is state-of-the-art.", {"art": 1.0}) == 1.0
    assert compute_share("An urlaubstage.", {"urlaub": 1.0}, "english") == 0.0
    assert compute_share("Anything.", {}) == 0.0


def test_a_piece_across_two_chinese_words_does_not_count() -> None:
    known = DocumentFrequencies({"绿茶": 3, "用八": 1}, 10)
    assert set(weigh_query("绿茶用", known)) == {"绿茶"}


def test_quotes_have_no_marks_and_no_citations_of_their_own() -> None:
    assert clean_quote("* Tea [3] is\n  hot.") == "Tea is hot."
    assert clean_quote("Type <name> or - to quit.") == "Type <name> or - to quit."


def test_nuggets_are_near_the_best_of_the_passage() -> None:
    weights = dict.fromkeys(("valv", "close", "kettl"), 1.0)
    text = "The kettle has a valve. The valve of the kettle may close. Nobody knows it."
    found = select_sentences(Source(text), weights, best=0.9, lead=False)
    assert [text[each.start : each.end] for each in found] == ["The valve of the kettle may close."]
    assert len(select_sentences(Source(text), weights, lead=False)) == 2
    assert select_sentences(Source("A cat sleeps here."), weights) == []
