"""dataset=beir: a data set in BEIR's layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from convrag import Conversation, DataError, Dataset, Passage, UnknownName
from convrag.sdk.identity import digest
from convrag.sdk.lazy import Lazy, collect_problems
from convrag_datasets.corpus import check_first_passage, fingerprint_corpus, hash_content, read_passages
from convrag_datasets.qrels import Qrels
from convrag_datasets.queries import read_queries

_PACKED = ("", ".gz", ".zip")


class BeirDataset(Dataset):
    """A folder in BEIR's layout: corpus.jsonl, queries.jsonl and qrels/test.tsv.

    The questions are those that the split judges. Ids `conversation<::>turn` make up conversations, of which every turn
    is asked if one is judged; other questions stand alone. The three files may be packed as .gz or .zip. Source: Thakur
    et al., BEIR, NeurIPS 2021.

    Args:
        path: the folder.
        split: which qrels: test, dev or train.
    """

    def __init__(self, *, path: Path, split: Literal["test", "dev", "train"] = "test") -> None:
        self.path = path
        self.split = split
        self._judged = Lazy(self._read_judged)
        self._qrels = Lazy(self._read_qrels)

    def check(self) -> Iterable[str]:
        """The errors of the queries, the qrels and the beginning of the corpus."""
        if not self.path.is_dir():
            return [
                str(DataError("this folder does not exist; dataset.path must be one in BEIR's layout", path=self.path))
            ]
        return collect_problems(self._qrels, self._judged, lambda: check_first_passage(self._find("corpus.jsonl")))

    def content_hash(self) -> str:
        """A hash of all files."""
        names = ("corpus.jsonl", "queries.jsonl", f"qrels/{self.split}.tsv")
        return digest([hash_content(self.path / f"{name}{packed}") for name in names for packed in _PACKED])

    def conversations(self) -> Iterator[Conversation]:
        """Yield the conversations of which a turn is judged, in the order of the file. Raises DataError."""
        return iter(self._judged())

    def domains(self) -> Sequence[str]:
        """The one domain, called as the folder is."""
        return (self.path.resolve().name or "default",)

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Stream the passages. Raises DataError."""
        self._check_domain(domain)
        return read_passages(self._find("corpus.jsonl"))

    def corpus_fingerprint(self, domain: str) -> str:
        """A hash of the corpus file. Raises DataError where it is missing."""
        self._check_domain(domain)
        return fingerprint_corpus(self._find("corpus.jsonl"))

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        """Turn id -> passage id -> grade of relevance. Raises DataError."""
        return self._qrels().grades

    def _check_domain(self, domain: str) -> None:
        if domain not in self.domains():
            raise UnknownName("the corpus", domain, self.domains())

    def _read_judged(self) -> tuple[Conversation, ...]:
        (domain,) = self.domains()
        qrels = self._qrels()
        found = read_queries(self._find("queries.jsonl"), domain)
        qrels.require_turns({turn.id for conversation in found for turn in conversation.turns})
        return tuple(each for each in found if any(turn.id in qrels.grades for turn in each.turns))

    def _read_qrels(self) -> Qrels:
        found = [path for packed in _PACKED if (path := self.path / "qrels" / f"{self.split}.tsv{packed}").is_file()]
        if found:
            return Qrels(found[0])
        splits = sorted({path.name.partition(".")[0] for path in (self.path / "qrels").glob("*.tsv*")})
        if splits:
            raise UnknownName("dataset.split", self.split, splits)
        raise DataError(f"there is no qrels/{self.split}.tsv, as BEIR's layout has it", path=self.path)

    def _find(self, name: str) -> Path:
        """A file of the folder, packed or not. Raises DataError where it is missing."""
        paths = [self.path / f"{name}{packed}" for packed in _PACKED]
        if found := next((path for path in paths if path.is_file()), None):
            return found
        raise DataError(f"there is no {name}, as BEIR's layout has it", path=self.path)
