"""dataset=ir_datasets: any collection of the library ir_datasets."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from textwrap import shorten
from typing import Any, ClassVar

from convrag import ConfigError, Conversation, Dataset, Passage, Turn, UnknownName
from convrag.sdk.data import fields
from convrag.sdk.data.fields import add_fields
from convrag.sdk.identity import digest, hash_modules
from convrag.sdk.lazy import Lazy, collect_problems
from convrag_datasets.cast import read_topic, read_tree
from convrag_datasets.file_dataset import Contents, FileDataset
from convrag_datasets.files.row import Row

_REWRITTEN = "_rewritten_utterance"
"""The end of the names of fields that have rewrites: manual_rewritten_utterance."""

_TEXTS = ("text", "abstract", "body", "contents", "description", "summary")
"""The fields of a document that its passage has as text."""

_PASSAGE_FIELDS = ("doc_id", "title", "url", *_TEXTS)
"""The fields of a document that filters do not compare."""

_LONGEST_REASON = 200
"""Characters of the library's own message; the whole may list each address that was tried."""


class IrDatasetsDataset(FileDataset):
    """Any collection of the library ir_datasets, by its id: trec-cast/v1/2020, beir/scifact/test.

        python -m convrag dataset=ir_datasets dataset.id=beir/scifact/test generator=none

    Topics of TREC CAsT are conversations; those of 2022 are trees, whose branches are conversations
    as with dataset=cast. Any other query is a conversation of one question. The first of a query's
    answers is its reference answer. A document that is judged several times for a query has the
    highest of its grades. Rewritten utterances are rewrites (rewriter=replay rewriter.kind=manual).

    An id without queries (msmarco-passage) has passages alone, for task=chat and task=questions.
    The library downloads what it needs into ~/.ir_datasets, or the folder that IR_DATASETS_HOME
    names. Corpora can be very large. Source: MacAvaney et al., Simplified Data Wrangling with
    ir_datasets, SIGIR 2021; https://ir-datasets.com lists the collections.

    Args:
        id: of the collection; one that a file of `plugins` has registered with the library is
            found, too.
    """

    requires: ClassVar = {"ir_datasets": "convrag[ir-datasets]"}
    env_vars = ("IR_DATASETS_HOME",)

    def __init__(self, *, id: str) -> None:
        super().__init__(corpus=None, domain="default")
        self.id = id
        self._collection = Lazy(self._load)

    def list_files(self) -> Iterable[Path]:
        """List no file: the id identifies what the library publishes."""
        return ()

    def content_hash(self) -> str:
        """Return a hash of the questions and grades of a collection that is not published.

        It is empty for a published collection, which its id identifies.
        """
        try:
            collection = self._collection()
            if not collection.has_queries() or collection.queries_metadata():
                return ""
            contents = self.contents()
        except ConfigError:
            return ""  # check() reports what is wrong
        return digest([repr(contents.conversations), repr(contents.grades)])

    def check(self) -> Iterable[str]:
        """Return the errors of the queries and qrels.

        The corpus, which may have many gigabytes, is not requested.
        """
        return collect_problems(self.contents)

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Stream the documents; none where the collection has none. Raises ConfigError."""
        if domain not in self.domains():
            raise UnknownName("the corpus", domain, self.domains())
        collection = self._collection()
        if not collection.has_docs():
            return
        with self._explained():
            for document in collection.docs_iter():
                yield _make_passage(document)

    def corpus_fingerprint(self, domain: str) -> str:
        """Return a hash of the id of a published corpus, or of all texts of any other one.

        The library verifies the files of what it publishes.
        """
        collection = self._collection()
        published = collection.docs_metadata() if collection.has_docs() else None
        if not published:
            return Dataset.corpus_fingerprint(self, domain)
        import ir_datasets

        parent = ir_datasets.docs_parent_id(self.id)
        identity = ["ir_datasets", parent, dict(published), version("ir_datasets")]
        if _list_other_fields(collection.docs_cls()):
            identity.append(hash_modules(fields.__name__))
        return digest(identity)

    def read_contents(self) -> Contents:
        """Read the queries and the qrels. Raises ConfigError."""
        collection = self._collection()
        if not collection.has_queries():
            return Contents(())
        with self._explained():
            queries = list(collection.queries_iter())
            judgements = list(collection.qrels_iter()) if collection.has_qrels() else []
        if not queries:
            raise ConfigError(f"the collection {self.id!r} of ir_datasets has no query")
        conversations = tuple(self._read_conversations(queries))
        known = {turn.id for conversation in conversations for turn in conversation.turns}
        grades = _read_grades(judgements)
        unknown = [query for query in grades if query not in known]
        for query in unknown:
            del grades[query]
        note = ""
        if unknown:
            note = f"Judged queries of {self.id!r} without a question: {len(unknown)}."
        return Contents(conversations, grades, _read_rewrites(queries, known), note)

    def _load(self) -> Any:
        import ir_datasets

        try:
            collection = ir_datasets.load(self.id)
        except KeyError:
            raise UnknownName("dataset.id", self.id, list(ir_datasets.registry)) from None
        if not collection.has_queries() and not collection.has_docs():
            parts = [name for name in ir_datasets.registry if name.startswith(f"{self.id}/")]
            examples = f"; one of its parts may: {', '.join(parts[:5])}" if parts else ""
            problem = "has no queries and no documents"
            raise ConfigError(f"the collection {self.id!r} of ir_datasets {problem}{examples}")
        return collection

    def _read_conversations(self, queries: Sequence[Any]) -> Iterator[Conversation]:
        """Yield each query that is not empty as a conversation, and then the topics of CAsT."""
        topics: dict[str, list[Any]] = {}
        for query in queries:
            if hasattr(query, "topic_number"):
                topics.setdefault(str(query.topic_number), []).append(query)
                continue
            question = _read_question(query)
            if question.strip():
                query_id = str(query.query_id)
                yield Conversation(query_id, (Turn(query_id, question, _read_answer(query)),))
        for topic, turns in topics.items():
            row = _make_topic(topic, turns, Path(self.id))
            if hasattr(turns[0], "participant"):
                yield from read_tree(row)
            else:
                yield read_topic(row, "manual")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what the library raises into a ConfigError that says where the files belong."""
        try:
            yield
        except (OSError, RuntimeError, ValueError, KeyError, EOFError) as error:
            import ir_datasets

            reason = shorten(str(error), _LONGEST_REASON)
            raise ConfigError(
                f"the collection {self.id!r} of ir_datasets cannot be read: {reason}. The files "
                f"belong into {ir_datasets.util.home_path()} (IR_DATASETS_HOME); "
                "https://ir-datasets.com says where they are from"
            ) from error


