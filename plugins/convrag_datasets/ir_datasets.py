"""dataset=ir_datasets: any data set of the library ir_datasets."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from textwrap import shorten
from typing import Any, ClassVar

from convrag import ConfigError, Conversation, Dataset, Passage, Turn, UnknownName
from convrag.sdk.identity import digest
from convrag.sdk.lazy import Lazy, collect_problems
from convrag_datasets.file_dataset import Contents, FileDataset


class IrDatasetsDataset(FileDataset):
    """A data set of the library ir_datasets, by its id: beir/scifact/test, trec-cast/v1/2020, ...

    Queries with the number of a topic (TREC CAsT) are the turns of a conversation; others stand alone. The library
    keeps what it downloads in ~/.ir_datasets, or in the folder that IR_DATASETS_HOME names. Corpora can be very large.
    Source: MacAvaney et al., Simplified Data Wrangling with ir_datasets, SIGIR 2021; https://ir-datasets.com.

    Args:
        id: of the data set.
    """

    requires: ClassVar = {"ir_datasets": "convrag[ir_datasets]"}
    env_vars = ("IR_DATASETS_HOME",)

    def __init__(self, *, id: str) -> None:
        super().__init__(corpus=None, domain="default")
        self.id = id
        self._loaded = Lazy(self._load)

    def list_files(self) -> Iterable[Path]:
        """None: the id says what the library publishes."""
        return ()

    def check(self) -> Iterable[str]:
        """The errors of the queries and qrels. The corpus, which may have many gigabytes, is not asked for here."""
        return collect_problems(self.contents)

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Stream the documents; none where the data set has none. Raises ConfigError."""
        if domain not in self.domains():
            raise UnknownName("the corpus", domain, self.domains())
        dataset = self._loaded()
        if dataset.has_docs():
            with self._explained():
                for document in dataset.docs_iter():
                    yield _make_passage(document)

    def corpus_fingerprint(self, domain: str) -> str:
        """A hash of the id of what the library publishes, whose files it verifies; of all texts for other corpora."""
        dataset = self._loaded()
        if dataset.has_docs() and (published := dataset.docs_metadata()):
            import ir_datasets

            return digest(["ir_datasets", ir_datasets.docs_parent_id(self.id), dict(published), version("ir_datasets")])
        return Dataset.corpus_fingerprint(self, domain)

    def read_contents(self) -> Contents:
        """Read the queries and the qrels. Raises ConfigError."""
        conversations = self._read_conversations()
        return Contents(conversations, self._read_qrels(conversations))

    def _load(self) -> Any:
        import ir_datasets

        try:
            dataset = ir_datasets.load(self.id)
        except KeyError:
            raise UnknownName("dataset.id", self.id, list(ir_datasets.registry)) from None
        if not dataset.has_queries():
            more = [each for each in ir_datasets.registry if each.startswith(f"{self.id}/")]
            examples = f"; one of its parts may: {', '.join(more[:5])}" if more else ""
            raise ConfigError(f"dataset=ir_datasets: {self.id!r} has no queries{examples}")
        return dataset

    def _read_conversations(self) -> tuple[Conversation, ...]:
        topics: dict[str, list[Turn]] = {}
        with self._explained():
            for query in self._loaded().queries_iter():
                if hasattr(query, "participant"):
                    raise ConfigError(
                        f"dataset=ir_datasets: the topics of {self.id!r} are trees; read their file with dataset=cast"
                    )
                topic = str(getattr(query, "topic_number", query.query_id))
                topics.setdefault(topic, []).append(Turn(str(query.query_id), _get_text(query)))
        return tuple(Conversation(topic, tuple(turns)) for topic, turns in topics.items())

    def _read_qrels(self, conversations: Iterable[Conversation]) -> dict[str, dict[str, int]]:
        known = {turn.id for conversation in conversations for turn in conversation.turns}
        grades: dict[str, dict[str, int]] = {}
        if self._loaded().has_qrels():
            with self._explained():
                for judged in self._loaded().qrels_iter():
                    if str(judged.query_id) in known:
                        grades.setdefault(str(judged.query_id), {})[str(judged.doc_id)] = int(judged.relevance)
        return grades

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what the library raises where a file cannot be downloaded or read into a ConfigError."""
        try:
            yield
        except (OSError, RuntimeError, ValueError, KeyError, EOFError) as error:  # requests' errors are OSErrors
            import ir_datasets

            reason = shorten(str(error), 200)  # the whole may list each address that was tried
            raise ConfigError(
                f"dataset=ir_datasets: {self.id!r} cannot be read: {reason}. The files belong into "
                f"{ir_datasets.util.home_path()} (IR_DATASETS_HOME); https://ir-datasets.com says where they are from."
            ) from error


def _make_passage(document: Any) -> Passage:
    title, url = (value if isinstance(value := getattr(document, name, ""), str) else "" for name in ("title", "url"))
    text = getattr(document, "text", None)
    return Passage(str(document.doc_id), text if isinstance(text, str) else document.default_text(), title, url)


def _get_text(query: Any) -> str:
    """The user's own words."""
    text = getattr(query, "text", None)
    return text if isinstance(text, str) else str(query.default_text())
