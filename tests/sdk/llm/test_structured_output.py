import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, RootModel

from convrag import LLMError, Message, Prompt
from convrag.sdk.llm.structured_output import UnreadableReply, ask_json, make_schema, read_json
from toys import Says


class Nuggets(BaseModel):
    nuggets: list[str]
    complete: bool = False


class Lenient(BaseModel):
    topic: str = "none"


READABLE = [
    '{"nuggets": ["a", "b"]}',
    '```json\n{"nuggets": ["a", "b"]}\n```',
    '```\n{"nuggets": ["a", "b"]}',
    'Sure! Here is the JSON:\n\n{"nuggets": ["a", "b"]}\n\nLet me know if you need more.',
    '{"nuggets": ["a", "b",],}',
    "{'nuggets': ['a', 'b']}",
    "{nuggets: ['a', 'b'], complete: False}",
    '{"nuggets": ["a", "b"]',
    '{"nuggets": ["a", "b"], // two of them\n "complete": false}',
    'As [1] and {this} say: {"nuggets": ["a", "b"]} [2]',
    'A draft: {"nuggets": []}. Better: {"nuggets": ["a", "b"]}',
    'The form is {"nuggets": ["..."]}:\n```json\n{"nuggets": ["a", "b",]}\n```\nDone.'.replace(
        '["..."]', "..."
    ),
    'see [1 and then {"nuggets": ["a", "b"]}',
    '<think>a list {"nuggets": ...}</think>{"nuggets": ["a", "b"]}',
    '{"nuggets": ["a" "b"], "complete": false}',
]


@pytest.mark.parametrize("reply", READABLE)
def test_json_as_models_write_it(reply: str) -> None:
    assert read_json(reply, Nuggets) == Nuggets(nuggets=["a", "b"])


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        ("", "there is no JSON in it"),
        ("I cannot do that.", "there is no JSON in it"),
        ('{"other": 1}', "nuggets: Field required"),
        ('{"nuggets": "a"}', "nuggets: Input should be a valid list"),
        ("[1, 2]", "the whole: Input should be a valid dictionary"),
    ],
)
def test_what_cannot_be_read(reply: str, complaint: str) -> None:
    with pytest.raises(UnreadableReply, match=complaint) as raised:
        read_json(reply, Nuggets)
    assert raised.value.text == reply
    assert isinstance(raised.value, LLMError), (
        "a stage that falls back for an LLMError falls back for this"
    )


def test_values_that_stand_in_a_broken_one_do_not_stand_for_it() -> None:
    assert read_json('{"topic": "tea", "more": {"topic": "cups"},}', Lenient).topic == "tea"


def test_quotes_and_brackets_in_strings() -> None:
    assert read_json('{"nuggets": ["a [1] } b", "it\'s"]}', Nuggets).nuggets == [
        "a [1] } b",
        "it's",
    ]
    assert read_json("{'nuggets': ['it is \"so\"', 'b']}", Nuggets).nuggets == ['it is "so"', "b"]


def test_a_list_is_read_by_a_root_model() -> None:
    words = RootModel[list[str]]
    assert read_json('The words: ["a", "b",]', words).root == ["a", "b"]


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=8),
    st.text(),
)
def test_whatever_stands_around_valid_json_it_is_found(value: Any, around: str) -> None:
    around = around.replace("{", "").replace("[", "")
    model = RootModel[dict[str, Any]]
    assert read_json(f"{around}{json.dumps({'v': value})}{around}", model).root == {"v": value}


@given(st.text(alphabet="{}[]\",:ab1 \n'`"))
def test_no_reply_breaks_it(reply: str) -> None:
    with suppress(UnreadableReply):
        assert isinstance(read_json(reply, Nuggets), Nuggets)


def test_deep_nesting_does_not_break_it() -> None:
    with pytest.raises(UnreadableReply):
        read_json("[" * 5000, Nuggets)


PROMPT = Prompt("nuggets", (Message("user", "Which nuggets?"),), {"q": 1}, {"temperature": 0})


def test_an_unreadable_one_is_shown_with_the_complaint() -> None:
    llm = Says('{"other": 1}', READABLE[0])
    assert ask_json(llm, PROMPT, Nuggets).nuggets == ["a", "b"]
    first, second = llm.prompts
    assert (second.attempt, second.task, second.sampling) == (1, "nuggets", PROMPT.sampling)
    assert second.messages[:2] == (*first.messages, Message("assistant", '{"other": 1}'))
    assert second.messages[2].role == "user"
    assert "nuggets: Field required" in second.messages[2].content


def test_a_second_unreadable_one_is_raised() -> None:
    llm = Says("no", "no again", READABLE[0])
    with pytest.raises(UnreadableReply, match="no again"):
        ask_json(llm, PROMPT, Nuggets)
    assert len(llm.prompts) == 2


class Inner(BaseModel):
    """A part."""

    name: str = "x"


class Whole(BaseModel):
    """A whole, in words that no server needs."""

    parts: list[Inner] = []
    note: str = ""


def test_a_schema_requires_all_fields_and_says_no_more() -> None:
    assert make_schema(Whole) == {
        "title": "Whole",
        "type": "object",
        "properties": {
            "parts": {"type": "array", "items": {"$ref": "#/$defs/Inner"}},
            "note": {"type": "string"},
        },
        "required": ["parts", "note"],
        "additionalProperties": False,
        "$defs": {
            "Inner": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
                "additionalProperties": False,
            }
        },
    }


def test_what_is_no_object_has_no_schema() -> None:
    assert make_schema(RootModel[list[str]]) == {}
