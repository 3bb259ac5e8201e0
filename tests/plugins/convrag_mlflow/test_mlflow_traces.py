"""`tracker.traces=true`: each turn is a trace of its run, read back as MLflow's own client gives
it.
"""

import json
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from commands import LIBRARIES, drop_progress, run_convrag
from convrag import Question, Run, RunSummary, TurnRecord
from convrag.testing.samples import make_records
from convrag_mlflow.tracker import MlflowTracker
from llm_server import Server, make_error, make_reply
from mlflow_database import (
    ENVIRONMENT,
    copy_database,
    find_span,
    name_stages,
    read_runs,
    read_traces,
)
from mlflow_server import serve_mlflow
from tasks import run_task

pytest.importorskip("mlflow")
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own libraries
needs_litellm = pytest.mark.skipif(not find_spec("litellm"), reason="needs litellm")

QUICK = ("rewriter=last_n", "generator=none", "limit=1", "metrics=[ranking]", "tracker.traces=true")
STAGES = ["memory", "rewriter", "retriever", "reranker", "selector", "context", "generator"]
TURNS = 7
"""In the first conversation of the sample."""

SUMMARY = RunSummary({"nDCG@5": 0.5}, {}, {"overall": 1}, 2, 1, {}, {}, {}, 0.1)


@pytest.fixture
def here(tmp_path: Path, database: Path) -> Path:
    copy_database(database, tmp_path)
    return tmp_path


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def convrag(
    *arguments: str, folder: Path, status: int = 0, **variables: str
) -> subprocess.CompletedProcess[str]:
    with patch.dict("os.environ", variables):
        done = run_task(arguments, folder)
    assert done.returncode == status, done.stdout[-2000:] + done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    return done


def ask_server(
    server: Server, *arguments: str, folder: Path, status: int = 0
) -> subprocess.CompletedProcess[str]:
    model = (
        "llm=openai_compatible",
        "llm.model=openai/x",
        f"llm.api_base={server.address}",
        "llm.retries=0",
    )
    command = (*model, "limit=1", "metrics=[ranking]", "tracker.traces=true", *arguments)
    return convrag(*command, folder=folder, status=status, OPENAI_API_KEY="key-of-the-server")


def test_each_turn_is_a_trace_of_the_run_with_its_stages(here: Path) -> None:
    done = convrag(*QUICK, "reranker=bm25", folder=here)
    assert drop_progress(done.stderr) == ""
    (run,) = read_runs(here)
    traces = read_traces(here, run["id"])
    assert len(traces) == len(read_traces(here)) == TURNS
    assert [trace.info.tags["convrag.number"] for trace in traces] == [
        str(n) for n in range(1, TURNS + 1)
    ]
    sessions = {trace.info.trace_metadata["mlflow.trace.session"] for trace in traces}
    assert sessions == {f"moon-basics ({run['id'][:8]})"}, (
        "another run's turns of this conversation are another session"
    )
    assert {trace.info.tags["convrag.conversation"] for trace in traces} == {"moon-basics"}
    assert {trace.info.trace_metadata["mlflow.sourceRun"] for trace in traces} == {run["id"]}
    (path,) = here.glob("out/intermediate/*.jsonl")
    for trace, record in zip(traces, map(json.loads, path.read_text().splitlines()), strict=True):
        assert name_stages(trace) == STAGES
        assert trace.info.state == "OK"
        assert trace.info.request_preview == record["original_query"]
        assert trace.info.tags["convrag.turn"] == record["turn_id"]
        root, *stages = trace.data.spans
        assert root.inputs == {"question": record["original_query"]}
        assert root.start_time_ns <= stages[0].start_time_ns
        assert root.end_time_ns >= stages[-1].end_time_ns
        assert (
            run["start"] - 1000 <= root.start_time_ns / 1e6 <= root.end_time_ns / 1e6 <= run["end"]
        )
        for before, after in pairwise(stages):
            assert before.start_time_ns <= before.end_time_ns <= after.start_time_ns
        took = {span.name: (span.end_time_ns - span.start_time_ns) / 1e9 for span in stages}
        assert took == pytest.approx(record["timings"], abs=0.002)
        assert find_span(trace, "rewriter").outputs == {"queries": record["queries"]}
        ranking = [
            (each["id"], each["score"]) for each in find_span(trace, "reranker").outputs["ranking"]
        ]
        assert ranking == [(each["id"], each["score"]) for each in record["contexts"]]


def test_a_retriever_shows_documents_in_its_own_order_not_the_rerankers(here: Path) -> None:
    convrag(*QUICK, "reranker=embedding", "embedder=lsa", folder=here)
    trace = read_traces(here)[1]
    span, reranker = find_span(trace, "retriever"), find_span(trace, "reranker")
    assert (span.span_type, reranker.span_type) == ("RETRIEVER", "RERANKER")
    scores = [document["metadata"]["score"] for document in span.outputs]
    assert scores == sorted(scores, reverse=True)
    assert [document["metadata"]["rank"] for document in span.outputs] == list(range(1, 11))
    assert all(
        document["page_content"] and document["metadata"]["title"] for document in span.outputs
    )
    found, reranked = (
        [each["id"] for each in each_list]
        for each_list in (span.outputs, reranker.outputs["ranking"])
    )
    assert sorted(found) == sorted(reranked)
    assert found != reranked


