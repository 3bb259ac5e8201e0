"""dataset=coral: CORAL."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from convrag import Conversation, Passage, Turn
from convrag_datasets.file_dataset import Contents
from convrag_datasets.files.json_rows import read_json_rows
from convrag_datasets.files.qrels import read_qrels
from convrag_datasets.files.row import Row, with_ids
from convrag_datasets.files.turns import format_row_id
from convrag_datasets.published_dataset import PublishedDataset, add_texts

_CORPUS = "passage_corpus.json"


class CoralDataset(PublishedDataset):
    """CORAL: long answers with citations over Wikipedia, in four kinds of conversation flow.

        python -m convrag dataset=coral dataset.path=CORAL rewriter=last_n history=gold limit=50

    `path` is a copy of huggingface.co/datasets/ariya2357/CORAL, of its first or second version.
    Turn ids are the qrels', conversation_turn ("Test_a_2_3"). The golden passages of a turn are
    relevant (grade 1) where the copy has no qrels. The label `flow` is the middle of the
    conversation's id ("a" of "Test_a_2"), its kind of flow. The golden rewrites of the first
    version are for rewriter=replay. Source: Cheng et al., CORAL, Findings of NAACL 2025.

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
        self._qrels_names = [f"new_{split}_qrel.trec", f"{split}_qrel.trec", f"{split}_qrel.tsv"]

    def list_files(self) -> Iterable[Path | None]:
        """List the conversations and the qrels."""
        return (self.find(*self._names), self.find(*self._qrels_names))

    def read_contents(self) -> Contents:
        """Read the split. Raises DataError."""
        rows = read_json_rows(self.require(*self._names))
        named_rows = with_ids(rows, "conversation", _read_conversation_id)
        golden = [_read_conversation(row, name) for name, row in named_rows]
        conversations = [each.conversation for each in golden]
        if self._corpus is not None:
            conversations = list(add_texts(conversations, self.corpus("default")))
        grades: dict[str, dict[str, int]] = {}
        rewrites: dict[str, str] = {}
        for each in golden:
            grades.update(each.grades)
            rewrites.update(each.rewrites)
        qrels = self.find(*self._qrels_names)
        if qrels is not None:
            grades = read_qrels(qrels, conversations)
        return Contents(tuple(conversations), grades, {"golden": rewrites} if rewrites else {})

    def read_corpus(self, path: Path, domain: str) -> Iterator[Passage]:
        """Stream the passages: `ref_id` and `ref_string`. Raises DataError."""
        for name, row in with_ids(read_json_rows(path), "passage", _read_passage_id):
            yield Passage(name, row.get("ref_string").read_text())


class _Golden(NamedTuple):
    """A conversation, with the golden passages and rewrites of its turns by their ids."""

    conversation: Conversation
    grades: dict[str, dict[str, int]]
    rewrites: dict[str, str]


def _read_conversation(row: Row, name: str) -> _Golden:
    turns = []
    grades = {}
    rewrites = {}
    read_id = partial(_read_turn_id, conversation=name)
    for turn_id, node in with_ids(row.require_items("turns"), "turn", read_id):
        ids = [item.read_id() for item in node.optional_items("golden_docs_pids")]
        turns.append(_read_turn(node, turn_id, ids, flow=_name_flow(name)))
        if ids:
            grades[turn_id] = dict.fromkeys(ids, 1)
        rewrite = node.optional_text("golden_rewrite").strip()
        if rewrite:
            rewrites[turn_id] = rewrite
    return _Golden(Conversation(name, tuple(turns)), grades, rewrites)


def _read_turn(node: Row, turn_id: str, ids: list[str], flow: str) -> Turn:
    """Read a turn. The label `provenance` has the ids of passages whose texts the row lacks."""
    texts = [item.read_text() for item in node.optional_items("golden_docs_text")]
    if texts and len(texts) != len(ids):
        raise node.error(
            f"'golden_docs_pids' has {len(ids)} ids, and 'golden_docs_text' {len(texts)} texts"
        )
    passages = {}
    for passage_id, text in zip(ids, texts, strict=False):
        passages[passage_id] = Passage(passage_id, text)
    labels: dict[str, Any] = {}
    if flow:
        labels["flow"] = flow
    if ids and not texts:
        labels["provenance"] = list(dict.fromkeys(ids))
    answer = node.optional_text("response").strip()
    return Turn(turn_id, node.require_text("question"), answer, tuple(passages.values()), labels)


def _name_flow(conversation: str) -> str:
    """Return the middle of an id "Test_a_2"; empty for an id of another form."""
    parts = conversation.split("_")
    return parts[1] if len(parts) == 3 else ""


def _read_conversation_id(row: Row) -> str:
    return row.require_id("conv_id")


def _read_turn_id(row: Row, conversation: str) -> str:
    return format_row_id(conversation, row.require_number("turn_id"))


def _read_passage_id(row: Row) -> str:
    return row.require_id("ref_id")
