"""The subtopics of relevant passages: from a file of TREC's diversity judgements, else the documents they are from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from convrag import DataError, Dataset, Passage, Store
from convrag.sdk.jsonl import read_lines
from convrag_metrics.judged_passages import open_corpus

Subtopics = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Turn id -> id of a relevant passage -> its subtopics."""

_COLUMNS = 4


def read_subtopics(path: Path) -> Subtopics:
    """Read judgements of TREC's diversity tasks: turn, subtopic (a nugget, say), passage, grade.

    They stand between tabs or blanks. A passage has a subtopic where its grade is above 0. Raises DataError.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for line in read_lines(path):
        row = [column.strip() for column in (line.text.split("\t") if "\t" in line.text else line.text.split())]
        if len(row) != _COLUMNS or not all(row):
            raise line.error(f"there must be {_COLUMNS} columns (turn, subtopic, passage, grade), not {len(row)}")
        turn, subtopic, passage, grade = row
        if not grade.removeprefix("-").isdecimal():
            raise line.error(f"the grade must be an integer, not {grade!r}")
        subtopics = found.setdefault(turn, {})
        if int(grade) > 0 and subtopic not in subtopics.setdefault(passage, []):
            subtopics[passage].append(subtopic)
    if not found:
        raise DataError("this file holds no judgements", path=path)
    return {
        turn: {passage: tuple(subtopics) for passage, subtopics in passages.items() if subtopics}
        for turn, passages in found.items()
    }


def find_documents(
    dataset: Dataset, store: Store, turns: Iterable[tuple[str, str]], qrels: Mapping[str, Mapping[str, int]]
) -> Subtopics:
    """Find the document of each relevant passage: it is the passage's only subtopic.

    A passage that the corpus does not have is a document of its own.

    Args:
        dataset: has the corpora.
        store: where the passages are looked up.
        turns: (turn id, domain) of the turns.
        qrels: turn id -> passage id -> grade; a passage of grade 1 or more is relevant.
    """
    relevant: dict[str, dict[str, list[str]]] = {}
    for turn_id, domain in turns:
        relevant.setdefault(domain, {})[turn_id] = [id_ for id_, grade in qrels[turn_id].items() if grade > 0]
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for domain, ids_by_turn in relevant.items():
        corpus = open_corpus(dataset, domain, store)
        ids = dict.fromkeys(id_ for ids in ids_by_turn.values() for id_ in ids)
        names = {passage.id: name_document(passage) for passage in corpus.get_by_id(list(ids))} if corpus else {}
        found |= {turn: {id_: (names.get(id_, id_),) for id_ in ids} for turn, ids in ids_by_turn.items()}
    return found


def name_document(passage: Passage) -> str:
    """Name the document that a passage is from: `metadata["document"]`, else its address, its title, or its own id."""
    document = passage.metadata.get("document")
    address = passage.url if "://" in passage.url else ""
    return str(document) if document else address or passage.title or passage.id
