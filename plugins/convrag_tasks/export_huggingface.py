"""A run as a data set of the Hugging Face hub: a folder with a file of rows and a card, which `load_dataset` reads."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from convrag import TurnRecord
from convrag.sdk.errors import MissingExtra
from convrag.sdk.strict_json import format_json
from convrag_tasks.export_csv import join_label
from convrag_tasks.export_folder import write_folder, write_lines

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
