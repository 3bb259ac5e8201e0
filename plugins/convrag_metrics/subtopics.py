"""The subtopics of relevant passages: from a file of judgements, or the documents they are from."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from convrag import DataError, Dataset, Passage, Store
from convrag.sdk.data.jsonl import read_lines
from convrag.sdk.data.trec import decode_id, split_columns
from convrag.sdk.search.corpus import open_passages

Subtopics = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Turn id -> id of a relevant passage -> its subtopics."""

_COLUMNS = 4


def read_subtopics(path: Path) -> Subtopics:
    """Read judgements of TREC's diversity tasks: turn, subtopic (a nugget, say), passage, grade.

    Columns are separated by tabs or blanks. A passage has a subtopic where its grade is above 0.

    Raises:
        DataError: a line is broken, or there is none.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for line in read_lines(path):
        row = split_columns(line.text)
        if len(row) != _COLUMNS or not all(row):
            raise line.error(
                f"there must be {_COLUMNS} columns (turn, subtopic, passage, grade), not {len(row)}"
            )
        turn, subtopic, passage, grade = map(decode_id, row)
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
    dataset: Dataset,
    store: Store,
    turns: Iterable[tuple[str, str]],
    qrels: Mapping[str, Mapping[str, int]],
) -> Subtopics:
    """Find the document of each relevant passage: it is the passage's only subtopic.

    A passage that the corpus does not have is a document of its own.

    Args:
        dataset: has the corpora.
        store: where the passages are looked up.
        turns: turn id and domain.
        qrels: turn id -> passage id -> grade.
    """
    by_domain: dict[str, dict[str, list[str]]] = {}
    for turn_id, domain in turns:
        relevant = [passage_id for passage_id, grade in qrels[turn_id].items() if grade > 0]
        by_domain.setdefault(domain, {})[turn_id] = relevant
    subtopics: dict[str, dict[str, tuple[str, ...]]] = {}
    for domain, relevant_by_turn in by_domain.items():
        ids = dict.fromkeys(name for relevant in relevant_by_turn.values() for name in relevant)
        corpus = open_passages(dataset, domain, store)
        documents: dict[str, str] = {}
        if corpus:
            documents = {
                passage.id: name_document(passage) for passage in corpus.get_by_id(list(ids))
            }
        for turn_id, relevant in relevant_by_turn.items():
            subtopics[turn_id] = {name: (documents.get(name, name),) for name in relevant}
    return subtopics


def name_document(passage: Passage) -> str:
    """Name the document that a passage is from.

    That is `metadata["document"]`, else the passage's address, its title, or its own id.
    """
    document = passage.metadata.get("document")
    if document:
        return str(document)
    if "://" in passage.url:
        return passage.url
    return passage.title or passage.id
