"""Readers of users' files as fuzz targets: the bytes of a file, and the function that reads it."""

import contextlib
import io
import json
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Any

from convrag import Conversation, Dataset, PromptTemplate, Turn, TurnRecord
from convrag.config.compose import compose
from convrag.run.records import read_records
from convrag.run.run_result import read_scores
from convrag.score.summary import read_summary
from convrag.sdk.data.inspectorraget import read_marked_answers
from convrag.sdk.llm.recording import read_recording
from convrag.store.json_text import parse_json
from convrag.sweep.sweep_file import read_sweep
from convrag_datasets.files.conversations import read_conversations
from convrag_datasets.files.passages import read_passages
from convrag_datasets.files.qrels import read_qrels
from convrag_datasets.files.queries import read_queries
from convrag_datasets.huggingface import HuggingfaceDataset
from convrag_datasets.mtrag import read_reference
from convrag_judging.nugget_files import read_nugget_labels, read_nuggets
from convrag_judging.rating_files import read_ratings
from convrag_judging.rubric import read_rubric
from convrag_metrics.bert_encoder import read_baseline
from convrag_metrics.rewrites import read_reference_rewrites
from convrag_replay.recorded_files import RecordedRankings, read_rewrites
from convrag_tasks.export_submission import read_tasks
from convrag_tasks.prediction_files import read_answers, read_trec_run

Reader = Callable[[Path], Any]

_MARKS = {
    "metrics": [
        {"name": "fit", "author": "human", "values": [{"value": "No", "numeric_value": 1}]}
    ],
    "documents": [{"document_id": "d", "text": "Tea is hot."}],
    "tasks": [{"task_id": "c<::>1", "contexts": [{"document_id": "d"}]}],
    "evaluations": [
        {
            "task_id": "c<::>1",
            "model_id": "m",
            "model_response": "Hot.",
            "annotations": {"fit": {"a": {"value": "No"}}},
        }
    ],
}


def _json_lines(*rows: Any) -> bytes:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()


def _read_preset(path: Path) -> Any:
    """The file as a preset of the group `seed`, in a folder that a command names."""
    folder = path.with_name("presets")
    (folder / "seed").mkdir(parents=True, exist_ok=True)
    (folder / "seed" / "mine.yaml").write_bytes(path.read_bytes())
    return compose("+seed=mine", f"hydra.searchpath=[file://{folder}]")


def _fill_template(path: Path) -> Any:
    return PromptTemplate("mine", package="convrag_basics", path=path).render(
        question="How far?", evidence=[]
    )


def _read_baseline(path: Path) -> Any:
    """The metric turns its ValueError into an error that names the file."""
    with contextlib.suppress(ValueError):
        read_baseline(path, 1)


def _read_stored_turn(path: Path) -> Any:
    """A row of the conversations' database, which turns its ValueError into an error that names the
    conversation.
    """
    with contextlib.suppress(ValueError):
        TurnRecord.from_dict(parse_json(path.read_bytes()))


_JUDGED = [Conversation("c", (Turn("c<::>1", "How far?"), Turn("q1", "How far?")))]
_CONTEXT = {"_id": "p1", "title": "Moon", "text": "The Moon is far.", "score": 1.5}
_RECORD = {
    "turn_id": "c<::>1",
    "conversation_id": "c",
    "domain": "default",
    "turn": 1,
    "original_query": "How far?",
    "rewritten_query": "How far is it?",
    "queries": [{"text": "How far is it?", "weight": 1.0}],
    "trace": {"rewriter": {"gate": "short"}},
    "contexts": [{"id": "p1", "title": "Moon", "text": "The Moon is far.", "score": 2.0}],
    "evidence": [{"number": 1, "id": "p1", "hint": False}],
    "agent_response": "Far. [1]",
    "citations": ["p1"],
    "timings": {"rewriter": 0.1},
    "usage": {"llm": {"calls": 1}},
    "fallbacks": {},
    "error": "",
    "labels": {"answerability": "ANSWERABLE"},
}
_STORED_TURN = {
    **_RECORD,
    "contexts": [{"id": "p1", "text": "The Moon is far.", "score": 2.0, "metadata": {"page": 3}}],
    "evidence": [{"number": 1, "id": "p1", "hint": False}],
    "usage": {"llm": {"calls": 1}},
    "fallbacks": {"reranker": "tired"},
    "reference": "Far.",
    "gold": {"p1": 1},
    "prompt": [{"role": "user", "content": "How far?"}],
    "attempt": 1,
}
_METRICS = {
    "state": "ok",
    "overall": {"nDCG@5": 0.5},
    "domains": {"default": {"nDCG@5": 0.5}},
    "scored": {"overall": 1, "default": 1},
    "turns": 1,
    "failed": 0,
    "fallbacks": {},
    "usage": {"llm": {"calls": 1, "cost_usd": 0.5}},
    "timings": {"rewriter": 0.1},
    "seconds": 0.9,
    "reports": {"ginger": {"lines": ["15 turns answered"], "answered": 15}},
    "stopped": "",
    "intervals": {"nDCG@5": [0.1, 0.9]},
    "slices": {"turn": {"1": {"turns": 1, "scores": {"nDCG@5": 0.5}}}},
    "always_fell_back": [],
    "failed_metrics": {},
    "main_measures": ["nDCG@5"],
}
_REFERENCE = {
    "task_id": "c<::>1",
    "conversation_id": "c",
    "Collection": "mt-rag-clapnq-elser-512-100-20240503",
    "input": [{"speaker": "user", "text": "How far?"}],
    "contexts": [{"document_id": "p1", "text": "The Moon is far."}],
    "targets": [{"speaker": "agent", "text": "Far."}],
    "Answerability": ["ANSWERABLE"],
}


