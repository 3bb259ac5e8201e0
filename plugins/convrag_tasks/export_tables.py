"""Folders and tables that an export writes: BEIR's layout, and CSV."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from convrag import TurnRecord
from convrag.sdk.data.strict_json import format_json
from convrag.sdk.files import encode_name
from convrag.sdk.folders import write_folder
from convrag_tasks.run_records import ExportInputs

Queries = Literal["rewritten", "asked"]

_FIRST = ("turn_id", "conversation_id", "domain", "turn", "question", "rewritten_query", "answer")
_LAST = ("citations", "passages", "error")


def format_csv_lines(
    records: Sequence[TurnRecord], scores: Mapping[str, Mapping[str, float]]
) -> Iterator[str]:
    """The lines of the file as RFC 4180 has them, with their line ends; the heading first.

    A value that a turn does not have is an empty field. Ids of citations and passages are joined
    with spaces. A field with a line break is quoted.

    Args:
        records: of the run.
        scores: turn id -> measure -> value.
    """
    labels = list(dict.fromkeys(name for record in records for name in record.labels))
    measures = list(dict.fromkeys(name for values in scores.values() for name in values))
    rows: list[list[object]] = [[*_FIRST, *labels, *_LAST, *measures]]
    rows += [
        _make_csv_row(
            record, labels, [scores.get(record.turn_id, {}).get(name, "") for name in measures]
        )
        for record in records
    ]
    for row in rows:
        text = io.StringIO()
        csv.writer(text, lineterminator="\r\n").writerow(
            row
        )  # before 3.13, only its characters are quoted
        yield text.getvalue()


def _make_csv_row(
    record: TurnRecord, labels: Sequence[str], values: Sequence[object]
) -> list[object]:
    position = [record.turn_id, record.conversation_id, record.domain, record.number]
    texts = [record.original_query, record.rewritten_query, record.answer.text]
    hits = " ".join(hit.passage.id for hit in record.hits)
    last = [" ".join(record.answer.citations), hits, record.error]
    return [
        *position,
        *texts,
        *(join_label(record.labels.get(name, "")) for name in labels),
        *last,
        *values,
    ]


def join_label(value: object) -> object:
    """A label as one value: several, such as question types, with plus signs."""
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else value


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a file of lines, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def write_beir(path: Path, inputs: ExportInputs, queries: Queries, *, with_run: bool) -> None:
    """Write the folder. With several domains, there is a folder for each, since BEIR has one
    corpus.

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
            write_lines(place / "corpus.jsonl", _format_corpus(inputs, domain))
            write_lines(
                place / "queries.jsonl",
                (format_json({"_id": name, "text": rows[name]}) for name in rows),
            )
            write_lines(
                place / "qrels" / "test.tsv",
                _format_qrels({name: qrels.get(name, {}) for name in rows}),
            )
    judged = sum(bool(qrels.get(name)) for rows in texts.values() for name in rows)
    inputs.remarks.append(f"{sum(map(len, texts.values()))} queries, {judged} of them with qrels.")


def _list_queries(
    inputs: ExportInputs, queries: Queries, *, with_run: bool
) -> dict[str, dict[str, str]]:
    """Domain -> turn id -> text."""
    found: dict[str, dict[str, str]] = {}
    if with_run:
        turns = inputs.turns
        for record in inputs.records:
            domain = turns[record.turn_id].conversation.domain
            found.setdefault(domain, {})[record.turn_id] = (
                record.rewritten_query if queries == "rewritten" else record.original_query
            )
    else:
        for turn_id, place in inputs.all_turns.items():
            found.setdefault(place.conversation.domain, {})[turn_id] = place.turn.question
    return found or {
        domain: {} for domain in inputs.dataset.domains()
    }  # documents have no questions


def _format_corpus(inputs: ExportInputs, domain: str) -> Iterator[str]:
    for passage in inputs.dataset.corpus(domain):
        url = {"url": passage.url} if passage.url else {}
        metadata = {"metadata": dict(passage.metadata)} if passage.metadata else {}
        yield format_json(
            {"_id": passage.id, "title": passage.title, "text": passage.text, **url, **metadata}
        )


def _format_qrels(qrels: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    yield "query-id\tcorpus-id\tscore"
    for turn, grades in qrels.items():
        for passage, grade in grades.items():
            yield f"{turn}\t{passage}\t{grade}"