def _make_topic(topic: str, turns: Sequence[Any], path: Path) -> Row:
    """Return a topic in the form of CAsT's own files, which the library has flattened."""
    rows = []
    for turn in turns:
        row = {**turn._asdict(), "number": turn.turn_number}
        parent = row.get("parent_id")
        if parent:
            row["parent"] = str(parent).removeprefix(f"{topic}_")
        rows.append(row)
    return Row({"number": topic, "turn": rows}, path)


def _read_question(query: Any) -> str:
    """Return the question in the user's own words."""
    text = getattr(query, "text", None)
    return text if isinstance(text, str) else str(query.default_text())


def _read_answer(query: Any) -> str:
    """Return the first of the answers that the collection gives; empty where it gives none."""
    answers = getattr(query, "answers", ())
    if isinstance(answers, tuple | list) and answers and isinstance(answers[0], str):
        return answers[0]
    return ""


def _read_grades(judgements: Iterable[Any]) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for judgement in judgements:
        grade = int(judgement.relevance)
        query_grades = grades.setdefault(str(judgement.query_id), {})
        earlier = query_grades.get(str(judgement.doc_id), grade)
        query_grades[str(judgement.doc_id)] = max(grade, earlier)
    return grades


def _read_rewrites(queries: Iterable[Any], known: set[str]) -> dict[str, dict[str, str]]:
    """Read the rewritten utterances: kind ("manual") -> turn id -> text."""
    rewrites: dict[str, dict[str, str]] = {}
    for query in queries:
        query_id = str(query.query_id)
        if query_id not in known:
            continue
        for name in query._fields:
            text = getattr(query, name)
            if name.endswith(_REWRITTEN) and text:
                kind = name.removesuffix(_REWRITTEN)
                rewrites.setdefault(kind, {})[query_id] = text
    return rewrites


def _make_passage(document: Any) -> Passage:
    title = _read_field(document, "title")
    text = getattr(document, "text", None)
    if not isinstance(text, str):
        text = _drop_title(document.default_text(), title)
    others = {name: getattr(document, name) for name in _list_other_fields(document)}
    metadata = add_fields({}, others)
    return Passage(str(document.doc_id), text, title, _read_field(document, "url"), metadata)


def _list_other_fields(document: Any) -> list[str]:
    """List the fields of a document, or of its class, that are no part of a passage otherwise."""
    return [name for name in getattr(document, "_fields", ()) if name not in _PASSAGE_FIELDS]


def _read_field(document: Any, name: str) -> str:
    value = getattr(document, name, "")
    return value if isinstance(value, str) else ""


def _drop_title(text: str, title: str) -> str:
    """Return a document's whole text without its title, which the library puts before it."""
    rest = text.removeprefix(title)
    is_before = rest != text and (not rest or rest[0].isspace())
    return rest.strip() if is_before else text
