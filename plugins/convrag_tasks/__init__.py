"""Tasks: run, record, evaluate, export, chat and index.

* `run`: `task=run`, `task=record` and `task=index`.
* `first_run`: the output of `python -m convrag` alone: scores in words, and next steps.
* `hints`: a hint for people who talk about documents.
* `turn_trace`: a turn in plain words: why its query was searched for, and its tokens.
* `run_records`: the records and scores of a finished run.
* `chat`: `task=chat`.

Scoring what other systems wrote:

* `evaluate`: `task=evaluate`.
* `predictions`: predictions, matched with the turns of a data set.
* `prediction_files`: reads rankings in TREC runs, and answers in JSONL or JSON.
* `prediction_records`: records of turns, made of predictions.

Formats:

* `export`: `task=export`.
* `export_beir`: BEIR's layout.
* `export_csv`: CSV, a row for each turn.
* `export_inspectorraget`: the JSON of IBM's InspectorRAGet.
* `export_mtrag`: MTRAG's predictions.
* `export_samples`: samples of RAGAS, and test cases of DeepEval.
* `export_submission`: submissions to SemEval-2026 task 8.
"""

from collections.abc import Mapping
from typing import Any

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the tasks."""
    register(
        "task",
        "run",
        "convrag_tasks.run:RunTask",
        "Answer every question of the data set, measure, and write the results (the default).",
    )
    register(
        "task",
        "record",
        "convrag_tasks.run:RecordTask",
        "Run as task=run does, and write all replies of language models into a file for "
        "llm=replay.",
    )
    register(
        "task",
        "evaluate",
        "convrag_tasks.evaluate:EvaluateTask",
        "Score files with the chosen metrics: a TREC run, answers, or a finished run.",
    )
    register(
        "task",
        "export",
        "convrag_tasks.export:ExportTask",
        "Write a finished run for other tools, such as MTRAG's scripts, RAGAS, DeepEval, BEIR or "
        "TREC.",
    )
    register(
        "task",
        "chat",
        "convrag_tasks.chat.task:ChatTask",
        "Talk at the terminal: see what is searched for, the sources, and what to ask next.",
    )
    register(
        "task",
        "index",
        "convrag_tasks.run:IndexTask",
        "Build the index of the chosen retriever over the data set's corpora; ask no question.",
    )


@hookimpl
def convrag_conversations_started(config: Mapping[str, Any], model: str) -> None:
    """Tell who talks about documents, once, what an embedder would find."""
    from convrag_tasks.hints import tell_once

    tell_once(config)
