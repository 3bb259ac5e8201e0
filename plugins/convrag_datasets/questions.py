"""dataset=questions: the questions that task=questions wrote about another data set's passages."""

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
    """Judged passages that have new ids by now.

    Args:
        ids: domain -> id -> new id.
        judged: the number of all judged passages.
    """

    ids: Mapping[str, Mapping[str, str]]
    judged: int


class QuestionsDataset(BorrowedCorpusDataset):
    """Questions that `task=questions` wrote about your data set, with judgements and answers.

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
                "dataset=questions asks about the passages of another data set; name the one that "
                "the questions were made from: dataset.corpus=documents "
                "dataset.corpus.path=FOLDER, say"
            )
        super().__init__(corpus)
        self.path = path
        self._set = Lazy(partial(QuestionSet.read, path))
        self._conversations = Lazy(self._read_conversations)
        self._judgements = Lazy(lambda: read_qrels(path / QRELS, self._conversations()))
        self._moved = Lazy(self._find_moved)

    def check(self) -> Iterable[str]:
        """Return the errors of the files, and of judged passages that are not in the corpus."""
        return (
            collect_problems(self._set)
            or collect_problems(self._conversations, self._judgements)
            or collect_problems(self._moved)
        )

    def content_hash(self) -> str:
        """Return a hash of all files."""
        names = (CONVERSATIONS, QRELS, REWRITES, MANIFEST)
        return digest({name: hash_content(self.path / name) for name in names})

    def note(self) -> str:
        """Say how many judged passages have new ids."""
        moved = self._moved()
        count = sum(len(ids) for ids in moved.ids.values())
        if count == 0:
            return ""
        return (
            f"{count} of {moved.judged} judged passages have new ids since the questions were "
            "written"
        )

    def conversations(self) -> Iterator[Conversation]:
        """Yield the conversations in the order of the file. Raises DataError."""
        return iter(self._conversations())

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        """Return the qrels: turn id -> present passage id -> grade of relevance.

        Raises DataError.
        """
        moved = self._moved().ids
        qrels = {}
        for conversation in self._conversations():
            new_ids = moved.get(conversation.domain, {})
            for turn in conversation.turns:
                grades = self._judgements().get(turn.id)
                if grades is not None:
                    qrels[turn.id] = {new_ids.get(old, old): grade for old, grade in grades.items()}
        return qrels

    def rewrites(self) -> Mapping[str, Mapping[str, str]]:
        """Return the questions as they would be asked alone: "standalone" -> turn id -> question.

        Raises DataError.
        """
        path = self.path / REWRITES
        if not path.is_file():
            return {}
        turns = {turn.id for each in self._conversations() for turn in each.turns}
        texts = {}
        for row in read_json_rows(path):
            turn_id = row.require_text("_id")
            text = row.require_text("text")
            if turn_id in turns:
                texts[turn_id] = text
        return {"standalone": texts}

    def _read_conversations(self) -> tuple[Conversation, ...]:
        path = self.path / CONVERSATIONS
        domains = self._set().conversations
        known = self.corpus_dataset.domains()
        conversations = []
        for each in read_conversations(path, known[0]):
            domain = domains.get(each.id, known[0])
            if domain not in known:
                raise DataError(
                    f"the conversation {each.id!r} is about {domain!r}, and the corpus of this "
                    f"data set is {', '.join(known)}: choose the one that the questions were made "
                    "from (dataset.corpus=...)",
                    path=path,
                )
            conversations.append(replace(each, domain=domain))
        return tuple(conversations)

    def _find_moved(self) -> _Moved:
        """Find the new ids of judged passages where the corpus has changed.

        Raises DataError where some are gone.
        """
        questions = self._set()
        moved: dict[str, Mapping[str, str]] = {}
        gone: list[str] = []
        for domain in questions.passages:
            fingerprint = self.corpus_dataset.corpus_fingerprint(domain)
            if fingerprint != questions.corpora.get(domain):
                corpus = self.corpus_dataset.corpus(domain)
                moved[domain], missing = questions.find_moved(domain, corpus)
                gone += missing
        judged = sum(len(passages) for passages in questions.passages.values())
        if gone:
            raise DataError(
                f"{len(gone)} of {judged} judged passages are no longer in the corpus, {gone[0]!r} "
                "for instance: it is another corpus, or its documents or the chunker have changed "
                "since. Write the questions again (task=questions; what a language model has "
                "replied is not paid for twice), or choose the corpus that they were made from",
                path=self.path,
            )
        return _Moved(moved, judged)
