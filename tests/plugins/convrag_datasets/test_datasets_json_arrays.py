"""One JSON array in the place of lines."""

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from convrag.api.errors import DataError
from convrag_datasets.files.json_rows import _CheckedJson, read_json_rows
from convrag_datasets.jsonl import JsonlDataset

ROWS = [
    {"id": str(n), "text": 'a"]}[{\\,' * (n % 4) + "ü\n", "deep": [{"x": [1, 2]}, "]"]}
    for n in range(3000)
]


@pytest.mark.parametrize("form", ["lines", "one line", "indented", "packed"])
def test_lines_and_arrays_give_the_same_rows(tmp_path: Path, form: str) -> None:
    path = tmp_path / ("rows.json.gz" if form == "packed" else "rows.json")
    text = "".join(f"{json.dumps(row)}\n" for row in ROWS)
    if form != "lines":
        text = json.dumps(ROWS, indent=2 if form == "indented" else None, ensure_ascii=False)
    data = b"\xef\xbb\xbf" + text.encode()
    path.write_bytes(gzip.compress(data) if form == "packed" else data)
    assert [row.value for row in read_json_rows(path)] == ROWS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[\n{"_id": "p", "text": "x"},\n\n{"_id": 1.5, "text": "x"}]',
            "[1]._id: this must be an id",
        ),
        ('[{"_id": "p", "text": "x"}, {"_id": "p", "text": "x"}]', "occurs twice (first in [0])"),
        ("[]", "this corpus holds no passages"),
        ('[{"_id": "p", "text": "x"}', "this is not JSON"),
        ('[{"_id": "p", "text": "x"}] []', "trailing garbage"),
        ('[{"_id": "p", "text": NaN}]', "invalid char in json text, near [{"),
        (f'[{{"_id": {"9" * 5000}, "text": ""}}]', "integer overflow"),
        ('[{"_id": "p\udcff"}]', "invalid bytes in UTF8 string"),
        ("[" * 100_000, "lists and objects are nested more than 100 deep"),
        ('[{"a":' * 100_000, "lists and objects are nested more than 100 deep"),
        ('[{"_id": "p", "text": "\\ud800"}]', "half of a surrogate pair is no character"),
        ('["\\udc00"]', "half of a surrogate pair"),
    ],
    ids=range(12),
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "corpus.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError) as caught:
        list(JsonlDataset(corpus=path).corpus("default"))
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_texts_with_brackets_and_escapes_at_the_ends_of_blocks(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    rows = [{"text": "[{\\" * 30 + '"' + "\N{GRINNING FACE}ü\\" * n} for n in range(300)]
    path.write_text(json.dumps(rows))
    with path.open("rb") as file:
        checked = _CheckedJson(file, path)
        assert b"".join(iter(lambda: checked.read(7), b"")) == path.read_bytes()
    assert [row.value for row in read_json_rows(path)] == rows


def test_an_array_on_one_line_is_read_by_pieces(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{"text": "x" * 100, "n": n} for n in range(60_000)]))
    tracemalloc.start()
    count = sum(1 for _ in read_json_rows(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 60_000
    assert path.stat().st_size > 7_000_000
    assert peak < 1_000_000
