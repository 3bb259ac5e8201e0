"""Folders and tables that an export writes: a data set of the Hugging Face hub, BEIR's layout, and CSV."""

import csv
import io
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from convrag import ConfigError, DataError, TurnRecord
from convrag.sdk.cancelling import if_abandoned
from convrag.sdk.errors import MissingExtra
from convrag.sdk.files import encode_name
from convrag.sdk.strict_json import format_json
from convrag_tasks.export_samples import Queries, choose_query
from convrag_tasks.run_records import ExportInputs

_BATCH = 1000  # rows in memory
_FILES = {"parquet": "data/test-00000-of-00001.parquet", "jsonl": "data/test.jsonl"}
_TEXTS = ("conversation_id", "turn_id", "domain", "question", "rewritten_query", "response", "reference", "error")


def write_huggingface(
    path: Path,
    name: str,
    records: Sequence[TurnRecord],
    scores: Mapping[str, Mapping[str, float]],
    table: Literal["parquet", "jsonl"],
) -> None:
    """Write the folder.

    Args:
        path: the folder.
        name: of the run, for the card.
        records: of the run, a row each.
        scores: turn id -> measure -> value.
        table: the format of the rows.

    Raises:
        ConfigError: the folder exists and is not empty, or cannot be written.
        MissingExtra: pyarrow is not installed, which Parquet needs.
    """
    labels = list(dict.fromkeys(label for record in records for label in record.labels))
    measures = list(dict.fromkeys(measure for values in scores.values() for measure in values))
    rows = [_make_row(record, labels, measures, scores.get(record.turn_id, {})) for record in records]
    with write_folder(path) as folder:
        file = folder / _FILES[table]
        if table == "parquet":
            file.parent.mkdir()
            _write_parquet(file, rows, labels, measures)
        else:
            write_lines(file, map(format_json, rows))
        write_lines(folder / "README.md", [_format_card(name, rows, table)])


def _make_row(
    record: TurnRecord, labels: Sequence[str], measures: Sequence[str], scores: Mapping[str, float]
) -> dict[str, Any]:
    return {
        "conversation_id": record.conversation_id,
        "turn_id": record.turn_id,
        "turn": record.number,
        "domain": record.domain,
        "question": record.original_query,
        "rewritten_query": record.rewritten_query,
        "response": record.answer.text,
        "reference": record.reference,
        "error": record.error,
        "contexts": [
            {"id": hit.passage.id, "title": hit.passage.title, "text": hit.passage.text, "score": hit.score}
            for hit in record.hits
        ],
        "evidence": [item.passage.id for item in record.evidence.items],
        "citations": list(record.answer.citations),
        "relevant": [name for name, grade in record.gold.items() if grade > 0],
        **{f"label_{name}": _format_label(record.labels.get(name)) for name in labels},
        **{f"score_{name}": scores.get(name) for name in measures},
    }


def _format_label(value: object) -> str | None:
    return None if value is None else str(join_label(value))


def _write_parquet(path: Path, rows: Sequence[dict[str, Any]], labels: Sequence[str], measures: Sequence[str]) -> None:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise MissingExtra("pyarrow", "convrag[parquet]", "task.format=huggingface") from error
    text, number = pyarrow.string(), pyarrow.float64()
    passage = pyarrow.struct([("id", text), ("title", text), ("text", text), ("score", number)])
    kinds = dict.fromkeys(_TEXTS, text) | {"turn": pyarrow.int64(), "contexts": pyarrow.list_(passage)}
    kinds |= dict.fromkeys(("evidence", "citations", "relevant"), pyarrow.list_(text))
    kinds |= {f"label_{name}": text for name in labels} | {f"score_{name}": number for name in measures}
    schema = pyarrow.schema([(column, kinds[column]) for column in rows[0]])
    with ParquetWriter(path, schema) as writer:
        for start in range(0, len(rows), _BATCH):
            writer.write_table(pyarrow.Table.from_pylist(list(rows[start : start + _BATCH]), schema))


def _format_card(name: str, rows: Sequence[Mapping[str, Any]], table: Literal["parquet", "jsonl"]) -> str:
    return f"""\
---
configs:
- config_name: default
  data_files:
  - split: test
    path: {_FILES[table]}
tags:
- conversational-rag
- convrag
---

# {name}

A run of convrag: {len(rows)} turns, a row each.

| column | value |
| --- | --- |
| `question`, `rewritten_query` | the user's words, and the first query that was searched for |
| `response`, `citations` | the answer, and the ids of the passages that it cites |
| `contexts`, `evidence` | the ranking, best first, and the ids of the passages that the answer was given |
| `reference`, `relevant` | the data set's answer, and the ids of its relevant passages |
| `label_*`, `score_*` | the data set's labels, and the measures of the turn; null where there is none |"""


_FIRST = ("turn_id", "conversation_id", "domain", "turn", "question", "rewritten_query", "answer")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_LAST = ("citations", "passages", "error")