def _read_finite_scores(path: Path) -> Any:
    """The scores of a run, which are written into other files."""
    turns = list(read_scores(path))
    assert all(isfinite(value) for turn in turns for value in turn.scores.values())
    return turns


def _read_all(dataset: Dataset) -> Any:
    return list(dataset.conversations()), dataset.qrels(), list(dataset.corpus("default"))


def _parquet(*rows: Any) -> list[bytes]:
    """A Parquet file of these rows; none where pyarrow is not installed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return []
    file = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), file)
    return [file.getvalue()]


_TURN_ROW = {
    "conversation_id": "c",
    "turn": 1,
    "question": "How far?",
    "answer": "Far.",
    "relevant": ["p1"],
}

FILE_READERS: dict[str, tuple[Reader, list[bytes]]] = {
    "corpus": (
        lambda path: list(read_passages(path)),
        [_json_lines(_CONTEXT, {"id": "p2", "text": "a\nb"})],
    ),
    "conversations": (
        lambda path: read_conversations(path, "default"),
        [
            _json_lines(
                {
                    "id": "c",
                    "turns": [{"question": "How far?", "answer": "Far.", "labels": {"a": "b"}}],
                }
            )
        ],
    ),
    "queries": (
        lambda path: read_queries(path, "default", with_history=True),
        [_json_lines({"_id": "c<::>1", "text": "|user|: How far?\n|user|: And Mars?"})],
    ),
    "qrels": (
        lambda path: read_qrels(path, _JUDGED),
        [b"query-id\tcorpus-id\tscore\nc<::>1\tp1\t1\n", b"q1 0 p1 2\nq1 0 p2 0\n"],
    ),
    "mtrag_reference": (
        lambda path: read_reference(path, ["clapnq"], ["clapnq"]),
        [_json_lines(_REFERENCE)],
    ),
    "json_array": (
        lambda path: read_conversations(path, "default"),
        [
            json.dumps(
                [{"id": "c", "messages": [{"role": "user", "content": "How far?"}]}, _TURN_ROW][:1]
            ).encode()
        ],
    ),
    "csv_turns": (
        lambda path: read_conversations(path, "default"),
        [
            b'conversation_id,turn,question,answer\nc,1,"How ""far"",\nis it?",Far.\nc,2,And Mars?,\n'
        ],
    ),
    "csv_messages": (
        lambda path: read_conversations(path, "default", {"content": "text"}),
        [b"conversation_id,role,text\nc,user,How far?\nc,assistant,Far.\n"],
    ),
    "tsv_corpus": (
        lambda path: list(read_passages(path)),
        [b"id\ttext\ttitle\tyear\np1\tThe Moon.\tMoon\t1969\n"],
    ),
    "parquet": (
        lambda path: list(read_passages(path)),
        _parquet({"id": "p1", "text": "The Moon.", "year": 1969}),
    ),
    "huggingface": (
        lambda path: _read_all(HuggingfaceDataset(name=str(path), columns={"answer": "response"})),
        [
            _json_lines(_TURN_ROW | {"response": "Far."}, {"question": "And Mars?", "id": 3}),
            _json_lines({"id": 3, "messages": {"role": ["user"], "content": ["Why?"]}}),
        ],
    ),
    "semeval_tasks": (read_tasks, [_json_lines(_REFERENCE)]),
    "recorded_trec": (RecordedRankings, [b"c<::>1 Q0 p1 1 3.5 bm25\nc<::>1 Q0 p2 2 1e-3 bm25\n"]),
    "recorded_records": (
        RecordedRankings,
        [_json_lines({"turn_id": "c", "contexts": [{"id": "p", "score": 1.5}]})],
    ),
    "trec_run": (read_trec_run, [b"c<::>1 Q0 p1 1 3.5 bm25\nc<::>1 Q0 p2 2 1e-3 bm25\n"]),
    "answers": (
        read_answers,
        [
            _json_lines(
                {
                    "turn_id": "c<::>1",
                    "answer": "Far.",
                    "contexts": [{"document_id": "p1", "text": "x"}],
                }
            ),
            _json_lines({"task_id": "c<::>1", "predictions": [{"text": "Far."}], "contexts": []}),
            _json_lines(
                {"_id": "c<::>1", "text": "|user|: How far is it?", "agent_response": "Far. [1]"}
            ),
        ],
    ),
    "records": (lambda path: list(read_records(path.parent)), [_json_lines(_RECORD)]),
    "metrics": (read_summary, [json.dumps(_METRICS).encode()]),
    "scores": (
        _read_finite_scores,
        [
            _json_lines(
                {
                    "turn_id": "t",
                    "conversation_id": "c",
                    "domain": "d",
                    "turn": 1,
                    "scores": {"nDCG@5": 1},
                }
            )
        ],
    ),
    "stored_turn": (_read_stored_turn, [json.dumps(_STORED_TURN).encode()]),
    "sweep": (
        lambda path: read_sweep(path.parent),
        [
            json.dumps(
                {
                    "id": "s",
                    "cells": [{"id": "a", "name": "rewriter=none", "overrides": ["rewriter=none"]}],
                }
            ).encode()
        ],
    ),
    "recording": (
        read_recording,
        [
            _json_lines(
                {"key": "00ff", "task": "answer", "prompt": "x", "text": "Far.", "prompt_tokens": 3}
            )
        ],
    ),
    "rewrites": (
        read_rewrites,
        [
            _json_lines(
                {"_id": "c<::>1", "text": "far?", "queries": [{"text": "far?", "weight": 0.5}]}
            )
        ],
    ),
    "reference_rewrites": (
        read_reference_rewrites,
        [_json_lines({"_id": "c<::>1", "text": "|user|: How far?"})],
    ),
    "nuggets": (
        read_nuggets,
        [_json_lines({"turn_id": "t", "nuggets": [{"text": "It is far.", "importance": "vital"}]})],
    ),
    "nugget_labels": (
        lambda path: read_nugget_labels([path]),
        [
            _json_lines(
                {"turn_id": "t", "nuggets": [{"text": "It is far.", "assignment": "support"}]}
            ),
            _json_lines({"turn_id": "t", "importance": ["vital"], "assignment": ["partial"]}),
        ],
    ),
    "ratings": (
        lambda path: read_ratings([path]),
        [_json_lines({"turn_id": "t", "annotator": "a", "scores": {"faithful": 4}})],
    ),
    "inspectorraget": (lambda path: list(read_marked_answers(path)), [json.dumps(_MARKS).encode()]),
    "rubric": (
        read_rubric,
        [
            b"lowest: 1\nhighest: 5\ncriteria:\n  faithful:\n    question: Is it?\n    levels: {1: no, 5: yes}\n"
        ],
    ),
    "bertscore_baseline": (_read_baseline, [b"LAYER,P,R,F\n0,0.1,0.2,0.3\n1,0.2,0.2,0.3\n"]),
    "template": (
        lambda path: PromptTemplate("mine", package="convrag_basics", path=path).render(
            question="How far?", history=[], evidence=[]
        ),
        [
            b"<|system|>\nAnswer.\n<|user|>\n{% for item in evidence %}[{{ item.number }}] {{ item.text }}{% endfor %}\n"
        ],
    ),
    "preset": (
        _read_preset,
        [
            b"# @package _global_\n# mine\ndefaults:\n  - override /rewriter: last_n\nrewriter:\n  n: 3\ntop_k: 20\n",
            b"# @package _global_\ntop_k: 20\ntop_n: ${top_k}\n",
        ],
    ),
}
