"""GINGER's commands, as a user types them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tasks import run_task


def convrag(*arguments: str, folder: Path) -> Path:
    """Run the command, which must succeed and say nothing on standard error; returns where its
    results are.
    """
    out = folder / f"out{len(list(folder.glob('out*')))}"
    done = run_task([*arguments, "tracker=none", "limit=2", f"hydra.run.dir={out}"], folder)
    assert (done.returncode, done.stderr) == (0, "")
    return out


def records(out: Path) -> list[dict[str, Any]]:
    lines = (out / "intermediate/default.jsonl").read_text(encoding="utf-8").strip().split("\n")
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder, and in it a run whose queries and rankings are given to others."""
    folder = tmp_path_factory.mktemp("ginger")
    return folder, convrag("rewriter=all_questions", "generator=none", folder=folder)


def test_the_command_of_the_seed(given: tuple[Path, Path]) -> None:
    folder, before = given
    queries, rankings = before / "datasets/default.jsonl", before / "run.trec"
    replayed = [
        "rewriter=replay",
        f"rewriter.path={queries}",
        "retriever=run",
        f"retriever.path={rankings}",
    ]
    seed = ["generator=ginger", "top_n=5", "generator.fluency=true", "generator.refuse=0"]
    found = records(convrag(*replayed, *seed, "clusterer=lsa", "ranker=bm25", folder=folder))
    assert [record["rewritten_query"] for record in found] == [
        record["rewritten_query"] for record in records(before)
    ]
    outcomes = [record["trace"]["generator"]["outcome"] for record in found]
    assert outcomes.count("answered") >= 5
    for record in found:
        trace = record["trace"]["generator"]
        shown = {context["id"]: context["text"] for context in record["contexts"]}
        assert {nugget["passage_id"] for nugget in trace["nuggets"]} <= set(list(shown)[:5])
        assert all(
            shown[n["passage_id"]][n["start"] : n["end"]] == n["text"] for n in trace["nuggets"]
        )
        if trace["outcome"] == "unanswerable":
            assert record["agent_response"].startswith("I could not find this in the ")
            continue
        assert 1 <= len(trace["sentences"]) <= 3
        assert trace["fluency"] == "on"
        assert all(
            sentence["passages"] and sentence["supported"] for sentence in trace["sentences"]
        )
        scores = [
            trace["clusters"][sentence["cluster"]]["score"] for sentence in trace["sentences"]
        ]
        assert scores == sorted(scores, reverse=True)
        assert re.sub(r" ?(\[\d+\])+", "", record["agent_response"]).split() == [
            word for sentence in trace["sentences"] for word in sentence["text"].split()
        ]


def test_its_preset_goes_with_other_parts(given: tuple[Path, Path]) -> None:
    """What it chooses beside them stays: twenty passages, three clusters, outliers as one cluster."""
    folder, _ = given
    parts = ["llm=extractive", "embedder=lsa", "clusterer=agglomerative", "ranker=size"]
    found = records(convrag("+system=ginger", *parts, folder=folder))
    assert max(len(record["contexts"]) for record in found) == 20
    assert max(len(record["trace"]["generator"].get("sentences", ())) for record in found) == 3
    for record in found:
        trace = record["trace"]["generator"]
        sizes = [len(trace["clusters"][index]["nuggets"]) for index in trace.get("order", [])]
        assert sizes == sorted(sizes, reverse=True)
