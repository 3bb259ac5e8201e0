"""dataset=coral: CORAL."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal

from convrag import Conversation, Passage, Turn
from convrag_datasets.conversations import format_row_id
from convrag_datasets.corpus import read_qrels
from convrag_datasets.file_dataset import Contents, PublishedDataset, grade_passages
from convrag_datasets.row_files import read_json_rows
from convrag_datasets.rows import Row, with_ids

_CORPUS = "passage_corpus.json"


class CoralDataset(PublishedDataset):
    """CORAL: long answers with citations over Wikipedia, in four kinds of conversation flow.

        python -m convrag dataset=coral dataset.path=CORAL retriever=bm25 rewriter=full_history history=gold limit=50

    `path` is a copy of huggingface.co/datasets/ariya2357/CORAL. Turn ids are its qrels', conversation_turn
    ("Test_a_2_3"). The golden passages of a turn are relevant (grade 1) where the copy has no qrels. The label `flow`
    is the letter in the conversation's id, its kind of flow. Golden rewrites, where a version has them, are for
    rewriter=replay. Source: Cheng et al., CORAL, NAACL Findings 2025.

    Args:
        path: the copy: a folder with passage_corpus.json and the folders test and train.
        split: test or train.
    """

    source = "huggingface.co/datasets/ariya2357/CORAL"
    corpus_code = (__name__,)
    no_corpus = f"CORAL's passages are in {_CORPUS}, which this copy lacks"

    def __init__(self, *, path: Path, split: Literal["test", "train"] = "test") -> None:
        super().__init__(folders=[path / split, path])
        self._corpus = self.find(_CORPUS)
        self._names = [f"new_{split}_conversation.json", f"{split}_conversation.json"]
        self._qrels = self.find(f"new_{split}_qrel.trec", f"{split}_qrel.trec", f"{split}_qrel.tsv")

    def list_files(self) -> Iterable[Path | None]:
        """The conversations and the qrels."""
        return (self.find(*self._names), self._qrels)

    def read_contents(self) -> Contents:
        """Read the split. Raises DataError."""
        rewrites: dict[str, str] = {}
        conversations = tuple(_read_conversations(self.require(*self._names), rewrites))
        grades = read_qrels(self._qrels, conversations) if self._qrels else grade_passages(conversations)
        return Contents(conversations, grades, {"golden": rewrites} if rewrites else {})

    def read_corpus(self, path: Path, domain: str) -> Iterator[Passage]:
        """Stream the passages: `ref_id` and `ref_string`. Raises DataError."""
        for name, row in with_ids(read_json_rows(path), "passage", lambda row: row.require_id("ref_id")):
            yield Passage(name, row.get("ref_string").read_text())


def _read_conversations(path: Path, rewrites: dict[str, str]) -> Iterator[Conversation]:
    """Yield the conversations, and put their golden rewrites into the dictionary."""
    for name, row in with_ids(read_json_rows(path), "conversation", lambda row: row.require_id("conv_id")):
        numbered = with_ids(row.require_items("turns"), "turn", partial(_read_turn_id, name))
        turns = {turn_id: (each, _read_turn(each, turn_id, name)) for turn_id, each in numbered}
        for turn_id, (each, _) in turns.items():
            if rewrite := each.optional_text("golden_rewrite").strip():
                rewrites[turn_id] = rewrite
        yield Conversation(name, tuple(turn for _, turn in turns.values()))


def _read_turn_id(conversation: str, row: Row) -> str:
    return format_row_id(conversation, row.require_number("turn_id"))


def _read_turn(node: Row, turn_id: str, conversation: str) -> Turn:
    ids = [each.read_id() for each in node.optional_items("golden_docs_pids")]
    texts = [each.read_text() for each in node.optional_items("golden_docs_text")]
    if texts and len(texts) != len(ids):
        raise node.error(f"'golden_docs_pids' has {len(ids)} ids, and 'golden_docs_text' {len(texts)} texts")
    passages = tuple(Passage(name, text) for name, text in dict(zip(ids, texts, strict=False)).items())
    _, _, flow = conversation.rpartition("_")[0].rpartition("_")
    labels = {"flow": flow, "provenance": list(dict.fromkeys(ids))}
    labels = {name: value for name, value in labels.items() if value}
    return Turn(turn_id, node.require_text("question"), node.optional_text("response").strip(), passages, labels)
