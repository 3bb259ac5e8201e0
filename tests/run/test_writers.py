import json
import os
import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from convrag.api.answers import Answer
from convrag.api.errors import FolderInUse
from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.passages import Hit, Passage
from convrag.api.queries import Query
from convrag.api.records import TurnRecord, Usage
from convrag.run.records import from_json, read_records, to_json
from convrag.run.run_folder import UNFINISHED, open_run_folder
from convrag.run.writers import Writers, format_beir_line
from convrag.sdk.data.trec import break_ties, format_trec_lines


def record() -> TurnRecord:
    first, second = Passage("a b", "Text — 茶", "Title", "http://x"), Passage("c", "more")
    return TurnRecord(
        conversation_id="t",
        turn_id="t<::>2",
        domain="tea",
        number=2,
        original_query="hot?",
        queries=(
            Query("How hot is tea?", 1.0, "t<::>2", "tea"),
            Query("tea", 0.4, "t<::>2", "tea"),
        ),
        hits=(Hit(first, 2.5), Hit(second, 2.5)),
        evidence=Evidence((EvidenceItem(1, first, first.text),)),
        answer=Answer("Hot [1].", ("a b",)),
        trace={"rewriter": {"scores": np.array([0.5]), "n": np.int64(3)}},
        timings={"rewriter": 0.25},
        usage={"rewriter": Usage(1, 2, 3, 4, 0, 0.5, 0.25)},
        fallbacks={"reranker": "tired"},
    )


def test_a_record_has_the_names_that_readers_expect() -> None:
    row = json.loads(to_json(record()))
    assert row["rewritten_query"] == "How hot is tea?"
    assert row["contexts"][0] == {
        "id": "a b",
        "title": "Title",
        "text": "Text — 茶",
        "score": 2.5,
        "url": "http://x",
    }
    assert row["agent_response"] == "Hot [1]."


def test_a_stages_entries_stand_at_the_top_level_on_request() -> None:
    """Beside the trace, and never in the place of a field of the record."""
    plain, asked = (
        json.loads(to_json(record())),
        json.loads(to_json(record(), top_level="rewriter")),
    )
    assert asked == plain | {"scores": [0.5], "n": 3}
    assert from_json(to_json(record(), top_level="rewriter")) == from_json(to_json(record()))
    clash = replace(record(), trace={"rewriter": {"queries": "mine", "turn": 0}})
    assert (
        to_json(clash, top_level="rewriter")
        == to_json(clash)
        == to_json(clash, top_level="generator")
    )


def test_beir_and_trec() -> None:
    assert json.loads(format_beir_line(record())) == {
        "_id": "t<::>2",
        "domain": "tea",
        "text": "|user|: How hot is tea?",
        "queries": [{"text": "How hot is tea?", "weight": 1.0}, {"text": "tea", "weight": 0.4}],
        "agent_response": "Hot [1].",
    }
    lines = [line.split() for line in format_trec_lines(record())]
    assert [line[:4] for line in lines] == [
        ["t<::>2", "Q0", "a%20b", "1"],
        ["t<::>2", "Q0", "c", "2"],
    ]
    assert float(lines[0][4]) > float(lines[1][4])


@pytest.mark.parametrize("domain", ["../../../ESC", "sales/eu", "x" * 300, "nul", "", "Tea"])
def test_a_domain_is_no_path(tmp_path: Path, domain: str) -> None:
    """`dataset.domain=../../../ESC` wrote a file outside the run, `sales/eu` one that no reader
    found.
    """
    folder = tmp_path / "a/b/c/run"
    with open_run_folder(folder) as files:
        Writers(files).convrag_turn_finished(run=None, record=replace(record(), domain=domain))  # type: ignore[arg-type]
        files.publish()
    found = {path.relative_to(tmp_path).parent.as_posix() for path in tmp_path.rglob("*.jsonl")}
    assert found == {"a/b/c/run/intermediate", "a/b/c/run/datasets"}
    assert [each.domain for each in read_records(folder / "intermediate")] == [domain]
    (queries,) = (folder / "datasets").iterdir()
    assert json.loads(queries.read_text(encoding="utf-8"))["domain"] == domain


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=30))
def test_scores_fall_also_in_single_precision(values: list[float]) -> None:
    scores = break_ties([Hit(Passage("p", ""), value) for value in sorted(values, reverse=True)])
    single = [struct.unpack("f", struct.pack("f", score))[0] for score in scores]
    assert all(a > b for a, b in pairwise(single))


def test_files_appear_together_and_replace_former_ones(tmp_path: Path) -> None:
    for text in ("first", "second"):
        with open_run_folder(tmp_path) as files:
            files.append("datasets/tea.jsonl", [text])
            files.append("run.trec", [text])
            assert not (tmp_path / "run.trec").exists() or text == "second"
            files.publish()
    assert (tmp_path / "datasets/tea.jsonl").read_text() == "second\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["datasets", "run.trec"]


def test_a_second_run_in_a_folder_leaves_the_first_alone(tmp_path: Path) -> None:
    """It deleted the first one's unfinished files, and what was published was of both."""

    def run_beside() -> None:
        with open_run_folder(tmp_path) as files:
            files.append("run.trec", ["of the second"])
            files.publish()

    with open_run_folder(tmp_path) as files:
        files.append("run.trec", ["one"])
        with (
            ThreadPoolExecutor(1) as other,
            pytest.raises(FolderInUse, match=f"process {os.getpid()} on"),
        ):
            other.submit(run_beside).result()
        files.append("run.trec", ["two"])
        files.publish()
    assert (tmp_path / "run.trec").read_text() == "one\ntwo\n"


def test_what_a_killed_run_left_is_no_part_of_the_next(tmp_path: Path) -> None:
    (tmp_path / UNFINISHED).mkdir()
    (tmp_path / UNFINISHED / "run.trec").write_text("half\n")
    with open_run_folder(tmp_path) as files:
        files.append("run.trec", ["whole"])
        files.publish()
    assert (tmp_path / "run.trec").read_text() == "whole\n"
