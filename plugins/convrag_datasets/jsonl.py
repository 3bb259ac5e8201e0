"""dataset=jsonl: the user's own files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from convrag import ConfigError, Conversation, Dataset, Passage, UnknownName
from convrag.sdk.identity import digest
from convrag.sdk.lazy import Lazy, collect_problems
from convrag_datasets.conversations import read_conversations
from convrag_datasets.corpus import check_first_passage, fingerprint_corpus, hash_content, read_passages
from convrag_datasets.qrels import Qrels
from convrag_datasets.queries import read_queries


class JsonlDataset(Dataset):
    """Your own files: conversations, or queries and qrels as BEIR has them, and a corpus.

    Each file is JSONL, a JSON array, CSV or TSV with a heading, or Parquet; its suffix says which. A row of
    `conversations` is {"id": "c1", "turns": [{"question": "...", "answer": "..."}]}, or {"id": "c1", "messages":
    [{"role": "user", "content": "..."}]}; in tables a row is a turn (conversation_id, question, maybe turn, answer) or
    a message (conversation_id, role, content). A turn's id is "c1<::>1" unless it has its own, and any other key of a
    turn is a label. A row of `queries` is {"_id": "c1<::>1", "text": "..."}. A row of `corpus` is {"_id": "p1", "text":
    "...", "title": "...", "url": "..."}. Files but Parquet may be packed as .gz or .zip.

    Args:
        conversations: file of conversations; either this or `queries`. A corpus alone needs neither.
        queries: file of BEIR queries; ids `conversation<::>turn` make up conversations, others stand alone.
        corpus: file of the passages to search; without it there is no retrieval.
        qrels: relevance judgements: query-id, corpus-id and score between tabs, or TREC's four columns.
        domain: the name of the corpus in outputs.
        columns: fields of `conversations` or `queries` whose columns have other names, as {question: prompt}.
        corpus_columns: fields of `corpus` whose columns have other names, as {id: key, text: body}.

    Raises:
        ConfigError: both `conversations` and `queries` are given, or no file at all.
    """

    def __init__(
        self,
        *,
        conversations: Path | None = None,
        queries: Path | None = None,
        corpus: Path | None = None,
        qrels: Path | None = None,
        domain: str = "default",
        columns: dict[str, str] | None = None,
        corpus_columns: dict[str, str] | None = None,
    ) -> None:
        if conversations is not None and queries is not None:
            raise ConfigError("dataset=jsonl takes either dataset.conversations=FILE or dataset.queries=FILE, not both")
        if conversations is None and queries is None and corpus is None:
            files = "dataset.conversations=FILE, dataset.queries=FILE or dataset.corpus=FILE"
            raise ConfigError(f"dataset=jsonl needs {files}: none is given")
        self._conversations: Lazy[tuple[Conversation, ...]]
        if conversations is not None:
            self._conversations = Lazy(partial(read_conversations, conversations, domain, columns))
        elif queries is not None:
            self._conversations = Lazy(partial(read_queries, queries, domain, columns))
        else:
            self._conversations = Lazy(tuple)
        self._files = {"conversations": conversations, "queries": queries, "corpus": corpus, "qrels": qrels}
        self._domain = domain
        self._corpus_columns = corpus_columns
        self._qrels = Lazy(self._read_qrels)

    def check(self) -> Iterable[str]:
        """The errors of the conversations, the qrels and the beginning of the corpus."""
        path = self._files["corpus"]
        corpus = [partial(check_first_passage, path, self._corpus_columns)] if path else []
        return collect_problems(self._conversations, self._qrels, *corpus)

    def content_hash(self) -> str:
        """A hash of all files."""
        return digest({name: hash_content(path) for name, path in self._files.items() if path})

    def conversations(self) -> Iterator[Conversation]:
        """Yield the conversations in the order of the file. Raises DataError."""
        return iter(self._conversations())

    def domains(self) -> Sequence[str]:
        """The one domain of all."""
        return (self._domain,)

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Stream the passages; none where no corpus was given. Raises DataError."""
        path = self._corpus_file(domain)
        return read_passages(path, self._corpus_columns) if path else iter(())

    def corpus_fingerprint(self, domain: str) -> str:
        """A hash of the corpus file. Raises DataError where it is missing."""
        path = self._corpus_file(domain)
        return fingerprint_corpus(path, self._corpus_columns) if path else digest([])

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        """Turn id -> passage id -> grade of relevance. Raises DataError."""
        return self._qrels()

    def _corpus_file(self, domain: str) -> Path | None:
        if domain != self._domain:
            raise UnknownName("the corpus", domain, self.domains())
        return self._files["corpus"]

    def _read_qrels(self) -> Mapping[str, Mapping[str, int]]:
        if not (path := self._files["qrels"]):
            return {}
        qrels = Qrels(path)  # read before the conversations, so that check() reports the errors of both
        qrels.require_turns({turn.id for conversation in self.conversations() for turn in conversation.turns})
        return qrels.grades
