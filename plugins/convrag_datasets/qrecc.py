"""dataset=qrecc: QReCC."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from convrag import Turn
from convrag_datasets.conversations import TurnRow, format_row_id, group_rows
from convrag_datasets.file_dataset import Contents, PublishedDataset
from convrag_datasets.row_files import read_json_rows
from convrag_datasets.rows import Row

_NAMES = {
    "test": ("scai-qrecc21-test-turns.json", "qrecc_test.json"),
    "train": ("scai-qrecc21-training-turns.json", "qrecc_train.json"),
}
"""SCAI's files come first: they alone have the relevant passages."""


class QreccDataset(PublishedDataset):
    """QReCC: conversations with a rewrite of each question by people, and an answer from the web.

        python -m convrag task=evaluate task.run=run.trec dataset=qrecc dataset.path=qrecc

    Either the files of github.com/apple/ml-qrecc (qrecc_test.json), or the files of the shared task SCAI-QReCC 2021
    (scai-qrecc21-test-turns.json), which have the relevant passages (grade 1). Turn ids are conversation_turn ("74_2");
    the rewrites by people are for rewriter=replay. Labels: `source` (trec, quac or nq), `answerability`. The 54 million
    passages are published apart from it. Source: Anantha et al., NAACL 2021.

    Args:
        path: the folder of the files; they may also be in data/, dataset/ or qrecc_data/ below it.
        split: test or train.
        corpus: JSONL file of passages, as dataset=jsonl has them, with the ids of the shared task.
    """

    source = "github.com/apple/ml-qrecc"
    no_corpus = (
        "QReCC's passages are web pages, published apart from it (zenodo.org/record/5115890): "
        "dataset.corpus=FILE.jsonl names a file of those that you have"
    )

    def __init__(self, *, path: Path, split: Literal["test", "train"] = "test", corpus: Path | None = None) -> None:
        below = (path / name for name in ("data", "dataset", "qrecc_data", "dataset/qrecc_data"))
        super().__init__(folders=[path, *below], corpus=corpus)
        self._names = _NAMES[split]

    def list_files(self) -> Iterable[Path | None]:
        """The file of the split."""
        return (self._find(),)

    def read_contents(self) -> Contents:
        """Read the split. Raises DataError."""
        path = self._find() or self.require(*reversed(self._names))
        grades: dict[str, dict[str, int]] = {}
        rewrites: dict[str, str] = {}
        conversations = tuple(group_rows(_read_rows(path, grades, rewrites)))
        note = "" if grades else "QReCC was read without judgements: those are in scai-qrecc21-test-turns.json."
        return Contents(conversations, grades, {"manual": rewrites} if rewrites else {}, note)

    def _find(self) -> Path | None:
        return next(filter(None, map(self.find, self._names)), None)


def _read_rows(path: Path, grades: dict[str, dict[str, int]], rewrites: dict[str, str]) -> Iterator[TurnRow]:
    """Yield the turns, and put their relevant passages and rewrites into the dictionaries."""
    for node in read_json_rows(path):
        row = _read_row(node)
        if relevant := [each.read_id() for each in node.optional_items("Truth_passages")]:
            grades[row.turn.id] = dict.fromkeys(relevant, 1)
        if rewrite := node.optional_text("Rewrite", "Truth_rewrite").strip():
            rewrites[row.turn.id] = rewrite
        yield row


def _read_row(node: Row) -> TurnRow:
    conversation, number = node.require_id("Conversation_no"), node.require_number("Turn_no")
    answer = node.optional_text("Answer", "Truth_answer").strip()
    labels: dict[str, Any] = {"answerability": "ANSWERABLE" if answer else "UNANSWERABLE"}
    if source := node.optional_text("Conversation_source"):
        labels["source"] = source
    turn = Turn(format_row_id(conversation, number), node.require_text("Question"), answer, labels=labels)
    return TurnRow(node, conversation, number, turn)
