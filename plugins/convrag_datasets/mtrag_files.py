"""Where things are in a clone of the MTRAG benchmark."""

from __future__ import annotations

from pathlib import Path

from convrag import DataError

_SUFFIXES = (".jsonl", ".jsonl.zip", ".jsonl.gz")


class Clone:
    """The files of a clone of github.com/IBM/mt-rag-benchmark, or of a part of it in the same layout."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tasks = path / "mtrag-human" / "retrieval_tasks"
        self.reference = path / "mtrag-human" / "generation_tasks" / "reference.jsonl"

    def domains(self) -> list[str]:
        """The domains that have judgements, sorted. Raises DataError where there is none."""
        if not self.path.is_dir():
            raise DataError("this folder does not exist; dataset.path must be a clone of MTRAG", path=self.path)
        found = sorted(path.parent.parent.name for path in self.tasks.glob("*/qrels/dev.tsv"))
        if not found:
            wanted = "mtrag-human/retrieval_tasks/*/qrels/dev.tsv"
            raise DataError(f"this is no clone of MTRAG: it holds no {wanted}; set dataset.path", path=self.path)
        return found

    def qrels(self, domain: str) -> Path:
        """The judgements of a domain."""
        return self.tasks / domain / "qrels" / "dev.tsv"

    def questions(self, domain: str) -> Path:
        """The queries of a domain, each with all questions before it."""
        return self.tasks / domain / f"{domain}_questions.jsonl"

    def corpus(self, domain: str) -> Path:
        """The passages of a domain, unpacked or not. Raises DataError where they are missing."""
        files = self._corpora(domain)
        for path in files:
            if path.is_file():
                return path
        raise DataError(f"the corpus of {domain!r} is missing (nor is there {files[0].name})", path=files[1])

    def files(self, domain: str) -> list[Path]:
        """All files of a domain that may be read, there or not."""
        return [self.qrels(domain), self.questions(domain), *self._corpora(domain)]

    def _corpora(self, domain: str) -> list[Path]:
        return [self.path / "corpora" / "passage_level" / f"{domain}{suffix}" for suffix in _SUFFIXES]
