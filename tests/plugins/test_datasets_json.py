"""Large JSON files, value by value, and the places that errors name."""

from __future__ import annotations

import gzip
import json
import random
import zipfile

import pytest

from convrag.api.errors import DataError
from convrag.store.strict_json import parse_json
from convrag_datasets import json_stream
from convrag_datasets.json_nodes import JsonNode, read_list, read_objects
from convrag_datasets.json_stream import format_keys, read_values


def make_value(dice: random.Random, depth: int):
    way = dice.random()
    if not depth or way < 0.4:
        return dice.choice([1, -2.5e10, 'a"b\\cé', "", True, None, 12345678901234567890, "\U0001f600", "x" * 50])
    if way < 0.7:
        return [make_value(dice, depth - 1) for _ in range(dice.randrange(4))]
    return {f"k{n} {dice.random():.3}": make_value(dice, depth - 1) for n in range(dice.randrange(4))}


def read_in_blocks(path, monkeypatch) -> set[str]:
    """What is read in blocks of several sizes, or the error, each in words."""
    found = set()
    for block in (1, 2, 3, 7, 17, 64, 1 << 16):
        monkeypatch.setattr(json_stream, "_BLOCK", block)
        try:
            found.add(repr([value.value for value in read_values(path, 1)]))
        except DataError:
            found.add("error")
    return found


def test_lists_are_read_as_json_does_in_blocks_of_any_size(tmp_path, monkeypatch):
    dice, path, broken = random.Random(1), tmp_path / "list.json", 0
    for _ in range(400):
        value = [make_value(dice, 3) for _ in range(dice.randrange(5))]
        text = json.dumps(value, indent=dice.choice([None, 2, 40]), ensure_ascii=dice.random() < 0.5)
        if dice.random() < 0.5:
            place = dice.randrange(len(text) + 1)
            text = text[:place] + dice.choice(["", ",", '"', "{", "]", "\\u12", "tru", "1e", "\n"]) + text[place + 1 :]
        path.write_text(text, encoding="utf-8")
        try:
            expected = parse_json(text)
            json.dumps(expected, ensure_ascii=False).encode()
        except ValueError:
            expected, broken = None, broken + 1
        if isinstance(expected, list | None):
            assert read_in_blocks(path, monkeypatch) == {"error" if expected is None else repr(expected)}, text
    assert broken > 50


def test_values_below_objects_have_their_keys_and_lines(tmp_path):
    path = tmp_path / "documents.json"
    path.write_text('{\n"doc_data": {\n"dmv": {"a b": 1,\n"c": [2]}, "ssa": {}}}', encoding="utf-8")
    assert list(read_values(path, 3)) == [(("doc_data", "dmv", "a b"), 1, 3), (("doc_data", "dmv", "c"), [2], 4)]
    assert format_keys(("doc_data", "a b", 3, "x")) == 'doc_data["a b"][3].x'


def test_packed_files_and_a_byte_order_mark(tmp_path):
    text = b"\xef\xbb\xbf [{}]"
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(text))
    with zipfile.ZipFile(tmp_path / "b.json.zip", "w") as archive:
        archive.writestr("b.json", text)
    for name in ("a.json.gz", "b.json.zip"):
        assert [node.place for node in read_list(tmp_path / name)] == ["[0]"]
        assert [node.value for node in read_objects(tmp_path / name)] == [{}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'[{"a": 1}', r"line 1: this is not JSON: there must be ',' or '\]' in the file"),
        (b'[{"a": 1},\n{"a": }]', r"line 2: this is not JSON: Expecting value"),
        (b'[\n\n"cut', r"line 3: this is not JSON: Unterminated string"),
        (b'[{"a": NaN}]', r"NaN is no number of JSON"),
        (b'[{"a": ' + b"7" * 5000 + b"}]", r"the number 7777777777\.\.\. \(5000 characters\) is too large"),
        (b"[1e400]", r"the number 1e400 is too large"),
        (b"[" * 100000, r"nested too deeply"),
        (b'["\\ud83d"]', r"half of a surrogate pair is no character"),
        (b'["\xff"]', r"this is not UTF-8"),
        (b"[1] 2", r"there is more behind the end"),
        (b"", r"must be a list or an object"),
        (b'"text"', r"must be a list or an object"),
        (b'{"a": 1}', r"this file must hold a list"),
        (b"{1: 2}", r"must have keys in double quotes"),
        (b'{"a" 1}', r"there must be ':' behind the key 'a'"),
    ],
)
def test_what_is_no_list_of_json(tmp_path, text, message):
    path = tmp_path / "list.json"
    path.write_bytes(text)
    with pytest.raises(DataError, match=message) as caught:
        list(read_list(path))
    assert "list.json" in str(caught.value)


def test_a_string_without_an_end_does_not_take_all_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(json_stream, "_LONGEST", 1000)
    (tmp_path / "list.json").write_text('["' + "x" * 300_000)
    with pytest.raises(DataError, match="is a quotation mark missing"):
        list(read_list(tmp_path / "list.json"))


def test_what_cannot_be_read(tmp_path):
    (tmp_path / "broken.json.gz").write_bytes(gzip.compress(b"[1, 2, 3]" * 100)[:-20])
    (tmp_path / "broken.json.zip").write_bytes(b"PK no archive")
    for name in ("broken.json.gz", "broken.json.zip", "absent.json", "."):
        with pytest.raises(DataError):
            list(read_list(tmp_path / name))


def test_one_value_at_a_time_is_in_memory(tmp_path):
    import tracemalloc

    path = tmp_path / "large.json"
    with path.open("w") as file:
        file.write("[" + ",".join(json.dumps({"text": "x" * 10_000}) for _ in range(2_000)) + "]")
    tracemalloc.start()
    count = sum(1 for _ in read_list(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 2_000
    assert peak < 2_000_000  # of a file of 20 MB


@pytest.mark.parametrize(
    ("value", "call", "message"),
    [
        ({}, "require_text", r"\[0\]: there is no 'a'"),
        ({"a": None}, "require_text", r"there is no 'a'"),
        ({"a": ["x"]}, "require_text", r"\[0\]\.a: this must be a string, not a list"),
        ({"a": " "}, "require_text", r"\[0\]\.a: the text is empty"),
        ({"a": True}, "require_id", r"this must be an id, a string or a whole number, not a truth value"),
        ({"a": -1}, "require_number", r"from 0 to 1000000000, not the number -1"),
        ({"a": 10**10}, "require_number", r"not the number 10000000000"),
        ({"a": "9" * 30}, "require_number", r"not a string"),
        ({"a": {}}, "require_items", r"this must be a list, not an object"),
        ([], "require_items", r"\[0\]: this must be an object, not a list"),
    ],
)
def test_a_wrong_field_is_named(tmp_path, value, call, message):
    node = JsonNode(value, tmp_path / "f.json", 7, (0,))
    with pytest.raises(DataError, match=message) as caught:
        getattr(node, call)("a")
    assert "line 7" in str(caught.value)
