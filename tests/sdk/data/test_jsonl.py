"""Users' files, line by line."""

import gzip
import json
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from convrag.api.errors import DataError
from convrag.sdk.data.jsonl import (
    Line,
    check_is_file,
    data_suffix,
    list_files,
    read_lines,
    read_lines_in,
)


def texts(path: Path) -> list[tuple[int, str]]:
    return [(line.number, line.text) for line in read_lines(path)]


def test_lines_end_at_line_feeds_alone_and_blank_ones_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes("\ufeffone\u2028still one\r\n\n \t\n\tfour\x0bfour\x85\rfour\t\nlast".encode())
    assert texts(path) == [
        (1, "one\u2028still one"),
        (4, "\tfour\x0bfour\x85\rfour\t"),
        (5, "last"),
    ]


@given(rows=st.lists(st.dictionaries(st.text(), st.text()), max_size=5))
def test_what_is_written_as_json_is_read_again_packed_or_not(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    path.write_bytes(data)
    packed = path.with_name("rows.jsonl.gz")
    packed.write_bytes(gzip.compress(data))
    archive = path.with_name("rows.jsonl.zip")
    with zipfile.ZipFile(archive, "w") as opened:
        opened.write(path, "rows.jsonl")
    for each in (path, packed, archive):
        assert [line.json() for line in read_lines(each)] == rows
        assert data_suffix(each) == ".jsonl"


def test_an_archive_may_hold_another_kind_of_file_under_its_own_name(tmp_path: Path) -> None:
    archive = tmp_path / "run.trec.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("run.trec", "t Q0 p 1 1.0 x\n")
        opened.writestr("notes.jsonl", "{}")
    assert texts(archive) == [(1, "t Q0 p 1 1.0 x")]
    assert data_suffix(archive) == ".trec"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "this is not JSON: "),
        ("[" * 100_000, "this is not JSON: "),
        ('"text"', "this must be a JSON object, not a string"),
        ("null", "this must be a JSON object, not null"),
        ("true", "this must be a JSON object, not a truth value"),
        (r'{"text": "\ud83d"}', "half of a surrogate pair is no character"),
    ],
)
def test_what_is_no_object_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(DataError) as raised:
        Line(Path("x.jsonl"), 7, text).json()
    assert str(raised.value).startswith(f"x.jsonl, line 7: {message}")
    assert Line(Path("x"), 1, r'{"text": "\ud83c\udf15"}').json() == {"text": "🌕"}


def test_a_folder_is_its_files_by_name(tmp_path: Path) -> None:
    for name in ("b.trec", "a.jsonl", "c.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / "d.jsonl").mkdir()
    assert list_files(tmp_path, ".jsonl", ".trec") == [tmp_path / "a.jsonl", tmp_path / "b.trec"]
    assert list_files(tmp_path / "c.txt", ".jsonl") == [tmp_path / "c.txt"]
    assert [(line.path.name, line.text) for line in read_lines_in(tmp_path, ".trec", ".txt")] == [
        ("b.trec", "b.trec"),
        ("c.txt", "c.txt"),
    ]
    with pytest.raises(DataError, match=r"this folder has no \*\.tsv or \*\.csv file"):
        read_lines_in(tmp_path, ".tsv", ".csv")
    with pytest.raises(DataError, match="there is no such file or folder"):
        list_files(tmp_path / "absent", ".jsonl")


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="this is a folder"):
        check_is_file(tmp_path)
    with pytest.raises(DataError, match="this file does not exist"):
        check_is_file(tmp_path / "absent")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="this is a pipe"):
        next(read_lines(tmp_path / "pipe"))
    (tmp_path / "latin.txt").write_bytes(b"fine\ncaf\xe9\n")
    with pytest.raises(DataError, match=r"latin\.txt, line 2: this is not UTF-8 .* at byte 3"):
        texts(tmp_path / "latin.txt")
