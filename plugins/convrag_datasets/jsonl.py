"""dataset=jsonl: the user's own files. dataset=sample: the bundled ones."""

from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from convrag import ConfigError, Conversation
from convrag_datasets.file_dataset import Contents, FileDataset
from convrag_datasets.files.conversations import read_conversations
from convrag_datasets.files.qrels import read_qrels
from convrag_datasets.files.queries import read_queries


class JsonlDataset(FileDataset):
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
        corpus: file of the passages to search; without it there is no retrieval.
        qrels: relevance judgements: query-id, corpus-id and score between tabs, or TREC's four
            columns.
        domain: the name of the corpus in outputs.
        columns: fields of `conversations` or `queries` whose columns have other names, as
            {question: prompt}.
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
            raise ConfigError(
                "dataset=jsonl takes either dataset.conversations=FILE or dataset.queries=FILE, "
                "not both"
            )
        if conversations is None and queries is None and corpus is None:
            files = "dataset.conversations=FILE, dataset.queries=FILE or dataset.corpus=FILE"
            raise ConfigError(f"dataset=jsonl needs {files}: none is given")
        super().__init__(corpus=corpus, domain=domain, corpus_columns=corpus_columns)
        self._conversations = conversations
        self._queries = queries
        self._qrels = qrels
        self._columns = columns

    def list_files(self) -> Iterable[Path | None]:
        """List all files."""
        return (self._conversations, self._queries, self._qrels)

    def read_contents(self) -> Contents:
        """Read the conversations and the qrels. Raises DataError."""
        conversations: tuple[Conversation, ...] = ()
        if self._conversations:
            conversations = read_conversations(self._conversations, self._domain, self._columns)
        elif self._queries:
            conversations = read_queries(self._queries, self._domain, self._columns)
        return Contents(conversations, read_qrels(self._qrels, conversations))


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
