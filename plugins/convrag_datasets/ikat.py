"""dataset=ikat: TREC iKAT."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from convrag import ConfigError, Conversation, Passage, Turn
from convrag_datasets.cast import find_number, format_turn
from convrag_datasets.file_dataset import Contents
from convrag_datasets.files.json_rows import read_json_rows
from convrag_datasets.files.qrels import read_qrels
from convrag_datasets.files.row import Row, with_ids
from convrag_datasets.published_dataset import PublishedDataset, add_texts

_YEARS = (2023, 2024, 2025)


class IkatDataset(PublishedDataset):
    """TREC iKAT 2023 to 2025, from a clone of github.com/irlabamsterdam/iKAT.

        python -m convrag dataset=ikat dataset.path=iKAT dataset.year=2023 rewriter=full_history
        history=gold

    The personal statements of the user (PTKB) are the profile of each conversation, which prompts
    of rewriters and generators mention. Turn ids are the qrels' ("9-1_3"). ClueWeb22 is licensed
    and not in the clone; 2023 has the texts of the provenances, which are the corpus unless
    `corpus` names another. NIST publishes the qrels. The resolved utterances are rewrites
    (rewriter=replay rewriter.kind=resolved). Source: Aliannejadi et al., TREC 2023.

    Args:
        path: the clone, or a folder with the year's folder or its files in it.
        year: 2023, 2024 or 2025.
        split: test, or train (of 2023).
        qrels: NIST's judgements, four columns; without it, YEAR-qrels.all-turns.txt or
            YEAR-qrels.txt in the folder.
        corpus: JSONL file of passages, as dataset=jsonl has them, with iKAT's ids
            ("clueweb22-en0000-32-08101:4").

    Raises:
        ConfigError: there was no iKAT in this year.
    """

    source = "github.com/irlabamsterdam/iKAT"
    corpus_code = (__name__,)
    no_corpus = (
        "iKAT's passages come from ClueWeb22, which is licensed and not published with the topics: "
        "dataset.corpus=FILE.jsonl names a file of those that you have"
    )

    def __init__(
        self,
        *,
        path: Path,
        year: int,
        split: Literal["test", "train"] = "test",
        qrels: Path | None = None,
        corpus: Path | None = None,
    ) -> None:
        if year not in _YEARS:
            raise ConfigError(f"dataset.year={year}: TREC iKAT was held in 2023, 2024 and 2025")
        folder = path / str(year)
        folders = [folder / "data", folder, folder / "evaluation", path / "data", path]
        super().__init__(folders=folders, corpus=corpus)
        self._year = year
        self._topics = f"{year}_{split}_topics.json"
        self._texts = None if corpus else self.find(f"{year}_{split}_topics_psg_text.jsonl")
        self._given_qrels = qrels
        self._corpus = corpus or self._texts

    def list_files(self) -> Iterable[Path | None]:
        """List the topics and the qrels."""
        return (self.find(self._topics), self._find_qrels())

    def read_contents(self) -> Contents:
        """Read the year's files. Raises DataError."""
        resolved: dict[str, str] = {}
        conversations = tuple(read_topics(self.require(self._topics), resolved))
        if self._corpus:
            conversations = tuple(add_texts(conversations, self.corpus("default")))
        qrels = self._find_qrels()
        note = ""
        if qrels is None:
            note = "TREC iKAT was read without judgements: dataset.qrels=FILE names NIST's."
        grades = read_qrels(qrels, conversations)
        rewrites = {"resolved": resolved} if resolved else {}
        return Contents(conversations, grades, rewrites, note)

    def read_corpus(self, path: Path, domain: str) -> Iterator[Passage]:
        """Stream the passages of the corpus that was given, or 2023's texts. Raises DataError."""
        if path == self._texts:
            return read_passage_texts(path)
        return super().read_corpus(path, domain)

    def _find_qrels(self) -> Path | None:
        if self._given_qrels is not None:
            return self._given_qrels
        return self.find(f"{self._year}-qrels.all-turns.txt", f"{self._year}-qrels.txt")


def read_topics(path: Path, resolved: dict[str, str]) -> Iterator[Conversation]:
    """Yield the topics of a file, in the form of 2023 and 2024 or in the form of 2025.

    The statements are `ptkb` (an object by number, or a list), the turns `turns` (`utterance`,
    `ptkb_provenance`, `response_provenance`) or `responses` (`user_utterance`, `relevant_ptkbs`,
    `citations`). Labels of a turn: `personal` (yes where its answer depends on statements, else
    no), `statements` (those), `provenance` (the ids of passages).

    Args:
        path: the file.
        resolved: turn id -> resolved utterance; those of the topics are added.

    Raises:
        DataError: an item is no topic, a turn names a statement that is not there, or an id occurs
            twice.
    """
    for topic, row in with_ids(read_json_rows(path), "topic", find_number):
        yield _read_topic(row, topic, resolved)


def read_passage_texts(path: Path) -> Iterator[Passage]:
    """Yield the passages of 2023's file of provenances: `doc_id`, `passage_id`, `passage_text`.
    Raises DataError.
    """
    for name, row in with_ids(read_json_rows(path), "passage", _name_passage):
        yield Passage(name, row.get("passage_text").read_text().strip())


def _name_passage(row: Row) -> str:
    return f"{row.require_id('doc_id')}:{row.require_id('passage_id')}"


def _read_topic(node: Row, topic: str, resolved: dict[str, str]) -> Conversation:
    statements = _read_statements(node)
    turns: list[Turn] = []
    items = node.require_items("turns", "responses")
    for number, item in with_ids(items, "turn", lambda each: each.require_id("turn_id")):
        turn_id = format_turn(topic, number)
        turns.append(_read_turn(item, turn_id, statements))
        text = item.optional_text("resolved_utterance").strip()
        if text:
            resolved[turn_id] = text
    return Conversation(topic, tuple(turns), profile=tuple(statements.values()))


def _read_statements(node: Row) -> dict[str, str]:
    """Read the user's statements by number; a list is counted from 1."""
    if not node.has("ptkb"):
        return {}
    ptkb = node.get("ptkb")
    if isinstance(ptkb.value, list):
        named = [(str(number), each) for number, each in enumerate(ptkb.read_items(), 1)]
    else:
        named = ptkb.list_fields()
    texts = {name: statement.read_text().strip() for name, statement in named}
    return {name: text for name, text in texts.items() if text}


def _read_turn(node: Row, turn_id: str, statements: dict[str, str]) -> Turn:
    names = node.optional_items("ptkb_provenance", "relevant_ptkbs")
    used = [_find_statement(name, statements) for name in names]
    citations = node.optional_items("response_provenance", "citations")
    provenance = [citation.read_id() for citation in citations]
    labels: dict[str, Any] = {"personal": "yes" if used else "no"}
    if used:
        labels["statements"] = used
    if provenance:
        labels["provenance"] = provenance
    question = node.require_text("utterance", "user_utterance")
    return Turn(turn_id, question, node.optional_text("response").strip(), labels=labels)


def _find_statement(node: Row, statements: dict[str, str]) -> str:
    """Find the statement that a turn names by its number or literally.

    Raises DataError where there is none.
    """
    name = node.read_id()
    if name in statements:
        return statements[name]
    if name in statements.values():
        return name
    raise node.error(f"the user has made no statement {name[:80]!r}: it is not in 'ptkb'")
