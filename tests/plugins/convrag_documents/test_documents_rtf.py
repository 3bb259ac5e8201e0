"""RTF: notes, text boxes, headers, tables, lists, headings and the encodings of fonts."""

import time

import pytest

from convrag.api.documents import Document
from convrag_documents.find_files import FoundFile
from convrag_documents.readers import find_reader


def read(content: bytes) -> Document:
    reader = find_reader(FoundFile("a.rtf", "a.rtf"))
    assert reader is not None
    (document,) = reader.read(content)
    return document


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (rb"Mended{\super\chftn}{\footnote\pard {\super\chftn} By Ortega.} in May.", "Mended in May.\n\nBy Ortega."),
        (
            rb"A {\shp{\*\shpinst\shpleft10\shpz1{\sp{\sn a}{\sv b}}{\shptxt\pard One\par Two}}"
            rb"{\shprslt{\*\do{\dptxbxtext One}}}}after.",
            "A\n\nOne\n\nTwo\n\nafter.",
        ),
        (rb"{\*\do\dobxpage{\dptxbxtext Old box}}x", "Old box\n\nx"),
        (rb"{\header Head}{\headerf Head}{\footer Foot}Text.", "Head\n\nFoot\n\nText."),
        (rb"{\pntext\'b7\tab}one\par{\pntext\'b7\tab}two\par\pard End.", "- one\n- two\n\nEnd."),
        (rb"{\listtext 10.\tab}Terms\par", "10. Terms"),
        (rb"{\field{\*\fldinst HYPERLINK x}{\fldrslt link}}{\*\unknown no}{\v no}{\annotation no}", "link"),
        (rb"{\pict\bin5 }}{{ab}{\*\objdata 0105}{\info{\title no}}x\_y\~z", "x-y z"),
        (rb"{\*\moMath{\mf{\mnum{\mr 1}}{\mden{\mr 12}}}} 10{\super 6}", "1/12 10⁶"),
        (rb"\uc2\u8364 ab!\uc1\u-10179 ?\u-8704 ?{\upr{no}{\*\ud{yes}}}", "€!😀yes"),
        (rb"\{a\}\\ \ldblquote b\rdblquote\emdash c\line d", "{a}\\ “b”—c\nd"),
        (rb"cut {\b off", "cut off"),
        (rb"a\footnote b\par\footnote c} {\footnote\footnote d}", "ab\n\nc d"),  # damaged
    ],
)  # fmt: skip
def test_what_is_read(content: bytes, text: str) -> None:
    assert read(rb"{\rtf1\ansi " + content + b"}").text == text


def test_headings() -> None:
    styles = rb"{\stylesheet{\s0 Normal;}{\s1 heading 1;}{\s7\outlinelevel1 Meine;}}"
    body = rb"\pard\s1 Leave\par\pard\s0 Ten weeks.\par\pard\s7{\listtext 2.\tab}Sick\par\pard Tell.\par"
    document = read(rb"{\rtf1 " + styles + body + b"}")
    assert document.text == "Leave\n\nTen weeks.\n\n2. Sick\n\nTell."
    assert [(each.level, each.text) for each in document.headings] == [(1, "Leave"), (2, "2. Sick")]


def test_tables_are_rows_and_a_blank_paragraph_ends_one() -> None:
    row = rb"\trowd\pard\intbl %s\cell %s\par %s\cell\row"
    rows = row % (b"item", b"price", b"") + row % (b"desk", b"12", b"net")
    content = rows + rb"\pard\par " + row % (b"x", b"1", b"") + rb"\pard After.\par"
    assert read(rb"{\rtf1 " + content + b"}").text == "item: desk; price: 12 net\n\nx | 1\n\nAfter."


def test_a_note_in_a_table_follows_it() -> None:
    content = rb"\intbl 1\cell 2{\footnote Note.}\cell\row\pard After.\par"
    assert read(rb"{\rtf1 " + content + b"}").text == "1 | 2\n\nNote.\n\nAfter."


def test_letters_are_in_the_encoding_of_their_font() -> None:
    fonts = rb"{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset128 B;}{\f2\fcharset204 C;}}"
    text = read(rb"{\rtf1\ansi\ansicpg1250 \'b3 \f9\'b3}").text
    assert text == "ł ł"
    content = rb"\f1 \'93\'fa\'96\'7b\f2\'cf\'f0\u1080 ?\plain \'e9"
    assert read(rb"{\rtf1\ansi\ansicpg1252\deff0" + fonts + content + b"}").text == "日本Приé"


@pytest.mark.parametrize(
    "content",
    [
        b"{" * 300_000,
        rb"{\footnote " * 100_000,
        b"}" * 300_000,
        rb"{\shp{\*\shpinst{\shptxt x" * 50_000,
    ],
    ids=["groups", "notes", "ends", "boxes"],
)
def test_groups_that_nest_deep(content: bytes) -> None:
    start = time.process_time()
    read(rb"{\rtf1 x" + content)
    assert time.process_time() - start < 10
