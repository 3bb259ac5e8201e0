from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from convrag.api.errors import DataError
from convrag.sdk import json_arrays
from convrag.sdk.json_arrays import read_objects

ROWS = [{"id": str(n), "text": 'a"]}[{\\,' * (n % 4) + "ü\n", "deep": [{"x": [1, 2]}, "]"]} for n in range(300)]


@pytest.mark.parametrize("chunk", [1, 7, 1 << 16])
@pytest.mark.parametrize("form", ["lines", "one line", "indented"])
def test_lines_and_arrays_give_the_same_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, form: str
) -> None:
    monkeypatch.setattr(json_arrays, "_CHUNK", chunk)
    path = tmp_path / "rows.json"
    text = "".join(f"{json.dumps(row)}\n" for row in ROWS)
    if form != "lines":
        text = json.dumps(ROWS, indent=2 if form == "indented" else None, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    assert [line.json() for line in read_objects(path)] == ROWS


def test_an_item_knows_its_line_and_number(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes(b'\xef\xbb\xbf\n[\n  {"a": 1},\r\n\n {"a":\n 2}, {"a": }]\n')
    lines = list(read_objects(path))
    assert [(line.number, line.item) for line in lines] == [(3, 1), (5, 2), (6, 3)]
    with pytest.raises(DataError, match=r"rows\.json, line 6: item 3: this is not JSON"):
        lines[2].json()


@pytest.mark.parametrize("text", ["[]", " [ \n ] "])
def test_an_array_may_be_empty(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text)
    assert list(read_objects(path)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[{}] x", "line 1: there is more after the end of the array"),
        ("[{}]\n[{}]", "line 1: there is more after the end of the array"),
        ("[{},]", "item 2: this is not JSON"),
        ("[,{}]", "item 1: this is not JSON"),
        ("[{}", "line 1: the array does not end: ']' is missing"),
        ("[", "the array does not end"),
        ('[{"a": "b}]', "the array does not end"),
        ("[{}}", "the array must end with ']', not '}'"),
        ("[{]}]", "the array must end with ']', not '}'"),
        ("[1]", "item 1: this must be a JSON object, not a number"),
        ("[" * 100_000, "the array does not end"),
        ("[" + "[" * 50_000 + "]" * 50_000 + "]", "nested too deeply"),
        ('[{"a": NaN}]', "item 1: this is not JSON: NaN"),
        ('[{"a": "\\ud800"}]', "item 1: half of a surrogate pair"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 1 << 16])
def test_what_is_wrong_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str, chunk: int
) -> None:
    if chunk == 1 and len(text) > 1000:
        return
    monkeypatch.setattr(json_arrays, "_CHUNK", chunk)
    path = tmp_path / "rows.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        [line.json() for line in read_objects(path)]
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_an_item_that_does_not_end_is_not_read_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_arrays, "_LONGEST_ITEM", 1 << 18)
    path = tmp_path / "rows.json"
    path.write_text('[{"a": "' + "x" * (1 << 20))
    with pytest.raises(DataError, match="item 1 does not end: is a quotation mark or bracket missing"):
        list(read_objects(path))


def test_no_utf_8_and_a_broken_archive(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes(b'[{"a": "\xff"}]')
    with pytest.raises(DataError, match="this is not UTF-8"):
        list(read_objects(path))
    packed = tmp_path / "rows.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(ROWS).encode())[:-20])
    with pytest.raises(DataError, match="this file cannot be read"):
        list(read_objects(packed))


def test_an_array_on_one_line_is_read_by_pieces(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{"text": "x" * 100, "n": n} for n in range(60_000)]))
    tracemalloc.start()
    count = sum(1 for _ in read_objects(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 60_000
    assert path.stat().st_size > 7_000_000
    assert peak < 1_000_000