def format_csv_lines(
    records: Sequence[TurnRecord], scores: Mapping[str, Mapping[str, float]], *, escape_formulas: bool = False
) -> Iterator[str]:
    """The lines of the file as RFC 4180 has them, with their line ends; the heading first.

    A value that a turn does not have is an empty field. Ids of citations and passages are joined with spaces. A field
    with a line break is quoted.

    Args:
        records: of the run.
        scores: turn id -> measure -> value.
        escape_formulas: write an apostrophe before texts that spreadsheets would compute.
    """
    labels = list(dict.fromkeys(name for record in records for name in record.labels))
    measures = list(dict.fromkeys(name for values in scores.values() for name in values))
    rows: list[list[object]] = [[*_FIRST, *labels, *_LAST, *measures]]
    rows += [
        _make_csv_row(record, labels, [scores.get(record.turn_id, {}).get(name, "") for name in measures])
        for record in records
    ]
    for row in rows:
        text = io.StringIO()
        safe = map(_escape_formula, row) if escape_formulas else row
        csv.writer(text, lineterminator="\r\n").writerow(safe)  # before 3.13, only its characters are quoted
        yield text.getvalue()


def _make_csv_row(record: TurnRecord, labels: Sequence[str], values: Sequence[object]) -> list[object]:
    position = [record.turn_id, record.conversation_id, record.domain, record.number]
    texts = [record.original_query, record.rewritten_query, record.answer.text]
    hits = " ".join(hit.passage.id for hit in record.hits)
    last = [" ".join(record.answer.citations), hits, record.error]
    return [*position, *texts, *(join_label(record.labels.get(name, "")) for name in labels), *last, *values]


def join_label(value: object) -> object:
    """A label as one value: several, such as question types, with plus signs."""
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else value


def _escape_formula(field: object) -> object:
    """A text that begins as a formula does, after an apostrophe, as OWASP advises against CSV injection."""
    return f"'{field}" if isinstance(field, str) and field.startswith(_FORMULA) else field


@contextmanager
def write_folder(path: Path) -> Iterator[Path]:
    """Give a new folder beside `path`, which is renamed to `path` at the end of the block, or removed where it fails.

    Raises:
        ConfigError: the folder exists and is not empty, or cannot be written.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigError(f"task.path={path} exists: name a folder that is new or empty")
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}.unfinished")

    def discard() -> None:
        shutil.rmtree(unfinished, ignore_errors=True)

    with if_abandoned(discard):
        try:
            unfinished.mkdir(parents=True)
            yield unfinished
            unfinished.replace(path)
        except OSError as error:
            raise ConfigError(f"task.path={path} cannot be written: {error.strerror}") from error
        finally:
            discard()


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a file of lines, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def write_beir(path: Path, inputs: ExportInputs, queries: Queries, *, with_run: bool) -> None:
    """Write the folder. With several domains, there is a folder for each, since BEIR has one corpus.

    Args:
        path: the folder.
        inputs: its data set, and its run if there is one.
        queries: whether the queries of a run are the rewritten ones or the user's words.
        with_run: whether the queries are the run's; else they are all questions of the data set.

    Raises:
        ConfigError: the folder exists and is not empty, or cannot be written.
        DataError: the run is of another data set, or there are no queries.
    """
    texts = _list_queries(inputs, queries, with_run=with_run)
    qrels = inputs.dataset.qrels()
    with write_folder(path) as folder:
        for domain, rows in texts.items():
            place = folder / encode_name(domain) if len(texts) > 1 else folder
            write_lines(place / "corpus.jsonl", _format_corpus(inputs, domain))
            write_lines(place / "queries.jsonl", (format_json({"_id": name, "text": rows[name]}) for name in rows))
            write_lines(place / "qrels" / "test.tsv", _format_qrels({name: qrels.get(name, {}) for name in rows}))
    judged = sum(bool(qrels.get(name)) for rows in texts.values() for name in rows)
    inputs.remarks.append(f"{sum(map(len, texts.values()))} queries, {judged} of them with qrels.")


def _list_queries(inputs: ExportInputs, queries: Queries, *, with_run: bool) -> dict[str, dict[str, str]]:
    """Domain -> turn id -> text."""
    found: dict[str, dict[str, str]] = {}
    if with_run:
        turns = inputs.turns
        for record in inputs.records:
            domain = turns[record.turn_id].conversation.domain
            found.setdefault(domain, {})[record.turn_id] = choose_query(record, queries)
    else:
        for turn_id, place in inputs.all_turns.items():
            found.setdefault(place.conversation.domain, {})[turn_id] = place.turn.question
    if not found:
        raise DataError("it has no questions", path="the data set")
    return found


def _format_corpus(inputs: ExportInputs, domain: str) -> Iterator[str]:
    for passage in inputs.dataset.corpus(domain):
        url = {"url": passage.url} if passage.url else {}
        metadata = {"metadata": dict(passage.metadata)} if passage.metadata else {}
        yield format_json({"_id": passage.id, "title": passage.title, "text": passage.text, **url, **metadata})


def _format_qrels(qrels: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    yield "query-id\tcorpus-id\tscore"
    for turn, grades in qrels.items():
        for passage, grade in grades.items():
            yield f"{turn}\t{passage}\t{grade}"
