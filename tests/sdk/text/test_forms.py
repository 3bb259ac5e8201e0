"""What a question asks for by its form, and what is quoted for it."""

import re
from pathlib import Path

import pytest

from convrag.sdk.text.analysis import PLAIN, Analysis
from convrag.sdk.text.forms import has_form, tell_definition, tell_form
from convrag.sdk.text.quoting import name_subject
from convrag.turn.pipeline import Pipeline

GUIDE = """# Kettle guide

No stove has a kettle. A second kettle: the red one. A kettle is a pot that boils water. Some kettles whistle.

## Lids

This part keeps the steam in. If they clean a lid, they mind it. Each lid is cleaned by hand.
Lids are cleaned after each use. To clean a lid, soak it in vinegar.

## Files

The settings file of the kettle may be edited by hand. The settings file is `~/.config/kettle.toml`.

## Pumps

A pump is a machine that moves water. The kettle has no pump. Its valve-seat is of brass.

* Step 1: Fill
* Step 2: it is primed."""


def test_a_question_tells_what_it_asks_for() -> None:
    forms = {
        "How old?": "number",
        "Where is the log?": "path",
        "How do I sew?": "procedure",
        "What is it for?": "",
    }
    forms |= dict.fromkeys(
        ["What is a lid?", "Was ist ein Topf?", "Tell me about tea", "Who was Laika?"], "definition"
    )
    assert {question: tell_form(question) for question in forms} == forms
    assert [has_form(each, "number") for each in ("They may decide.", "In May.", "Two.")] == [
        False,
        True,
        True,
    ]
    many = "How many keywords may a package have?"
    asked = [
        ("And categories?", many),
        ("What about Germany?", "When was it founded?"),
        ("And how many?", ""),
    ]
    other = [
        ("And why?", many),
        ("Categories?", many),
        ("And categories?", "Who chose?"),
        ("Who is the cook?", ""),
    ]
    assert [tell_form(*each) for each in asked] == ["number", "time", "number"]
    assert [tell_form(*each) for each in (*other, ("And a lid?", "What is a kettle?"))] == [
        *[""] * 4,
        "definition",
    ]


@pytest.mark.parametrize(
    ("questions", "answer"),
    [
        ("What is a kettle?", "A kettle is a pot that boils water. [1]"),
        ("What is a kettle? / And a pump?", "A pump is a machine that moves water. [1]"),
        ("When is a lid cleaned?", "Lids are cleaned after each use. [1]"),
        ("How do I clean a lid?", "To clean a lid, soak it in vinegar. [1]"),
        ("Where is the settings file?", "The settings file is `~/.config/kettle.toml`. [1]"),
        ("What keeps the steam in?", "Lids: This part keeps the steam in. [1]"),
        ("What happens in step 2?", "Step 1: it is primed. [1]"),  # with each digit as 1
        (
            "What is the wifi pump?",
            "I could not find this in the 1 passages.",
        ),  # of two words one is nowhere
    ],
)
@pytest.mark.parametrize("generator", ["ginger", "direct"])
def test_the_sentence_that_says_it_is_quoted(
    questions: str, answer: str, generator: str, tmp_path: Path
) -> None:
    (tmp_path / "guide.md").write_text(GUIDE)
    given = [
        "dataset=documents",
        f"dataset.path={tmp_path}",
        f"store.path={tmp_path}/store",
        "tracker=none",
    ]
    pipeline = Pipeline.compose(*given, f"generator={generator}")
    said = [pipeline.turn("c", question).answer.text for question in questions.split(" / ")][-1]
    assert re.sub(r"\d", "1", said.split(" I looked")[0]) == answer


def test_a_sentence_says_what_a_thing_is_or_does() -> None:
    whole = (
        "A kettle is a pot.",
        "kettle(1) - boil",
        "A kettle, a pot, is hot.",
        "Kettle: a pot",
        "This is a kettle.",
    )
    does = "The kettle boils water.", "The kettle command boils water.", "Kettles of iron last."
    other = (
        "Also, if a kettle is hot, wait.",
        "The kettle lid is red.",
        "kettle_name is a word.",
        "Is it?",
    )
    for said, value in ((whole, 1.0), (does, 0.75), (other, 0.5)):
        assert {
            each: tell_definition(each, {"kettl"}, "english") for each in said
        } == dict.fromkeys(said, value)


def test_what_a_pronoun_stands_for_is_named() -> None:
    assert (
        name_subject("It boils.", "Guide > 2.1. Kettles > Overview > Why?") == "Kettles: It boils."
    )
    assert (
        name_subject("It boils.", "Guide", "Kettles\n\n```\nlid\n\n```\n## Usage\n\n")
        == "Kettles: It boils."
    )
    assert name_subject("It is a kettle.", "Kettle") == "It is a kettle."
    assert name_subject("Tea is green.", "Tea") == "Tea is green."


def test_parts_of_a_compound_and_long_behind_how_weigh_half() -> None:
    analysis = Analysis("auto", ("english",))
    assert dict(analysis.weigh("How long is a valve-seat?")) == {
        "long": 0.5,
        "valve-seat": 1,
        "valv": 0.5,
        "seat": 0.5,
    }
    whole = analysis.weigh("a long seat") + PLAIN.weigh("How long is it?")
    assert whole == [("long", 1), ("seat", 1), ("how", 1), ("long", 1)]