def test_a_memory_shows_the_history_that_the_turn_saw(here: Path) -> None:
    convrag(*QUICK, "generator=direct", "history=gold", folder=here)
    first, second, *_ = read_traces(here)
    assert find_span(first, "memory").inputs["history"] == []
    (shown,) = find_span(second, "memory").inputs["history"]
    root = first.data.spans[0]
    assert shown == {
        "question": root.inputs["question"],
        "answer": root.attributes["convrag.reference"],
    }


@needs_litellm
def test_calls_of_a_language_model_have_prompts_tokens_and_the_store(
    server: Server, here: Path
) -> None:
    server.plan_replies({**make_reply("It is the Moon [1]."), "model": "served-name"})
    for _ in range(2):
        ask_server(server, "rewriter=condense", "generator=direct", folder=here)
    asked, stored = (read_traces(here, run["id"]) for run in read_runs(here))
    assert len(asked) == len(stored) == TURNS
    calls = [
        [span for span in trace.data.spans if span.span_type == "CHAT_MODEL"]
        for trace in (asked[1], stored[1])
    ]
    for trace, spans in zip((asked[1], stored[1]), calls, strict=True):
        by_id = {span.span_id: span for span in trace.data.spans}
        assert [by_id[span.parent_id].name for span in spans] == ["rewriter", "generator"]
        for span in spans:
            parent = by_id[span.parent_id]
            assert (
                parent.start_time_ns <= span.start_time_ns <= span.end_time_ns <= parent.end_time_ns
            )
            assert {message["role"] for message in span.inputs["messages"]} <= {
                "system",
                "user",
                "assistant",
            }
            assert span.outputs["choices"][0]["message"]["content"] == "It is the Moon [1]."
            assert span.attributes["mlflow.llm.model"] == "served-name"
            assert span.attributes["mlflow.chat.tokenUsage"]["total_tokens"] == 10
        assert (
            json.loads(trace.info.trace_metadata["mlflow.trace.tokenUsage"])["input_tokens"] == 14
        )
    assert [[span.attributes["convrag.stored"] for span in spans] for spans in calls] == [
        [False] * 2,
        [True] * 2,
    ]
    answer = asked[1].data.spans[0].outputs
    assert (answer["answer"], [each["number"] for each in answer["citations"]]) == (
        "It is the Moon [1].",
        [1],
    )


@needs_litellm
def test_stages_that_fall_back_and_fail_say_why(server: Server, here: Path) -> None:
    server.plan_replies(make_error(400, "not today"))
    ask_server(server, "rewriter=condense", "generator=direct", folder=here, status=1)
    trace = read_traces(here)[1]
    assert trace.info.state == "ERROR"
    assert trace.info.tags["convrag.error"].startswith("generator: ")
    assert trace.info.tags["convrag.fallbacks"] == "rewriter"
    rewriter, generator = find_span(trace, "rewriter"), find_span(trace, "generator")
    assert str(rewriter.status.status_code) == "SpanStatusCode.OK"
    assert [
        (event.name, "not today" in event.attributes["reason"]) for event in rewriter.events
    ] == [("fallback", True)]
    assert "not today" in rewriter.outputs["fallback"]
    assert str(generator.status.status_code) == "SpanStatusCode.ERROR"
    assert [
        (event.name, "not today" in event.attributes["exception.message"])
        for event in generator.events
    ] == [("exception", True)]
    assert generator.start_time_ns >= find_span(trace, "context").end_time_ns
    assert name_stages(trace) == STAGES
    (run,) = read_runs(here)
    assert run["status"] == "FAILED"


@pytest.mark.slow
def test_cells_have_their_own_traces_and_a_reused_cell_gets_no_second_ones(here: Path) -> None:
    grid = ("-m", *QUICK[1:], "rewriter=none,last_n")
    for _ in range(2):
        assert run_convrag(grid, here, environment=ENVIRONMENT, libraries=LIBRARIES).returncode == 0
    cells = {
        run["tags"]["mlflow.runName"]: run["id"]
        for run in read_runs(here)
        if "convrag.cell" in run["tags"]
    }
    assert sorted(cells) == ["last_n", "none"]
    for name, run_id in cells.items():
        traces = read_traces(here, run_id)
        assert len(traces) == TURNS
        assert {find_span(trace, "rewriter").attributes["convrag.option"] for trace in traces} == {
            name
        }
    assert len(read_traces(here)) == 2 * TURNS


def test_finished_turns_that_are_measured_again_are_not_traced_again(here: Path) -> None:
    convrag(*QUICK, folder=here)
    (here / "out").rename(here / "run")
    convrag(
        "task=evaluate", "task.records=run", "tracker.traces=true", "metrics=[ranking]", folder=here
    )
    assert len(read_runs(here)) == 2
    assert len(read_traces(here)) == TURNS


