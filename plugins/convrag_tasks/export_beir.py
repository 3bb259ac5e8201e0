"""BEIR's layout: the corpus, queries and qrels of a data set as a folder."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from convrag.sdk.data.strict_json import format_json
from convrag.sdk.files import encode_name
from convrag.sdk.folders import write_folder
from convrag_tasks.run_records import ExportInputs

Queries = Literal["rewritten", "asked"]


def write_beir(path: Path, inputs: ExportInputs, queries: Queries, *, with_run: bool) -> None:
    """Write the folder.

    With several domains, there is a folder for each, since BEIR has one corpus.

    Args:
        path: the folder.
        inputs: its data set, and its run if there is one.
        queries: whether the queries of a run are the rewritten ones or the user's words.
        with_run: whether the queries are the run's; else they are all questions of the data set.

    Raises:
        ConfigError: the folder exists and is not empty, or cannot be written.
        DataError: the run is of another data set.
    """
    texts = _list_queries(inputs, queries, with_run=with_run)
    qrels = inputs.dataset.qrels()
    with write_folder(path) as folder:
        for domain, rows in texts.items():
            place = folder / encode_name(domain) if len(texts) > 1 else folder
            _write_lines(place / "corpus.jsonl", _format_corpus(inputs, domain))
            _write_lines(place / "queries.jsonl", _format_queries(rows))
            grades = {turn_id: qrels.get(turn_id, {}) for turn_id in rows}
            _write_lines(place / "qrels" / "test.tsv", _format_qrels(grades))
    turn_ids = [turn_id for rows in texts.values() for turn_id in rows]
    judged = sum(bool(qrels.get(turn_id)) for turn_id in turn_ids)
    inputs.remarks.append(f"{len(turn_ids)} queries, {judged} of them with qrels.")


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a file of lines, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _list_queries(
    inputs: ExportInputs, queries: Queries, *, with_run: bool
) -> dict[str, dict[str, str]]:
    """List the queries, domain -> turn id -> text."""
    texts: dict[str, dict[str, str]] = {}
    if with_run:
        turns = inputs.turns
        for record in inputs.records:
            domain = turns[record.turn_id].conversation.domain
            text = record.rewritten_query if queries == "rewritten" else record.original_query
            texts.setdefault(domain, {})[record.turn_id] = text
    else:
        for turn_id, place in inputs.all_turns.items():
            texts.setdefault(place.conversation.domain, {})[turn_id] = place.turn.question
    # documents have no questions
    return texts or {domain: {} for domain in inputs.dataset.domains()}


def _format_corpus(inputs: ExportInputs, domain: str) -> Iterator[str]:
    for passage in inputs.dataset.corpus(domain):
        row: dict[str, object] = {
            "_id": passage.id,
            "title": passage.title,
            "text": passage.text,
        }
        if passage.url:
            row["url"] = passage.url
        if passage.metadata:
            row["metadata"] = dict(passage.metadata)
        yield format_json(row)


def _format_queries(texts: Mapping[str, str]) -> Iterator[str]:
    for turn_id, text in texts.items():
        yield format_json({"_id": turn_id, "text": text})


def _format_qrels(qrels: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Format the judgements.

    A negative grade becomes 0, not relevant: pytrec_eval, which BEIR uses, crashes for -2 or less.
    """
    yield "query-id\tcorpus-id\tscore"
    for turn_id, grades in qrels.items():
        for passage_id, grade in grades.items():
            yield f"{turn_id}\t{passage_id}\t{max(grade, 0)}"
