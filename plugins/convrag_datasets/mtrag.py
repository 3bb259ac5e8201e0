"""dataset=mtrag: the benchmarks MTRAG and MTRAG-UN."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal

from convrag import Conversation, ConvragError, Dataset, Passage, UnknownName
from convrag.sdk.identity import digest
from convrag.sdk.lazy import Lazy, collect_problems
from convrag_datasets.corpus import check_first_passage, fingerprint_corpus, hash_content, read_passages
from convrag_datasets.mtrag_files import MtragFiles
from convrag_datasets.mtrag_reference import read_reference
from convrag_datasets.qrels import Qrels
from convrag_datasets.queries import read_queries


class MtragDataset(Dataset):
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
        self._files = MtragFiles(path, part)
        self._wanted = domain
        self._conversations = Lazy(self._read_conversations)
        self._qrels = Lazy(self._read_qrels)

    def check(self) -> Iterable[str]:
        """The errors of the clone, the conversations, the qrels and the beginnings of the corpora."""
        if missing := collect_problems(self.domains):
            return missing
        corpora = [partial(self._check_first_passage, domain) for domain in self.domains()]
        return collect_problems(self._conversations, self._qrels, *corpora)

    def content_hash(self) -> str:
        """A hash of all files of the chosen domains."""
        try:
            domains = self.domains()
        except ConvragError:
            return ""  # check() reports what is wrong
        files = [self._files.reference, *chain.from_iterable(map(self._files.paths, domains))]
        return digest([hash_content(path) for path in files])

    def note(self) -> str:
        """Says where there are no reference answers or no qrels."""
        if not self._files.has_qrels:
            return "The synthetic part of MTRAG has no qrels: no ranking is scored."
        if self._files.reference.is_file():
            return ""
        return "MTRAG was read without its generation tasks: the conversations hold questions, and no answers."

    def conversations(self) -> Iterator[Conversation]:
        """Yield the conversations of the chosen domains in the order of the file. Raises DataError."""
        return iter(self._conversations())

    def domains(self) -> Sequence[str]:
        """The chosen domains. Raises DataError where the folder is no clone, UnknownName for a domain it lacks."""
        known = self._files.domains()
        if self._wanted == "all":
            return known
        wanted = list(dict.fromkeys(name.strip() for name in self._wanted.split("+")))
        for name in wanted:
            if name not in known:
                raise UnknownName("dataset.domain", name, [*known, "all"])
        return wanted

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Stream the passages of a domain. Raises DataError."""
        return read_passages(self._files.corpus(domain))

    def corpus_fingerprint(self, domain: str) -> str:
        """A hash of a domain's corpus file. Raises DataError where it is missing."""
        return fingerprint_corpus(self._files.corpus(domain))

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        """Turn id -> passage id -> grade of relevance, of the chosen domains. Raises DataError."""
        return self._qrels()

    def _check_first_passage(self, domain: str) -> None:
        check_first_passage(self._files.corpus(domain))

    def _read_conversations(self) -> tuple[Conversation, ...]:
        files = [(path, domain) for domain in self.domains() if (path := self._files.questions(domain))]
        if self._files.reference.is_file() or not files:
            given = self._files.part == "un"
            return read_reference(self._files.reference, self._files.domains(), self.domains(), give_history=given)
        return tuple(chain.from_iterable(read_queries(path, domain, with_history=True) for path, domain in files))

    def _read_qrels(self) -> Mapping[str, Mapping[str, int]]:
        # read before the conversations, so that check() reports the errors of both
        domains = self.domains() if self._files.has_qrels else ()
        by_domain = [Qrels(self._files.qrels(domain)) for domain in domains]
        known = {turn.id for conversation in self.conversations() for turn in conversation.turns}
        grades: dict[str, dict[str, int]] = {}
        for qrels in by_domain:
            qrels.require_turns(known)
            grades |= qrels.grades
        return grades
