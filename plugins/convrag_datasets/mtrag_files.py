"""Where the files of the MTRAG benchmarks are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from convrag import DataError
from convrag_datasets.file_dataset import find_file

Part = Literal["human", "un", "synthetic"]

_CORPUS_SUFFIXES = (".jsonl", ".jsonl.zip", ".jsonl.gz")


class _Layout(NamedTuple):
    """Where a part's files are in its folder; `{domain}` stands for a domain."""

    folders: Sequence[str]
    references: Sequence[str]
    qrels: str
    questions: str


_REFERENCE = "generation_tasks/reference.jsonl"
_LAYOUTS: dict[Part, _Layout] = {
    "human": _Layout(
        ["mtrag-human", "human"],  # the second is the name in the benchmark's first year
        [_REFERENCE],
        "retrieval_tasks/{domain}/qrels/dev.tsv",
        "retrieval_tasks/{domain}/{domain}_questions.jsonl",
    ),
    "un": _Layout(["mtragun-human"], [_REFERENCE], "retrieval_tasks/qrels/{domain}.tsv", ""),
    "synthetic": _Layout(["mtrag-synthetic", "synthetic"], ["generation_tasks/synthetic.jsonl", _REFERENCE], "", ""),
}


class MtragFiles:
    """The files of a clone of github.com/IBM/mt-rag-benchmark, or of a part of it in the same layout.

    Args:
        path: the folder of the clone.
        part: human (MTRAG), un (MTRAG-UN) or synthetic.
    """

    def __init__(self, path: Path, part: Part = "human") -> None:
        self.path = path
        self.part = part
        self._layout = _LAYOUTS[part]
        folders = [path / name for name in self._layout.folders]
        self._folder = next(filter(Path.is_dir, folders), folders[0])
        references = self._layout.references
        self.reference = find_file([self._folder], *references) or self._folder / references[0]

    @property
    def has_qrels(self) -> bool:
        """Whether this part has relevance judgements; the synthetic one has none."""
        return bool(self._layout.qrels)

    def domains(self) -> list[str]:
        """The domains, sorted: those with qrels, or where a part has none, with a corpus. Raises DataError."""
        if not self.path.is_dir():
            raise DataError("this folder does not exist; dataset.path must be a clone of MTRAG", path=self.path)
        if not self.has_qrels:
            return self._list_corpora()
        wanted = self._layout.qrels.format(domain="*")
        before, _, after = wanted.partition("*")
        paths = (path.relative_to(self._folder).as_posix() for path in self._folder.glob(wanted))
        found = sorted(path.removeprefix(before).removesuffix(after) for path in paths)
        if not found:
            message = f"this is no clone of MTRAG: it holds no {self._folder.name}/{wanted}; set dataset.path"
            raise DataError(message, path=self.path)
        return found

    def qrels(self, domain: str) -> Path:
        """The qrels of a domain."""
        return self._folder / self._layout.qrels.format(domain=domain)

    def questions(self, domain: str) -> Path | None:
        """The queries of a domain, each with all questions before it; None where a part has no such file."""
        return self._folder / self._layout.questions.format(domain=domain) if self._layout.questions else None

    def corpus(self, domain: str) -> Path:
        """The passages of a domain, packed or not. Raises DataError where they are missing."""
        paths = self._corpus_paths(domain)
        if found := next(filter(Path.is_file, paths), None):
            return found
        raise DataError(f"the corpus of {domain!r} is missing (nor is there {paths[0].name})", path=paths[1])

    def paths(self, domain: str) -> list[Path]:
        """All files of a domain that may be read, whether they exist or not."""
        own = [self.qrels(domain) if self.has_qrels else None, self.questions(domain)]
        return [*filter(None, own), *self._corpus_paths(domain)]

    def _list_corpora(self) -> list[str]:
        paths = (self.path / "corpora" / "passage_level").glob("[!.]*.jsonl*")
        names = {path.name.partition(".jsonl")[0] for path in paths if path.name.endswith(_CORPUS_SUFFIXES)}
        if not names:
            message = "this is no clone of MTRAG: it holds no corpora/passage_level/*; set dataset.path"
            raise DataError(message, path=self.path)
        return sorted(names)

    def _corpus_paths(self, domain: str) -> list[Path]:
        return [self.path / "corpora" / "passage_level" / f"{domain}{suffix}" for suffix in _CORPUS_SUFFIXES]
