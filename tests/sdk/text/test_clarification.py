"""Questions back: what a question leaves open, the choices that passages offer, and what a reply
means.
"""

from convrag.api.conversations import Question, Turn
from convrag.api.passages import Passage
from convrag.sdk.text.analysis import find_stems
from convrag.sdk.text.clarification import (
    find_open_reference,
    format_question,
    list_choices,
    read_choices,
    read_reply,
    understand,
)

STORMS = ["Hurricane Katrina", "Hurricane Gloria", "Hurricane Isaac"]


def test_a_reference_that_nothing_before_names() -> None:
    known = find_stems("Why does a kettle whistle?")
    for question, noun in {
        "Did this animal live in Asia?": "animal",
        "What is the actor's approach to fitness?": "actor",
        "How did the fast food chain establish itself?": "fast food chain",
        "What is the moon?": "",  # asks for a definition
        "What is the role of tea?": "",  # says which
        "What are the symptoms?": "",  # those of what was said
        "Is the kettle loud?": "",  # was named before
        "Is that safe?": "",
        "I hope that tea helps": "",
        "Who won the World Cup in the world?": "",
    }.items():
        assert find_open_reference(question, known) == noun, question


def test_choices_are_the_documents_that_speak_of_it_or_the_titles_of_one() -> None:
    titled = [
        Passage(f"p{n}", "The storm came.", title)
        for n, title in enumerate(("Katrina", "Gloria", "Gloria"))
    ]
    assert list_choices([*titled, Passage("tea", "Tea is hot.", "Tea")], "great storm") == [
        "Katrina",
        "Gloria",
    ]
    sections = [
        Passage(
            f"s{n}", "The storm.", title, metadata={"document": "a.md", "place": f"a.md, {title!r}"}
        )
        for n, title in enumerate(("Katrina", "Gloria"))
    ]
    assert list_choices(sections) == ["Katrina", "Gloria"]
    assert read_choices(format_question("Which storm do you mean?", list_choices(sections))) == [
        "Katrina",
        "Gloria",
    ]


def test_what_is_no_question_back() -> None:
    assert read_choices("Which one do you mean?") == []
    for answer in (
        "",
        "It is hot.",
        "Hello! What would you like to know?",
        "Why? Steam.\n1. So.",
        "See [1]?",
    ):
        assert read_choices(answer) is None


def test_replies() -> None:
    for reply, said in {
        "2": "Hurricane Gloria",
        "the second one, please": "Hurricane Gloria",
        "1 and 3": "Hurricane Katrina, Hurricane Isaac",
        "I meant Gloria": "Hurricane Gloria",
        "Gloria, in New York": "Hurricane Gloria; Gloria, in New York",
        "both": ", ".join(STORMS),
        "No, just in general.": "",
        "I meant the tango.": "the tango",
        "9": None,
        "What about Wilma?": None,
        "Tell me about tea": None,
        "My mum loves a good old scented lotion with lavender, so make that": None,
    }.items():
        assert read_reply(reply, STORMS) == said, reply
    assert read_reply("Yes!", ["search neutrality"]) == "search neutrality"


def test_a_question_back_and_its_reply_are_one_turn() -> None:
    asked = Turn("c<::>1", "Was it evacuated?", format_question("Which storm?", STORMS))
    answered = Turn("c<::>2", "the second", "Yes. [1]")
    refused = Turn("c<::>3", "And Rome?", "I could not find this in the 3 files.")
    reply = understand(Question("2", history=(asked,)))
    assert (reply.text, reply.history) == ("Was it evacuated? (Hurricane Gloria)", ())
    thanked = Turn("c<::>4", "thanks", "You're welcome.")
    later = understand(Question("And when?", history=(asked, answered, refused, thanked)))
    assert later.text == "And when?"
    assert [(turn.id, turn.question, turn.answer) for turn in later.history] == [
        ("c<::>2", "Was it evacuated? (Hurricane Gloria)", "Yes. [1]"),
        ("c<::>3", "And Rome?", ""),
    ]
    other = understand(Question("How hot is green tea?", history=(asked,)))
    assert (other.text, other.history[0].answer) == ("How hot is green tea?", "")
