"""Fields of documents: front matter, keys of JSON, kind, folders and dates of files."""

import os
from pathlib import Path
from typing import Any

import pytest

from convrag import Chunker, Store
from convrag_chunkers.section_chunker import SectionChunker
from convrag_chunkers.sentences import NoChunker, PageChunker, SentenceChunker
from convrag_chunkers.tokens import TokenChunker
from convrag_documents import file_times
from convrag_documents.dataset import DocumentsDataset

LEAVE = """---
title: Leave
description: Who may take leave.
Valid from: 2023-05-01
draft: false
version: "1.10"
tags: [hr, Leave]
author: {name: Ada}
---
# Leave

Ask in time.

# Later

Ask again.
"""
DAY = 1_700_000_000  # 2023-11-14


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(file_times, "_TICK", 0)
    files = {
        "policies/hr/leave.md": LEAVE,
        "faq.jsonl": '{"text": "One.", "product": "kettle", "year": 2023, "id": 7}\n{"text": "Two."}\n',
        "README": "Read me.\n",
    }
    for name, text in files.items():
        path = tmp_path / "handbook" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (DAY, DAY))
    return tmp_path / "handbook"


def read(folder: Path, chunker: Chunker | None = None, **options: Any) -> DocumentsDataset:
    chunker = chunker or NoChunker()
    if not chunker.fingerprint:
        chunker.fingerprint = type(chunker).__name__
    return DocumentsDataset(
        path=folder, chunker=chunker, store=Store(folder.parent / "store"), **options
    )


def list_fields(dataset: DocumentsDataset) -> dict[str, Any]:
    return {each.id: each.fields for each in dataset.corpus("default")}


def test_documents_have_fields(folder: Path) -> None:
    assert list_fields(read(folder)) == {
        "README#1": {"kind": "text"},
        "faq.jsonl:1#1": {"kind": "jsonl", "product": "kettle", "year": 2023},
        "faq.jsonl:2#1": {"kind": "jsonl"},
        "policies/hr/leave.md#1": {
            "kind": "md",
            "folder": ["policies", "policies/hr"],
            "valid_from": "2023-05-01",
            "draft": False,
            "version": "1.10",
            "tags": ["hr", "Leave"],
        },
    }
    again = read(folder)  # from the store
    assert list_fields(again) == list_fields(read(folder))
    document = again.document("default", "policies/hr/leave.md")
    assert document is not None
    assert document.metadata["fields"]["tags"] == ["hr", "Leave"]


@pytest.mark.parametrize(
    "chunker",
    [SectionChunker(smallest=0), SentenceChunker(), PageChunker(), TokenChunker(), NoChunker()],
    ids=lambda chunker: type(chunker).__name__,
)
def test_every_chunker_keeps_them(folder: Path, chunker: Chunker) -> None:
    passages = list(read(folder / "policies", chunker).corpus("default"))
    assert passages
    assert all(each.fields["valid_from"] == "2023-05-01" for each in passages)


def test_dates_of_files_are_fields_if_wanted(folder: Path) -> None:
    (folder / "dated.md").write_text("---\ntitle: A\ndate: 2020-02-02\n---\nText.\n")
    dates = {
        name: each.get("date") for name, each in list_fields(read(folder, file_dates=True)).items()
    }
    assert dates["README#1"] == dates["faq.jsonl:2#1"] == "2023-11-14"
    assert dates["dated.md#1"] == "2020-02-02"


def test_a_touched_file_is_another_corpus_only_with_dates_of_files(folder: Path) -> None:
    plain = read(folder).corpus_fingerprint("default")
    dated = read(folder, file_dates=True).corpus_fingerprint("default")
    os.utime(folder / "README", (DAY + 90_000, DAY + 90_000))
    assert read(folder).corpus_fingerprint("default") == plain
    assert read(folder, file_dates=True).corpus_fingerprint("default") != dated
    assert plain != dated


def test_half_a_pair_in_a_field_is_replaced(folder: Path) -> None:
    (folder / "odd.jsonl").write_text(
        '{"text": "x", "name of it": "a\\ud800b", "tags": ["\\ud800"]}\n'
    )
    fields = list_fields(read(folder))["odd.jsonl:1#1"]
    assert fields["name_of_it"] == "a\ufffdb"
    assert fields["tags"] == ["\ufffd"]
