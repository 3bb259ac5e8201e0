"""dataset=jsonl: the user's own files. dataset=sample: the bundled ones."""

from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from pathlib import Path

from convrag import ConfigError, Conversation, Dataset, Store
from convrag.sdk.identity import digest
from convrag.sdk.lazy import Lazy, collect_problems
from convrag_datasets.borrowed_corpus import BorrowedCorpusDataset
from convrag_datasets.corpus_file import CorpusFile
from convrag_datasets.document_judgements import resolve_judgements
from convrag_datasets.file_dataset import Contents, Grades
from convrag_datasets.files.conversations import read_conversations
from convrag_datasets.files.passages import hash_content
from convrag_datasets.files.qrels import read_qrels
from convrag_datasets.files.queries import read_queries


class JsonlDataset(BorrowedCorpusDataset):
    """Your own files: conversations, or queries and qrels as BEIR has them, and a corpus.

    Each file is JSONL, a JSON array, CSV or TSV with a heading, or Parquet; its suffix says which.
    A row of `conversations` is {"id": "c1", "turns": [{"question": "...", "answer": "..."}]}, or
    {"id": "c1", "messages": [{"role": "user", "content": "..."}]}; in tables a row is a turn
    (conversation_id, question, maybe turn, answer) or a message (conversation_id, role, content). A
    turn's id is "c1<::>1" unless it has its own, and any other key of a turn is a label. A row of
    `queries` is {"_id": "c1<::>1", "text": "..."}. A row of `corpus` is {"_id": "p1", "text":
    "...", "title": "...", "url": "..."}. Files but Parquet may be packed as .gz or .zip.

    Args:
        conversations: file of conversations; either this or `queries`. A corpus alone needs
            neither.
        queries: file of BEIR queries; ids `conversation<::>turn` make up conversations, others
            stand alone.
        corpus: file of the passages to search; or another data set, whose passages are searched,
            with its own parameters below `dataset.corpus`: `dataset.corpus=documents
            dataset.corpus.path=~/handbook`. Without it there is no retrieval.
        qrels: relevance judgements: query-id, corpus-id and score between tabs, or TREC's four
            columns. Where the corpus is of documents, a judged id is a passage's ("leave.pdf#3"), a
            page's ("leave.pdf#page=2") or a document's ("leave.pdf").
        domain: the name of the corpus in outputs; of another data set's corpora, the one to search.
        columns: fields of `conversations` or `queries` whose columns have other names, as
            {question: prompt}.
        corpus_columns: fields of a file of passages whose columns have other names, as {id: key,
            text: body}.
        store: where judged passages of another data set are looked up.

    Raises:
        ConfigError: both `conversations` and `queries` are given, no file at all, or
            `corpus_columns` for another data set.
    """

    def __init__(
        self,
        *,
        conversations: Path | None = None,
        queries: Path | None = None,
        corpus: Path | Dataset | None = None,
        qrels: Path | None = None,
        domain: str = "default",
        columns: dict[str, str] | None = None,
        corpus_columns: dict[str, str] | None = None,
        store: Store | None = None,
    ) -> None:
        if conversations is not None and queries is not None:
            raise ConfigError(
                "dataset=jsonl takes either dataset.conversations=FILE or dataset.queries=FILE, "
                "not both"
            )
        if conversations is None and queries is None and corpus is None:
            files = "dataset.conversations=FILE, dataset.queries=FILE or dataset.corpus=FILE"
            raise ConfigError(f"dataset=jsonl needs {files}: none is given")
        self._has_file = not isinstance(corpus, Dataset)
        if isinstance(corpus, Dataset):
            if corpus_columns:
                raise ConfigError(
                    "dataset.corpus_columns is for a file of passages, and dataset.corpus is "
                    "another data set"
                )
            super().__init__(corpus)
        else:
            super().__init__(
                CorpusFile(corpus=corpus, domain=domain, corpus_columns=corpus_columns)
            )
        self._conversations = conversations
        self._queries = queries
        self._qrels = qrels
        self._domain = domain
        self._columns = columns
        self._store = store
        self.contents = Lazy(self._read_contents)
        self._judgements = Lazy(self._resolve_judgements)

    def check(self) -> Iterable[str]:
        """Return the errors of the files, and of judgements that the corpus does not have."""
        problems = list(collect_problems(self.contents))
        if self._has_file:
            return [*problems, *self.corpus_dataset.check()]
        return (
            problems or collect_problems(self._check_domain) or collect_problems(self._judgements)
        )

    def content_hash(self) -> str:
        """Return a hash of the contents of all files, without their paths."""
        files = (self._conversations, self._queries, self._qrels)
        own = [hash_content(path) if path else None for path in files]
        return digest([own, self.corpus_dataset.content_hash()])

    def conversations(self) -> Iterator[Conversation]:
        """Yield the conversations in the order of the file. Raises DataError."""
        return iter(self.contents().conversations)

    def domains(self) -> Sequence[str]:
        """Return the one domain of all conversations."""
        return (self._domain,)

    def qrels(self) -> Grades:
        """Return the qrels: turn id -> passage id -> grade of relevance. Raises DataError."""
        return self.contents().grades if self._has_file else self._judgements()

    def _read_contents(self) -> Contents:
        """Read the conversations and the qrels. Raises DataError."""
        conversations: tuple[Conversation, ...] = ()
        if self._conversations:
            conversations = read_conversations(self._conversations, self._domain, self._columns)
        elif self._queries:
            conversations = read_queries(self._queries, self._domain, self._columns)
        return Contents(conversations, read_qrels(self._qrels, conversations))

    def _check_domain(self) -> None:
        """Raise ConfigError where the other data set does not have the domain."""
        known = self.corpus_dataset.domains()
        if self._domain not in known:
            raise ConfigError(
                f"dataset.domain={self._domain}: the corpora of dataset.corpus are "
                f"{', '.join(known)}; name the one to search: dataset.domain={known[0]}"
            )

    def _resolve_judgements(self) -> Grades:
        """Find what is judged in the corpus. Raises DataError."""
        grades = self.contents().grades
        if not grades or self._qrels is None:
            return grades
        self._check_domain()
        return resolve_judgements(
            grades, self._qrels, self.corpus_dataset, self._domain, self._store
        )


class SampleDataset(JsonlDataset):
    """A small bundled data set about the Moon and spaceflight: for a first run, with no download.

    It has topic switches, pronouns, ellipsis and unanswerable questions, with qrels and reference
    answers. It is too small to compare systems on.
    """

    def __init__(self) -> None:
        folder = Path(str(resources.files(__package__).joinpath("sample")))
        super().__init__(
            conversations=folder / "conversations.jsonl",
            corpus=folder / "corpus.jsonl",
            qrels=folder / "qrels" / "dev.tsv",
        )
