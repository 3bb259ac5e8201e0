"""Where the files of the MTRAG benchmark are."""

from __future__ import annotations

from pathlib import Path

from convrag import DataError

_CORPUS_SUFFIXES = (".jsonl", ".jsonl.zip", ".jsonl.gz")


class MtragFiles:
    """The files of a clone of github.com/IBM/mt-rag-benchmark, or of a part of it in the same layout.

    Args:
        path: the folder of the clone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.retrieval_tasks = path / "mtrag-human" / "retrieval_tasks"
        self.reference = path / "mtrag-human" / "generation_tasks" / "reference.jsonl"

    def domains(self) -> list[str]:
        """The domains that have qrels, sorted. Raises DataError where there is none."""
        if not self.path.is_dir():
            raise DataError("this folder does not exist; dataset.path must be a clone of MTRAG", path=self.path)
        found = sorted(path.parent.parent.name for path in self.retrieval_tasks.glob("*/qrels/dev.tsv"))
        if not found:
            wanted = "mtrag-human/retrieval_tasks/*/qrels/dev.tsv"
            raise DataError(f"this is no clone of MTRAG: it holds no {wanted}; set dataset.path", path=self.path)
        return found

    def qrels(self, domain: str) -> Path:
        """The qrels of a domain."""
        return self.retrieval_tasks / domain / "qrels" / "dev.tsv"

    def questions(self, domain: str) -> Path:
        """The queries of a domain, each with all questions before it."""
        return self.retrieval_tasks / domain / f"{domain}_questions.jsonl"

    def corpus(self, domain: str) -> Path:
        """The passages of a domain, packed or not. Raises DataError where they are missing."""
        paths = self._corpus_paths(domain)
        for path in paths:
            if path.is_file():
                return path
        raise DataError(f"the corpus of {domain!r} is missing (nor is there {paths[0].name})", path=paths[1])

    def paths(self, domain: str) -> list[Path]:
        """All files of a domain that may be read, whether they exist or not."""
        return [self.qrels(domain), self.questions(domain), *self._corpus_paths(domain)]

    def _corpus_paths(self, domain: str) -> list[Path]:
        return [self.path / "corpora" / "passage_level" / f"{domain}{suffix}" for suffix in _CORPUS_SUFFIXES]
