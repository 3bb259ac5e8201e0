"""JSON files of rows, item by item, and the places that errors name."""

import gzip
import json

import pytest

from convrag import DataError
from convrag_datasets.files.json_rows import read_json_rows
from convrag_datasets.files.row import Row


def test_numbers_are_as_json_has_them(tmp_path):
    (tmp_path / "list.json").write_text('[{"a": [1, -2.5e3, true, null, 1234567890123456789]}]')
    (row,) = read_json_rows(tmp_path / "list.json")
    assert json.dumps(row.value) == '{"a": [1, -2500.0, true, null, 1234567890123456789]}'


def test_what_cannot_be_read(tmp_path):
    (tmp_path / "broken.json.gz").write_bytes(gzip.compress(b"[1, 2, 3]" * 100)[:-20])
    (tmp_path / "broken.json.zip").write_bytes(b"PK no archive")
    for name in ("broken.json.gz", "broken.json.zip", "absent.json", "."):
        with pytest.raises(DataError):
            list(read_json_rows(tmp_path / name))


@pytest.mark.parametrize(
    ("value", "call", "message"),
    [
        ({}, "require_text", r"\[0\]: there is no 'a'"),
        ({"a": None}, "require_text", r"there is no 'a'"),
        ({"a": ["x"]}, "require_text", r"\[0\]\.a: this must be a string, not a list"),
        ({"a": " "}, "require_text", r"\[0\]\.a: the text is empty"),
        (
            {"a": True},
            "require_id",
            r"this must be an id, a string or a whole number, not a truth value",
        ),
        ({"a": " "}, "require_id", r"\[0\]\.a: the id is empty"),
        ({"a": -1}, "require_number", r"from 0 to 1000000000"),
        ({"a": 10**10}, "require_number", r"from 0 to 1000000000"),
        ({"a": "9" * 30}, "require_number", r"from 0 to 1000000000"),
        ({"a": {}}, "require_items", r"this must be a list, not an object"),
        ({"a": []}, "require_items", r"\[0\]\.a: this list is empty"),
        ([], "require_items", r"\[0\]: this must be a JSON object, not a list"),
    ],
)
def test_a_wrong_field_is_named(tmp_path, value, call, message):
    row = Row(value, tmp_path / "f.json", 7, "[0]")
    with pytest.raises(DataError, match=message) as caught:
        getattr(row, call)("a")
    assert "line 7" in str(caught.value)
