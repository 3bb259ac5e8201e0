"""dataset=qrecc: QReCC."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from convrag import DataError, Passage, Turn
from convrag.sdk.data.jsonl import data_suffix
from convrag.sdk.identity import digest
from convrag_datasets.file_dataset import Contents
from convrag_datasets.files.json_rows import read_json_rows
from convrag_datasets.files.passages import fingerprint_corpus
from convrag_datasets.files.row import Row, with_ids
from convrag_datasets.files.turns import TurnRow, format_row_id, group_rows
from convrag_datasets.published_dataset import PublishedDataset

_JUDGED_NAMES = {
    "test": "scai-qrecc21-test-turns.json",
    "train": "scai-qrecc21-training-turns.json",
}
"""The files of the shared task, which alone have the relevant passages."""

_PLAIN_NAMES = {"test": "qrecc_test.json", "train": "qrecc_train.json"}
"""The files of github.com/apple/ml-qrecc."""


class QreccDataset(PublishedDataset):
    """QReCC: conversations with a rewrite of each question by people, and an answer from the web.

        python -m convrag task=evaluate task.run=run.trec dataset=qrecc dataset.path=qrecc

    The folder has the files of the shared task SCAI-QReCC 2021 (scai-qrecc21-test-turns.json),
    which name the relevant passages (grade 1), or those of github.com/apple/ml-qrecc
    (qrecc_test.json), which do not. Where both are there, the former are read. Turn ids are
    conversation_turn ("74_2"). The rewrites by people are for rewriter=replay. Labels: `source`
    (trec, quac or nq), `answerability`. The 54 million passages are published apart from it.
    Source: Anantha et al., Open-Domain Question Answering Goes Conversational via Question
    Rewriting, NAACL 2021.

    Args:
        path: the folder of the files; they may also be in data/, dataset/ or qrecc_data/ in it.
        split: test or train.
        corpus: the unpacked passages.zip of the shared task, or any other folder of JSONL files, or
            one such file; a line is {"id": ..., "contents": ...}, or a passage as dataset=jsonl has
            them.
    """

    source = "github.com/apple/ml-qrecc, or of zenodo.org/records/5543685"
    corpus_code = (__name__,)
    no_corpus = (
        "QReCC's passages are web pages, published apart from it (passages.zip of "
        "zenodo.org/records/5543685): dataset.corpus=FOLDER names the unpacked files"
    )

    def __init__(
        self, *, path: Path, split: Literal["test", "train"] = "test", corpus: Path | None = None
    ) -> None:
        inner = ("data", "dataset", "qrecc_data", "dataset/qrecc_data")
        folders = [path, *(path / name for name in inner)]
        super().__init__(folders=folders, corpus=corpus)
        self._judged_name = _JUDGED_NAMES[split]
        self._plain_name = _PLAIN_NAMES[split]

    def list_files(self) -> Iterable[Path | None]:
        """List the file of the split, and the files of the corpus where it is a folder."""
        turns = self.find(self._judged_name) or self.find(self._plain_name)
        if self._corpus is not None and self._corpus.is_dir():
            return (turns, *_list_passage_files(self._corpus))
        return (turns,)

    def read_contents(self) -> Contents:
        """Read the split. Raises DataError."""
        path = self.find(self._judged_name)
        if path is None:
            path = self.require(self._plain_name, self._judged_name)
        marks = _Marks()
        conversations = tuple(group_rows(_read_rows(path, marks)))
        note = ""
        if not marks.grades:
            note = f"QReCC was read without judgements, which {self._judged_name} has."
        rewrites = {"manual": marks.rewrites} if marks.rewrites else {}
        return Contents(conversations, marks.grades, rewrites, note)

    def read_corpus(self, path: Path, domain: str) -> Iterator[Passage]:
        """Stream the passages of a folder of files, or of one file. Raises DataError."""
        files = _list_passage_files(path)
        rows = chain.from_iterable(read_json_rows(file) for file in files)
        for name, row in with_ids(rows, "passage", _read_passage_id):
            text = row.get("contents", "text").read_text()
            yield Passage(name, text, row.optional_text("title"), row.optional_text("url"))

    def corpus_fingerprint(self, domain: str) -> str:
        """Return a hash of the files of the corpus and of the code that reads it.

        Raises DataError where there is none.
        """
        if self._corpus is None or not self._corpus.is_dir():
            return super().corpus_fingerprint(domain)
        files = _list_passage_files(self._corpus)
        code = self.hash_corpus_code()
        return digest([*(fingerprint_corpus(file) for file in files), code])


@dataclass
class _Marks:
    """The relevant passages and the rewrites of the turns read so far."""

    grades: dict[str, dict[str, int]] = field(default_factory=dict)
    rewrites: dict[str, str] = field(default_factory=dict)


def _read_rows(path: Path, marks: _Marks) -> Iterator[TurnRow]:
    """Stream the turns, and add their relevant passages and rewrites to the marks."""
    for node in read_json_rows(path):
        row = _read_row(node)
        relevant = [passage.read_id() for passage in node.optional_items("Truth_passages")]
        if relevant:
            marks.grades[row.turn.id] = dict.fromkeys(relevant, 1)
        rewrite = node.optional_text("Truth_rewrite", "Rewrite").strip()
        if rewrite:
            marks.rewrites[row.turn.id] = rewrite
        yield row


def _read_row(node: Row) -> TurnRow:
    conversation = node.require_id("Conversation_no")
    number = node.require_number("Turn_no")
    answer = node.optional_text("Truth_answer", "Answer").strip()
    labels: dict[str, Any] = {"answerability": "ANSWERABLE" if answer else "UNANSWERABLE"}
    source = node.optional_text("Conversation_source").strip()
    if source:
        labels["source"] = source
    turn = Turn(
        format_row_id(conversation, number), node.require_text("Question"), answer, labels=labels
    )
    return TurnRow(node, conversation, number, turn)


def _read_passage_id(row: Row) -> str:
    return row.require_id("id", "_id")


def _list_passage_files(path: Path) -> list[Path]:
    """List the JSONL files of a folder by name; a file is the only one of itself.

    Raises DataError for a folder without such files.
    """
    if not path.is_dir():
        return [path]
    files = [file for file in path.rglob("*") if file.is_file() and data_suffix(file) == ".jsonl"]
    if not files:
        raise DataError("this folder holds no .jsonl files of passages", path=path)
    return sorted(files)
