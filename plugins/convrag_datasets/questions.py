"""dataset=questions: the questions that task=questions wrote, over the passages of another data
set.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from convrag import ConfigError, Conversation, DataError, Dataset
from convrag.sdk.data.question_sets import CONVERSATIONS, MANIFEST, QRELS, REWRITES, QuestionSet
from convrag.sdk.identity import digest
from convrag.sdk.lazy import Lazy, collect_problems
from convrag_datasets.borrowed_corpus import BorrowedCorpusDataset
from convrag_datasets.files.conversations import read_conversations
from convrag_datasets.files.json_rows import read_json_rows
from convrag_datasets.files.passages import hash_content
from convrag_datasets.files.qrels import read_qrels


class _Moved(NamedTuple):
    """Judged passages that have other ids by now (domain -> id -> new id), and how many are judged in all."""

    ids: Mapping[str, Mapping[str, str]]
    judged: int


class QuestionsDataset(BorrowedCorpusDataset):
    """Questions that `task=questions` wrote, with judgements and reference answers, over your own data set's passages.

    `dataset=questions dataset.path=questions dataset.corpus=documents
    dataset.corpus.path=~/handbook` asks the questions of the folder questions/ and searches the
    handbook. You may edit the files by hand. Judged passages are recognised by their text: where a
    document has changed elsewhere, they are found again under their new ids.

    Args:
        path: the folder that task=questions has written.
        corpus: the data set that the questions are about, with its own parameters below
            `dataset.corpus`.

    Raises:
        ConfigError: no corpus is named.
    """

    def __init__(self, *, path: Path, corpus: Dataset | None = None) -> None:
        if corpus is None:
            raise ConfigError(
                "dataset=questions asks about the passages of another data set; name the one that the questions were "
                "made from: dataset.corpus=documents dataset.corpus.path=FOLDER, say"
            )
        super().__init__(corpus)
        self.path = path
        self._set = Lazy(partial(QuestionSet.read, path))
        self._conversations = Lazy(self._read_conversations)
        self._judgements = Lazy(lambda: read_qrels(path / QRELS, self._conversations()))
        self._moved = Lazy(self._find_moved)

    def check(self) -> Iterable[str]:
        """The errors of the files, and whether the judged passages are still in the corpus."""
        if problems := collect_problems(self._set):
            return problems
        return collect_problems(self._conversations, self._judgements) or collect_problems(
            self._moved
        )

    def content_hash(self) -> str:
        """A hash of all files."""
        return digest(
            {
                name: hash_content(self.path / name)
                for name in (CONVERSATIONS, QRELS, REWRITES, MANIFEST)
            }
        )

    def note(self) -> str:
        """Says where judged passages have new ids."""
        count = sum(map(len, self._moved().ids.values()))
        if not count:
            return ""
        return f"{count} of {self._moved().judged} judged passages have new ids since the questions were written"

    def conversations(self) -> Iterator[Conversation]:
        """Yield the conversations in the order of the file. Raises DataError."""
        return iter(self._conversations())

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        """Turn id -> id of a passage, as it is now -> grade of relevance. Raises DataError."""
        moved = self._moved().ids
        domains = {turn.id: each.domain for each in self._conversations() for turn in each.turns}
        return {
            turn: {
                moved.get(domains[turn], {}).get(name, name): grade
                for name, grade in grades.items()
            }
            for turn, grades in self._judgements().items()
        }

    def rewrites(self) -> Mapping[str, Mapping[str, str]]:
        """The questions as they would be asked without their conversation (kind "standalone").
        Raises DataError.
        """
        path = self.path / REWRITES
        if not path.is_file():
            return {}
        turns = {turn.id for each in self._conversations() for turn in each.turns}
        rows = ((row.require_text("_id"), row.require_text("text")) for row in read_json_rows(path))
        return {"standalone": {turn: text for turn, text in rows if turn in turns}}

    def _read_conversations(self) -> tuple[Conversation, ...]:
        domains, known = self._set().conversations, self.corpus_dataset.domains()
        read = read_conversations(self.path / CONVERSATIONS, known[0])
        found = tuple(replace(each, domain=domains.get(each.id, known[0])) for each in read)
        if odd := [each for each in found if each.domain not in known]:
            raise DataError(
                f"the conversation {odd[0].id!r} is about {odd[0].domain!r}, and the corpus of this data set is "
                f"{', '.join(known)}: choose the one that the questions were made from (dataset.corpus=...)",
                path=self.path / CONVERSATIONS,
            )
        return found

    def _find_moved(self) -> _Moved:
        """Compare the judged passages with the corpus where that has changed. Raises DataError
        where some are gone.
        """
        questions = self._set()
        moved: dict[str, Mapping[str, str]] = {}
        gone: list[str] = []
        for domain in questions.passages:
            if self.corpus_dataset.corpus_fingerprint(domain) != questions.corpora.get(domain):
                moved[domain], missing = questions.find_moved(
                    domain, self.corpus_dataset.corpus(domain)
                )
                gone += missing
        judged = sum(map(len, questions.passages.values()))
        if gone:
            raise DataError(
                f"{len(gone)} of {judged} judged passages are no longer in the corpus, {gone[0]!r} for instance: it is "
                "another corpus, or its documents or the chunker have changed since. Write the questions again "
                "(task=questions; what a language model has replied is not paid for twice), or choose the corpus that "
                "they were made from",
                path=self.path,
            )
        return _Moved(moved, judged)
