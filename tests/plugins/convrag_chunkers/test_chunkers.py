"""Chunkers: documents become passages, whatever their script, structure and length."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from convrag import Chunker, ConfigError, Document, Passage
from convrag.sdk.types import Heading
from convrag.testing import ChunkerContract
from convrag_chunkers.section_chunker import SectionChunker
from convrag_chunkers.sentences import NoChunker, PageChunker, SentenceChunker
from convrag_chunkers.tokens import TokenChunker, count_tokens


class TestSectionChunkerContract(ChunkerContract):
    def make(self) -> SectionChunker:
        return SectionChunker()


class TestSentenceChunkerContract(ChunkerContract):
    def make(self) -> SentenceChunker:
        return SentenceChunker()


class TestTokenChunkerContract(ChunkerContract):
    def make(self) -> TokenChunker:
        return TokenChunker()


class TestPageChunkerContract(ChunkerContract):
    def make(self) -> PageChunker:
        return PageChunker()


class TestNoChunkerContract(ChunkerContract):
    def make(self) -> NoChunker:
        return NoChunker()


WORDS = st.sampled_from(
    [
        *(
            "a",
            "tea",
            "Kettle",
            "e.g.",
            "Dr.",
            "3.14",
            "end.",
            "Why?",
            "it!'",
            "U.S.",
            "internationalisation" * 9,
        ),
        *(
            "茶は八十度で入れる。",
            "員工有權",
            "「はい。」",
            "한국어",
            "ﷺ",
            "שלום",
            "مرحبا؟",
            "मैं हूँ।",
            "ไทย",
        ),
        *("👩‍👩‍👧", "🇩🇪🇫🇷", "e\u0301", "\u200d", "\ufeff", "a\u0300\u0301\u0302", "👍🏽"),
        *(
            "\n",
            "\n\n",
            "\r\n",
            " ",
            "\t",
            "\u3000",
            "\x0c",
            "\u2028",
            "\n- ",
            "\n1. ",
            "\n# ",
            "\n| a | b |",
        ),
        *("\n```\n", "\n    ", "***", "...", "====\n", "|", ">"),
    ]
)
TEXTS = st.lists(WORDS | st.text(max_size=12), max_size=60).map("".join) | st.text(max_size=300)


@st.composite
def documents(draw: Any) -> Document:
    text = draw(TEXTS)
    places = st.integers(0, max(0, len(text)))
    headings = sorted(
        draw(
            st.lists(
                st.tuples(places, st.integers(1, 6), st.sampled_from(["", "Tea", "茶"])), max_size=9
            )
        )
    )
    pages = sorted({0, *draw(st.lists(places, max_size=5))}) if draw(st.booleans()) else ()
    return Document(
        "tea/a.md", text, headings=tuple(Heading(*each) for each in headings), pages=tuple(pages)
    )


SIZES = st.integers(1, 30)


def list_limited(tokens: int, half: int) -> list[Chunker]:
    return [
        SectionChunker(tokens=tokens, smallest=half),
        SentenceChunker(tokens=tokens, overlap=half),
        TokenChunker(tokens=tokens, overlap=half),
        PageChunker(tokens=tokens),
    ]


@settings(max_examples=300)
@given(document=documents(), tokens=SIZES, share=st.floats(0, 0.5))
@example(document=Document("tea/a.md", "aaaKettlea\u0300\u0301\u0302"), tokens=2, share=0.5)
def test_all_of_any_document_is_in_passages_that_are_not_too_long(
    document: Document, tokens: int, share: float
) -> None:
    text = document.text
    for chunker in [*list_limited(tokens, int(tokens * share)), PageChunker(), NoChunker()]:
        passages = list(chunker.chunk(document))
        spans = [(passage.metadata["start"], passage.metadata["end"]) for passage in passages]
        covered = {place for start, end in spans for place in range(start, end)}
        assert all(place in covered or text[place].isspace() for place in range(len(text))), chunker
        assert [passage.text for passage in passages] == [text[start:end] for start, end in spans]
        assert [passage.text.strip() for passage in passages] == [
            passage.text for passage in passages
        ]
        assert all(
            one < other and one_end < other_end
            for (one, one_end), (other, other_end) in pairwise(spans)
        ), spans
        assert passages == list(chunker.chunk(document))
        if not isinstance(chunker, NoChunker) and getattr(chunker, "tokens", None):
            assert all(count_tokens(text, *span) <= tokens for span in spans), chunker


@settings(max_examples=200)
@given(document=documents(), tokens=SIZES, share=st.floats(0, 0.5))
def test_passages_share_no_more_than_the_overlap(
    document: Document, tokens: int, share: float
) -> None:
    overlap = int(tokens * share)
    for chunker in (
        SentenceChunker(tokens=tokens, overlap=overlap),
        TokenChunker(tokens=tokens, overlap=overlap),
    ):
        spans = [(each.metadata["start"], each.metadata["end"]) for each in chunker.chunk(document)]
        for (_, end), (start, _) in pairwise(spans):
            assert count_tokens(document.text, start, max(start, end)) <= overlap


@pytest.mark.parametrize(
    ("cls", "parameters", "message"),
    [
        (
            SectionChunker,
            {"smallest": 101},
            "chunker.smallest=101: from 0 to half of chunker.tokens=200",
        ),
        (
            SentenceChunker,
            {"overlap": -1},
            "chunker.overlap=-1: from 0 to half of chunker.tokens=200",
        ),
        (
            TokenChunker,
            {"tokens": 10, "overlap": 6},
            "chunker.overlap=6: from 0 to half of chunker.tokens=10",
        ),
    ],
)
def test_numbers_out_of_range(cls: type[Chunker], parameters: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}$"):
        cls(**parameters)


def test_other_numbers_follow_the_length_unless_they_are_given() -> None:
    assert [SectionChunker(tokens=tokens).smallest for tokens in (1, 50, 200)] == [0, 10, 40]
    assert [SentenceChunker(tokens=tokens).overlap for tokens in (1, 50, 200)] == [0, 6, 25]
    assert [TokenChunker(tokens=tokens).overlap for tokens in (1, 50, 200)] == [0, 6, 25]


def make_markdown(text: str) -> Document:
    headings, place = [], 0
    for line in text.splitlines(keepends=True):
        if line.startswith("#"):
            headings.append(Heading(place, len(line) - len(line.lstrip("#")), line.strip("# \n")))
        place += len(line)
    return Document("leave.md", text, headings=tuple(headings))


def titles(passages: Any) -> list[str]:
    return [passage.title for passage in passages]


LONG = "Everybody may take ten weeks of leave when a child is born, with full pay for all of them. "
TABLE = "| leave | weeks |\n| --- | --- |\n" + "".join(f"| kind {n} | {n} |\n" for n in range(12))
CODE = "```python\n" + "".join(f"leave = weeks[{n}]\n\n" for n in range(10)) + "```\n"


def test_a_section_is_a_passage_with_its_path_as_title() -> None:
    text = f"# Leave\n\n## Parental leave\n\n{LONG * 3}\n\n## Sick leave\n\n{LONG * 3}\n\n# Pay\n\n{LONG * 3}\n"
    passages = list(SectionChunker().chunk(make_markdown(text)))
    assert titles(passages) == ["Leave > Parental leave", "Leave > Sick leave", "Pay"]
    assert passages[0].text.startswith("# Leave\n\n## Parental leave\n\nEverybody")


def test_an_underlined_heading_without_text_belongs_to_its_first_subsection() -> None:
    text = f"Leave\r\n=====\r\n\r\n## Parental leave\n\n{LONG * 3}\n"
    headings = (Heading(0, 1, "Leave"), Heading(text.index("##"), 2, "Parental leave"))
    (passage,) = SectionChunker().chunk(Document("leave.md", text, headings=headings))
    assert passage.title == "Leave > Parental leave"


def test_short_sections_in_a_row_are_joined_under_their_common_heading() -> None:
    answers = "".join(
        f"## Question {n}?\n\nThe answer to this one is {n} weeks.\n\n" for n in range(6)
    )
    text = f"# Answers\n\n{answers}# Pay\n\nMonthly.\n\n## How?\n\n{LONG * 3}"
    joined = list(SectionChunker(smallest=40).chunk(make_markdown(text)))
    assert titles(joined) == ["Answers", "Answers", "Pay", "Pay > How?"]
    assert "Question 0" in joined[0].text
    assert "Question 5" in joined[1].text
    single = titles(SectionChunker(smallest=0).chunk(make_markdown(text)))
    assert single == [*(f"Answers > Question {n}?" for n in range(6)), "Pay", "Pay > How?"]


@pytest.mark.parametrize(
    "block", [TABLE, CODE, "".join(f"- item {n} of the list\n" for n in range(15))]
)
def test_what_fits_is_not_torn(block: str) -> None:
    text = f"# Leave\n\n{LONG * 8}\n\n{block}\n{LONG * 8}\n"
    passages: list[Passage] = list(SectionChunker().chunk(make_markdown(text)))
    assert sum(block.strip() in passage.text for passage in passages) == 1
    assert len(passages) > 2


def test_what_does_not_fit_is_cut_between_its_rows_and_lines() -> None:
    text = f"# Weeks\n\n{TABLE * 5}"
    for passage in SectionChunker().chunk(make_markdown(text)):
        assert all(
            line.startswith(("|", "#")) and line.endswith(("|", "Weeks"))
            for line in passage.text.split("\n")
            if line
        )
    code = f"# Code\n\n{CODE[:-4] * 4}```\n"
    for passage in SectionChunker(tokens=50, smallest=0).chunk(make_markdown(code)):
        assert passage.text.splitlines()[-1] in code.splitlines()


ROWS = [f"item: lamp {n}; note: It is new. Do not drop it. Ask {n}; price: {n}" for n in range(60)]
LINES = [f"at noon of day {n} there were {n} requests to answer" for n in range(80)]


@pytest.mark.parametrize("lines", [ROWS, LINES])
def test_rows_and_lines_are_not_torn(lines: list[str]) -> None:
    document = Document("items.csv", "\n".join(lines) + "\n")
    passages = list(SectionChunker().chunk(document))
    assert len(passages) > 3
    assert [line for passage in passages for line in passage.text.split("\n")] == lines


def test_a_sentence_that_is_too_long_is_cut_between_lines() -> None:
    passages = SentenceChunker(overlap=0).chunk(Document("day.log", "\n".join(LINES)))
    assert [line for passage in passages for line in passage.text.split("\n")] == LINES


def test_a_heading_is_not_left_alone() -> None:
    text = f"# Leave\n\n{LONG * 12}\n"
    passages = list(SectionChunker().chunk(make_markdown(text)))
    assert passages[0].text.startswith("# Leave\n\nEverybody")
    assert titles(passages) == ["Leave"] * len(passages)


def test_without_headings_passages_are_paragraphs() -> None:
    text = "\n\n".join([LONG * 5] * 4)
    assert [passage.text for passage in SectionChunker().chunk(Document("a.txt", text))] == [
        (LONG * 5).strip()
    ] * 4


def test_sentences_overlap_by_whole_ones() -> None:
    text = "".join(f"This is sentence number {n} of them. " for n in range(20))
    passages = list(SentenceChunker(tokens=40, overlap=10).chunk(Document("a.txt", text)))
    for one, other in pairwise(passages):
        shared = text[other.metadata["start"] : one.metadata["end"]]
        assert shared.startswith("This is")
        assert shared.endswith("them.")
        assert shared.count(".") == 1


def test_windows_are_cut_between_words() -> None:
    text = "Kettles whistle because steam escapes through openings. " * 40
    words = set(text.split())
    for passage in TokenChunker(tokens=20, overlap=7).chunk(Document("a.txt", text)):
        assert set(passage.text.split()) <= words


def test_characters_stay_whole_where_there_are_no_spaces() -> None:
    for sign in ("👩‍👩‍👧", "e\u0301\u0302", "👍🏽", "\u1112\u1161\u11ab"):
        for tokens in (17, 20, 23):
            for passage in TokenChunker(tokens=tokens, overlap=5).chunk(
                Document("a.txt", sign * 100)
            ):
                assert passage.text.replace(sign, "") == ""


def test_pages_are_passages() -> None:
    text = f"{LONG * 8}\nSecond page.\n \nFourth."
    pages = (0, text.index("Second"), text.index(" \nF"), text.index("Fourth"))
    document = Document("a.pdf", text, pages=pages)
    places = [passage.metadata["place"] for passage in PageChunker().chunk(document)]
    assert places == ["a.pdf, page 1", "a.pdf, page 2", "a.pdf, page 4"]
    cut = [passage.metadata["page"] for passage in PageChunker(tokens=100).chunk(document)]
    assert cut == [1, 1, 2, 4]