def test_hostile_text_and_keys_stay_out(here: Path) -> None:
    held = "held-by-the-environment-77"
    hostile = f"What \x1b[31m is \x00 \u202e it?{held}"
    turns = [{"id": f"{hostile}<::>{n}", "question": hostile, "answer": hostile} for n in (1, 2)]
    (here / "t.jsonl").write_text(json.dumps({"id": hostile * 20, "turns": turns}) + "\n")
    (here / "c.jsonl").write_text(
        json.dumps({"_id": hostile, "title": hostile, "text": f"it is {hostile}"}) + "\n"
    )
    data = (
        "dataset=jsonl",
        "dataset.conversations=t.jsonl",
        "dataset.corpus=c.jsonl",
        "tracker.traces=true",
    )
    convrag(
        *data, "rewriter=last_n", "generator=direct", "history=gold", folder=here, MY_API_KEY=held
    )
    traces = read_traces(here)
    assert [trace.info.state for trace in traces] == ["OK"] * 2
    for trace in traces:
        text = json.dumps(
            [trace.info.to_dict(), [span.to_dict() for span in trace.data.spans]],
            ensure_ascii=False,
        )
        assert held not in text
        assert not any(sign in text for sign in ("\x1b", "\\u001b", "\x00", "\\u0000", "\u202e"))
        assert trace.data.spans[0].inputs["question"].startswith("What ␛[31m is ␀ � it?***")
    with sqlite3.connect(here / "outputs/mlflow.db") as connection:
        dump = "\n".join(
            line for line in connection.iterdump() if "trace" in line or "span" in line
        )
    connection.close()
    assert held not in dump


@pytest.mark.slow
def test_a_database_that_takes_no_traces_costs_one_warning(here: Path) -> None:
    with sqlite3.connect(here / "outputs/mlflow.db") as connection:
        connection.execute("DROP TABLE spans")
    connection.close()
    done = run_convrag(QUICK, here, environment=ENVIRONMENT, libraries=LIBRARIES)
    (line,) = done.stderr.splitlines()
    assert "the traces of the run" in line
    assert "are not in MLflow, or not all: " in line
    (run,) = read_runs(here)
    assert (run["status"], run["metrics"]["turns"]) == ("FINISHED", TURNS)
    assert done.stdout.splitlines()[-1].startswith("Logged to MLflow.")


@pytest.mark.slow
def test_a_server_gets_the_traces_of_a_run(database: Path, tmp_path: Path) -> None:
    from mlflow import MlflowClient

    (tmp_path / "mlflow.db").write_bytes(database.read_bytes())
    with serve_mlflow(tmp_path) as address:
        done = convrag(*QUICK, "tracker=mlflow", f"tracker.uri={address}", folder=tmp_path)
        assert drop_progress(done.stderr) == ""
        client = MlflowClient(address)
        (run,) = client.search_runs([client.get_experiment_by_name("convrag").experiment_id])
        found = client.search_traces(locations=[run.info.experiment_id], run_id=run.info.run_id)
        assert len(found) == TURNS
        for trace in found:
            assert name_stages(trace) == STAGES
            assert len(find_span(trace, "retriever").outputs) == 10
            assert (
                trace.info.trace_metadata["mlflow.trace.session"]
                == f"moon-basics ({run.info.run_id[:8]})"
            )


def make_tracker(folder: Path) -> MlflowTracker:
    return MlflowTracker(uri=f"sqlite:///{folder}/outputs/mlflow.db", traces=True)


def make_question(record: TurnRecord) -> Question:
    return Question(
        record.original_query, record.conversation_id, record.turn_id, record.domain, record.number
    )


def watch_sample(tracker: MlflowTracker, run: Run) -> Sequence[Any]:
    """Let the tracker follow the records of the contract's sample."""
    tracker.convrag_run_started(run)
    records = make_records()
    for record in records:
        tracker.convrag_turn_started(question := make_question(record), run.config)
        for stage in record.timings or ("rewriter",):
            tracker.convrag_stage_finished(question, stage, record)
        tracker.convrag_turn_ended(question, record)
        tracker.convrag_turn_finished(run, record)
    return records


def test_an_interrupted_run_has_no_traces(here: Path) -> None:
    tracker, run = make_tracker(here), Run(here / "run", {}, 1, 2)
    watch_sample(tracker, run)
    tracker.convrag_run_failed(run, "interrupted", interrupted=True)
    assert (read_runs(here), read_traces(here)) == ([], [])


def test_a_cell_that_is_run_again_has_the_traces_of_its_last_run(here: Path) -> None:
    (here / "sweep/cell").mkdir(parents=True)
    run = Run(here / "sweep/cell", {}, 1, 2, sweep="a-grid")
    records = watch_sample(tracker := make_tracker(here), run)
    tracker.convrag_run_failed(run, "the disk is full", interrupted=False)
    assert len(read_traces(here)) == len(records), "those until the error"
    watch_sample(tracker := make_tracker(here), run)
    tracker.convrag_run_finished(run, SUMMARY)
    (last,) = read_runs(here)
    assert Counter(
        trace.info.trace_metadata["mlflow.sourceRun"] for trace in read_traces(here)
    ) == {last["id"]: len(records)}
