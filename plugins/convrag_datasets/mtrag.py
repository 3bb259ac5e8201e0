"""dataset=mtrag: the benchmarks MTRAG and MTRAG-UN."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

from convrag import Conversation, ConvragError
from convrag.sdk.identity import digest
from convrag_datasets.corpus import hash_content
from convrag_datasets.file_dataset import Contents, FileDataset, choose_domains
from convrag_datasets.mtrag_files import MtragFiles
from convrag_datasets.mtrag_reference import read_reference
from convrag_datasets.qrels import Qrels
from convrag_datasets.queries import read_queries


class MtragDataset(FileDataset):
    """The MTRAG benchmarks, from a clone of github.com/IBM/mt-rag-benchmark.

    Conversations, reference answers and relevant passages come from the part's generation tasks; a clone whose human
    part lacks them gives the questions alone. All turns are asked, those with qrels are scored. Of MTRAG-UN, the
    benchmark of SemEval-2026 task 8, one turn of each conversation is asked, and what was said before it is given. The
    synthetic part has no qrels. Sources: Katsis et al., MTRAG, TACL 2025; Rosenthal et al., MTRAG-UN, 2026.

    Args:
        path: the folder of the clone, with corpora/ and the folder of the part in it.
        domain: clapnq, cloud, fiqa or govt, several joined with "+", or "all" that are there.
        part: human (mtrag-human/), un (mtragun-human/) or synthetic (mtrag-synthetic/).
    """

    def __init__(self, *, path: Path, domain: str = "all", part: Literal["human", "un", "synthetic"] = "human") -> None:
        super().__init__(corpus=None, domain=domain)
        self._files = MtragFiles(path, part)

    def list_files(self) -> Iterable[Path]:
        """All files of the chosen domains that may be read. Raises what `domains` raises."""
        return [self._files.reference, *chain.from_iterable(map(self._files.paths, self.domains()))]

    def content_hash(self) -> str:
        """A hash of all files of the chosen domains."""
        try:
            return digest([hash_content(path) for path in self.list_files()])
        except ConvragError:
            return ""  # check() reports what is wrong

    def note(self) -> str:
        """Says where there are no reference answers or no qrels."""
        if not self._files.has_qrels:
            return "The synthetic part of MTRAG has no qrels: no ranking is scored."
        if self._files.reference.is_file():
            return ""
        return "MTRAG was read without its generation tasks: the conversations hold questions, and no answers."

    def domains(self) -> Sequence[str]:
        """The chosen domains. Raises DataError where the folder is no clone, UnknownName for a domain it lacks."""
        known = self._files.domains()
        return known if self._domain == "all" else choose_domains(self._domain, known, "dataset.domain", "all")

    def find_corpus(self, domain: str) -> Path:
        """The passages of a domain. Raises DataError where they are missing."""
        return self._files.corpus(domain)

    def read_contents(self) -> Contents:
        """Read the qrels and the conversations of the chosen domains. Raises DataError."""
        qrels = [Qrels(self._files.qrels(domain)) for domain in self.domains() if self._files.has_qrels]
        conversations = self._read_conversations()
        known = {turn.id for conversation in conversations for turn in conversation.turns}
        grades: dict[str, dict[str, int]] = {}
        for each in qrels:
            each.require_turns(known)
            grades |= each.grades
        return Contents(conversations, grades)

    def _read_conversations(self) -> tuple[Conversation, ...]:
        files = [(path, domain) for domain in self.domains() if (path := self._files.questions(domain))]
        if self._files.reference.is_file() or not files:
            given = self._files.part == "un"
            return read_reference(self._files.reference, self._files.domains(), self.domains(), give_history=given)
        return tuple(chain.from_iterable(read_queries(path, domain, with_history=True) for path, domain in files))
