import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convrag import DataError, Embedder, Query, TurnRecord
from convrag.api.records import Usage
from convrag.score.scoring import Scores
from convrag.testing import MetricsContract
from convrag_metrics.rewrites import RewriteMetrics


class Letters(Embedder):
    def embed(self, texts: Any, *, query: bool = False) -> Any:
        counts = [[text.lower().count(chr(letter)) for letter in range(97, 123)] for text in texts]
        rows = np.array(counts, dtype=np.float32).reshape(len(texts), 26)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def record(
    number: int,
    question: str,
    rewrite: str,
    trace: Mapping[str, Any] | None = None,
    tokens: int = 0,
) -> TurnRecord:
    return TurnRecord(
        "c",
        f"c<::>{number}",
        "default",
        number,
        question,
        queries=(Query(rewrite),),
        trace={"rewriter": trace or {}},
        timings={"rewriter": 0.1},
        usage={"rewriter": Usage(calls=1, prompt_tokens=tokens)} if tokens else {},
    )


def overall(*records: TurnRecord, reference: Path | None = None) -> Mapping[str, float]:
    metrics = RewriteMetrics(embedder=Letters(), reference=reference)
    return Scores(records, {"m": metrics}, {"m": metrics.measure(records)}).score_all().scores


class TestContract(MetricsContract):
    def make(self) -> RewriteMetrics:
        return RewriteMetrics(embedder=Letters())


def test_changed_counts_follow_up_turns_in_more_than_case_and_space() -> None:
    found = overall(
        record(1, "Who?", "Who was it?", tokens=3),
        record(2, "And  then?", "and then?"),
        record(3, "It?", "Laika?"),
    )
    assert found == {"rewrite_changed": 0.5, "rewriter_asked_llm": pytest.approx(1 / 3)}


def test_a_reference_is_compared_by_words_order_and_meaning(tmp_path: Path) -> None:
    path = tmp_path / "rewrites.jsonl"
    rows = [
        {"_id": "c<::>1", "text": "|user|: when was Laika born"},
        {"_id": "c<::>9", "text": "elsewhere"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    for reference in (path, tmp_path):
        found = overall(
            record(1, "When?", "Laika was born when?"), record(2, "So?", "So?"), reference=reference
        )
        assert found["rewrite_token_F1"] == 1.0
        assert found["rewrite_ROUGE-L"] == pytest.approx(0.5)
        assert found["rewrite_cosine"] == pytest.approx(1.0)


def test_gates_and_chains_are_read_from_traces() -> None:
    chains = [[0], [0, 0], [0, 0, 1], [0, 0, 1, 0]]
    records = [
        record(
            number,
            "Q?",
            "Q?",
            {
                "condense": number > 2,
                "chains": chain,
                "available": number - 1,
                "selected": ["x"] * min(number - 1, 2),
            },
        )
        for number, chain in enumerate(chains, 1)
    ]
    found = overall(*records)
    assert found["gate_calls"] == 0.5
    assert found["chain_length"] == 2.0  # four turns, two chains
    assert (found["history_available"], found["history_selected"]) == (2.0, pytest.approx(5 / 3))
    assert "chain_begins" not in found


def test_a_turn_that_was_not_rewritten_has_nothing_to_measure() -> None:
    assert (
        RewriteMetrics(embedder=Letters()).measure(
            [TurnRecord("c", "t", "d", 1, "?", error="down")]
        )
        == {}
    )


@pytest.mark.parametrize("line", ["[]", "{", '{"_id": 1, "text": "x"}', '{"_id": "a"}'])
def test_errors_in_references_name_the_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "rewrites.jsonl"
    path.write_text(f'{{"_id": "a", "text": "x"}}\n\n{line}\n', encoding="utf-8")
    metrics = RewriteMetrics(embedder=Letters(), reference=path)
    (problem,) = metrics.check()
    assert "rewrites.jsonl, line 3" in problem
    with pytest.raises(DataError):
        metrics.measure([record(1, "?", "?")])


def test_errors_for_a_repeated_turn_and_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "rewrites.jsonl"
    path.write_text(
        '{"_id": "a", "text": "x\u2028y"}\n{"_id": "a", "text": "y"}\n', encoding="utf-8"
    )
    assert "twice" in "".join(RewriteMetrics(embedder=Letters(), reference=path).check())
    assert "there is no such file" in "".join(
        RewriteMetrics(embedder=Letters(), reference=tmp_path / "no").check()
    )
    (tmp_path / "empty").mkdir()
    assert "no *.jsonl" in "".join(
        RewriteMetrics(embedder=Letters(), reference=tmp_path / "empty").check()
    )
