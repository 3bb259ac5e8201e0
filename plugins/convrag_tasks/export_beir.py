"""A data set in BEIR's layout: corpus.jsonl, queries.jsonl and qrels/test.tsv."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from convrag import DataError
from convrag.sdk.files import encode_name
from convrag.sdk.strict_json import format_json
from convrag_tasks.export_folder import write_folder, write_lines
from convrag_tasks.export_inputs import ExportInputs
from convrag_tasks.export_samples import Queries, choose_query


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
