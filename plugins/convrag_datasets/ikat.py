"""dataset=ikat: TREC iKAT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from convrag import ConfigError, Passage
from convrag_datasets.file_dataset import Contents, add_texts, read_grades
from convrag_datasets.ikat_topics import read_passage_texts, read_topics
from convrag_datasets.published import PublishedDataset

_YEARS = (2023, 2024, 2025)


class IkatDataset(PublishedDataset):
    """TREC iKAT 2023 to 2025, from a clone of github.com/irlabamsterdam/iKAT or from its folders 2023 to 2025.

        python -m convrag dataset=ikat dataset.path=iKAT dataset.year=2023 rewriter=full_history history=gold

    The personal statements of the user (PTKB) are the profile of each conversation, which prompts of rewriters and
    generators mention. Turn ids are those of the qrels ("9-1_3"). ClueWeb22 is licensed and not in the clone; 2023 has
    the texts of the provenances, which are the corpus unless `corpus` names another. NIST publishes the qrels. The
    resolved utterances are rewrites (rewriter=replay rewriter.kind=resolved). Source: Aliannejadi et al., TREC 2023.

    Args:
        path: the clone, or a folder with the year's folder or its files in it.
        year: 2023, 2024 or 2025.
        split: test, or train (of 2023).
        qrels: NIST's judgements, four columns; without it, YEAR-qrels.all-turns.txt or YEAR-qrels.txt in the folder.
        corpus: JSONL file of passages, as dataset=jsonl has them, with iKAT's ids ("clueweb22-en0000-32-08101:4").

    Raises:
        ConfigError: there was no iKAT in this year.
    """

    source = "github.com/irlabamsterdam/iKAT"
    corpus_code = ("convrag_datasets.ikat_topics",)
    no_corpus = (
        "iKAT's passages are those of ClueWeb22, which is licensed and not published with the topics: "
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
        """The topics and the qrels."""
        return (self.find(self._topics), self._find_qrels())

    def read_contents(self) -> Contents:
        """Read the year's files. Raises DataError."""
        topics = list(read_topics(self.require(self._topics)))
        conversations = tuple(topic.conversation for topic in topics)
        if self._corpus:
            conversations = tuple(add_texts(conversations, self.corpus("default")))
        grades = read_grades(qrels := self._find_qrels(), conversations)
        resolved = {turn_id: text for topic in topics for turn_id, text in topic.resolved.items()}
        note = "" if qrels else "TREC iKAT was read without judgements: dataset.qrels=FILE names those of NIST."
        return Contents(conversations, grades, {"resolved": resolved} if resolved else {}, note)

    def read_corpus(self, path: Path, domain: str) -> Iterator[Passage]:
        """Stream the passages of the corpus that was given, or 2023's texts. Raises DataError."""
        return read_passage_texts(path) if path == self._texts else super().read_corpus(path, domain)

    def _find_qrels(self) -> Path | None:
        return self._given_qrels or self.find(f"{self._year}-qrels.all-turns.txt", f"{self._year}-qrels.txt")
