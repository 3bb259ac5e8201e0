"""dataset=topiocqa: TopiOCQA."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

from convrag import Conversation, Passage, Turn
from convrag.sdk.data.jsonl import data_suffix, read_lines
from convrag_datasets.file_dataset import Contents
from convrag_datasets.files.json_rows import read_json_rows
from convrag_datasets.files.row import Row
from convrag_datasets.files.turns import TurnRow, format_row_id, group_rows
from convrag_datasets.published_dataset import PublishedDataset, grade_passages

_NAMES = {"dev": ("topiocqa_valid", "topiocqa_dev"), "train": ("topiocqa_train",)}
_UNANSWERABLE = "UNANSWERABLE"
_PREFIX = "wiki:"
"""The prefix of the passages' ids, where the table of passages has numbers."""

_COLUMNS = ["id", "text", "title"]


class TopiocqaDataset(PublishedDataset):
    """TopiOCQA: conversations that go from one Wikipedia page to another.

        python -m convrag task=evaluate task.run=run.trec dataset=topiocqa dataset.path=TopiOCQA

    `path` is a copy of huggingface.co/datasets/McGill-NLP/TopiOCQA. Turn ids are conversation_turn
    ("7_3"). The gold passage of a turn is the relevant one. Labels: `topic` (the page),
    `topic_shift` (first, same or shift: whether the page is another one than in the turn before),
    `answerability`. The 25 million passages are published apart from it. Source: Adlakha et al.,
    TopiOCQA, TACL 2022.

    Args:
        path: the copy: a folder with topiocqa_valid.jsonl or topiocqa_train.jsonl (or .json lists)
            in it or in data/.
        split: dev or train.
        corpus: full_wiki_segments.tsv (id, text, title), or a JSONL file of passages as
            dataset=jsonl has them.
    """

    source = "huggingface.co/datasets/McGill-NLP/TopiOCQA"
    corpus_code = (__name__,)
    no_corpus = (
        "TopiOCQA's passages are published apart from it: "
        "dataset.corpus=full_wiki_segments.tsv names the file"
    )

    def __init__(
        self, *, path: Path, split: Literal["dev", "train"] = "dev", corpus: Path | None = None
    ) -> None:
        super().__init__(folders=[path, path / "data"], corpus=corpus)
        self._names = [
            f"{name}{suffix}" for name in _NAMES[split] for suffix in (".jsonl", ".json")
        ]

    def list_files(self) -> Iterable[Path | None]:
        """List the file of the split."""
        return (self.find(*self._names),)

    def read_contents(self) -> Contents:
        """Read the split. Raises DataError."""
        rows = read_json_rows(self.require(*self._names))
        grouped = group_rows(_read_row(row) for row in rows)
        conversations = tuple(_label_shifts(conversation) for conversation in grouped)
        return Contents(conversations, grade_passages(conversations))

    def read_corpus(self, path: Path, domain: str) -> Iterator[Passage]:
        """Stream the passages of a table or a JSONL file. Raises DataError."""
        if data_suffix(path) == ".tsv":
            return _read_table(path)
        return super().read_corpus(path, domain)


def _read_row(node: Row) -> TurnRow:
    conversation = node.require_id("Conversation_no")
    number = node.require_number("Turn_no")
    answer = node.optional_text("Answer").strip()
    answerability = _UNANSWERABLE if answer == _UNANSWERABLE else "ANSWERABLE"
    labels = {"topic": node.optional_text("Topic").strip(), "answerability": answerability}
    turn_id = format_row_id(conversation, number)
    turn = Turn(turn_id, node.require_text("Question"), answer, tuple(_read_passage(node)), labels)
    return TurnRow(node, conversation, number, turn)


def _read_passage(node: Row) -> Iterator[Passage]:
    if node.has("Gold_passage"):
        gold = node.get("Gold_passage")
        yield Passage(
            gold.require_id("id"),
            gold.optional_text("text"),
            _format_title(gold.optional_text("title")),
        )


def _format_title(title: str) -> str:
    """Write the page and the section, "Moon [SEP] Orbit", as a path."""
    parts = [part.strip() for part in title.split("[SEP]")]
    return " > ".join(part for part in parts if part)


def _label_shifts(conversation: Conversation) -> Conversation:
    """Label each turn that has a topic: whether the topic is the first, the same or another one."""
    turns = []
    last_topic = ""
    for turn in conversation.turns:
        topic = turn.labels["topic"]
        if not topic:
            turns.append(turn)
            continue
        if not last_topic:
            shift = "first"
        elif topic == last_topic:
            shift = "same"
        else:
            shift = "shift"
        turns.append(replace(turn, labels={**turn.labels, "topic_shift": shift}))
        last_topic = topic
    return replace(conversation, turns=tuple(turns))


def _read_table(path: Path) -> Iterator[Passage]:
    """Stream a table of id, text and title between tabs.

    Texts may be in double quotes, with each quote within them doubled.
    """
    for line in read_lines(path):
        columns = [_unquote(column) for column in line.text.split("\t")]
        if [column.strip().casefold() for column in columns] == _COLUMNS:
            continue  # the heading
        if len(columns) != len(_COLUMNS) or not columns[0].strip():
            raise line.error(
                "there must be three columns (id, text, title) with tabs between them, "
                f"not {len(columns)}"
            )
        name, text, title = columns
        name = name.strip()
        yield Passage(f"{_PREFIX}{name}" if name.isdigit() else name, text, _format_title(title))


def _unquote(column: str) -> str:
    quoted = len(column) > 1 and column[0] == column[-1] == '"'
    return column[1:-1].replace('""', '"') if quoted else column
