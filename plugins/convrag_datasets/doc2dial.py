"""dataset=doc2dial and dataset=multidoc2dial: dialogues that refer to spans of documents of public services."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from convrag import Conversation, Document, Passage, Turn
from convrag.sdk.document_passages import cut_passages
from convrag.sdk.lazy import Lazy
from convrag.sdk.types import Heading
from convrag_datasets.conversations import format_row_id, pair_turns
from convrag_datasets.file_dataset import Contents, PublishedDataset, choose_domains, grade_passages
from convrag_datasets.row_files import read_json_fields
from convrag_datasets.rows import Row, UniqueIds


class Doc2dialDataset(PublishedDataset):
    """Doc2Dial: dialogues of users with agents, each about one document of a public service.

        python -m convrag dataset=doc2dial dataset.path=doc2dial/v1.0.1 retriever=bm25 history=gold limit=50

    `path` is the unpacked archive of doc2dial.github.io. The spans of the documents are the corpus, one for each domain
    (dmv, ssa, studentaid, va): the passage "DOCUMENT#SPAN" has the headings that it stands under as its title, and
    knows its document. The spans that an agent's answer refers to are relevant (grade 1). Turn ids are dialogue_turn.
    Labels: `act` and `reply` (dialogue acts of user and agent), `answerability`. Source: Feng et al., EMNLP 2020.

    Args:
        path: the folder with doc2dial_doc.json and doc2dial_dial_validation.json.
        split: validation, train or test.
        domain: dmv, ssa, studentaid or va, several joined with "+", or "all" that are there.
    """

    name: ClassVar[str] = "doc2dial"
    source = "doc2dial, unpacked from doc2dial.github.io"
    by_document: ClassVar[bool] = True
    corpus_code = (__name__, "convrag.sdk.document_passages")

    def __init__(
        self, *, path: Path, split: Literal["validation", "train", "test"] = "validation", domain: str = "all"
    ) -> None:
        super().__init__(folders=[path, path / "v1.0.1", path / self.name], domain=domain)
        self._dialogue_file, self._document_file = f"{self.name}_dial_{split}.json", f"{self.name}_doc.json"
        self._documents = Lazy(lambda: {each.document.id: each for each in read_documents(self.find_corpus(""))})

    def list_files(self) -> Iterable[Path | None]:
        """The dialogues and the documents."""
        return map(self.find, (self._dialogue_file, self._document_file))

    def read_contents(self) -> Contents:
        """Read the dialogues of the chosen domains. Raises DataError."""
        passages = {passage.id: passage for each in self._documents().values() for passage in each.cut()}
        domains = self.domains()
        path = self.require(self._dialogue_file)
        dialogues = read_dialogues(path, by_document=self.by_document, passages=passages)
        conversations = tuple(each for each in dialogues if each.domain in domains)
        return Contents(conversations, grade_passages(conversations))

    def domains(self) -> Sequence[str]:
        """The chosen domains. Raises DataError for a folder without documents, UnknownName for a domain it lacks."""
        return choose_domains(self._domain, sorted({each.domain for each in self._documents().values()}))

    def find_corpus(self, domain: str) -> Path:
        """The file of the documents. Raises DataError where it is missing."""
        return self.require(self._document_file)

    def read_corpus(self, path: Path, domain: str) -> Iterator[Passage]:
        """Yield the spans of a domain's documents. Raises DataError."""
        return (passage for each in self._documents().values() if each.domain == domain for passage in each.cut())

    def document(self, domain: str, document_id: str) -> Document | None:
        """Find a document by its id. Raises DataError."""
        found = self._documents().get(document_id)
        return found.document if found and found.domain == domain else None


class Multidoc2dialDataset(Doc2dialDataset):
    """MultiDoc2Dial: dialogues of users with agents that go from document to document of a public service.

        python -m convrag dataset=multidoc2dial dataset.path=multidoc2dial retriever=bm25 history=gold limit=50

    As dataset=doc2dial, whose parameters it has; each reference names its document. Source: Feng et al., EMNLP 2021.

    Args:
        path: the folder with multidoc2dial_doc.json and multidoc2dial_dial_validation.json.
        split: validation, train or test.
        domain: dmv, ssa, studentaid or va, several joined with "+", or "all" that are there.
    """

    name = "multidoc2dial"
    source = "multidoc2dial, unpacked from doc2dial.github.io"
    by_document = False


class Span(NamedTuple):
    """A span of a document: its id there, and its characters in the document's text."""

    name: str
    start: int
    end: int


class SpannedDocument(NamedTuple):
    """A document, its domain, and its spans in the order of the text."""

    domain: str
    document: Document
    spans: tuple[Span, ...]

    def cut(self) -> Iterator[Passage]:
        """Yield the spans as passages, "DOCUMENT#SPAN", with the headings that they stand under as title."""
        cut = cut_passages(self.document, ((span.start, span.end) for span in self.spans))
        for span, passage in zip(self.spans, cut, strict=True):
            yield replace(passage, id=format_span(self.document.id, span.name))


def format_span(document_id: str, name: str) -> str:
    """The id of the passage that a span is."""
    return f"{document_id}#{name}"


def read_documents(path: Path) -> Iterator[SpannedDocument]:
    """Stream the documents of a file: {"doc_data": {domain: {id: {"doc_text": ..., "spans": {id: {...}}}}}}.

    Raises:
        DataError: the file has another form, a span is not within its text, or a document or a span occurs twice.
    """
    ids = UniqueIds("document")
    for domain, documents in read_json_fields(path, "doc_data"):
        for name, row in documents.list_fields():
            ids.add(name, row)
            yield _read_document(row, domain, name)


def _read_document(node: Row, domain: str, name: str) -> SpannedDocument:
    text = node.get("doc_text").read_text()
    fields = [
        (key, each, *_read_bounds(each, text))
        for key, each in (node.get("spans").list_fields() if node.has("spans") else ())
    ]
    fields.sort(key=lambda field: (field[2], field[3]))
    spans = tuple(Span(_read_name(key, each), start, end) for key, each, start, end in fields)
    if len({span.name for span in spans}) < len(spans):
        raise node.error("two spans have the same id")
    headings = dict.fromkeys(heading for key, each, *_ in fields for heading in _read_headings(each, text))
    title = node.optional_text("title").partition("#")[0].strip()  # Doc2Dial numbers equal titles: "Top 5 DMV#3_0"
    document = Document(name, text, title, headings=tuple(sorted(headings, key=lambda each: each.start)))
    return SpannedDocument(domain, document, spans)


def _read_name(key: str, node: Row) -> str:
    return node.require_id("id_sp", "sp_id") if node.has("id_sp") or node.has("sp_id") else key


def _read_bounds(node: Row, text: str) -> tuple[int, int]:
    start, end = node.require_number("start_sp"), node.require_number("end_sp")
    if not start <= end <= len(text):
        raise node.error(f"the span from {start} to {end} is not within the {len(text)} characters of 'doc_text'")
    return start, end


def _read_headings(node: Row, text: str) -> Iterator[Heading]:
    """The heading of a span's section, where the section begins, under those above it."""
    title = node.optional_text("title").strip()
    if not title or not node.has("start_sec"):
        return
    start = min(node.require_number("start_sec"), len(text))
    yield Heading(start, 1 + _count_parents(node), title)


def _count_parents(node: Row) -> int:
    """How many titles stand above the title of a span; `parent_titles` is an object of lists, or a list of objects."""
    if not node.has("parent_titles"):
        return 0
    parents = node.get("parent_titles")
    return len(parents.read_items() if isinstance(parents.value, list) else parents.optional_items("text"))


_ROLES = {"user", "agent"}
_NO_SOLUTION = "respond_no_solution"


class _Spoken(NamedTuple):
    role: str
    number: int
    text: str
    act: str
    spans: tuple[str, ...]
    node: Row


def read_dialogues(path: Path, *, by_document: bool, passages: dict[str, Passage]) -> Iterator[Conversation]:
    """Stream the dialogues of a file: {"dial_data": {domain: [{"dial_id": ..., "turns": [...]}]}}.

    A user's utterance is a question, what agents say until the user speaks again the answer; what an agent says before
    is left out. The id of a turn is dialogue_turn, with the number of the user's turn. Labels: `act` (the dialogue act
    of the user), `reply` (the act of the agent), `answerability` (UNANSWERABLE where the agent has no solution).

    Args:
        path: the file.
        by_document: whether the dialogues of a domain stand by document once more, as in Doc2Dial.
        passages: the spans by id; those that an answer refers to become the turn's passages.

    Raises:
        DataError: the file has another form, an id occurs twice, or a turn refers to an unknown span.
    """
    ids = UniqueIds("dialogue")
    for domain, document, row in _list_dialogues(path, by_document):
        name = row.require_id("dial_id")
        ids.add(name, row)
        spoken = [_read_spoken(each, document) for each in row.require_items("turns")]
        if turns := tuple(_read_turns(name, spoken, passages)):
            yield Conversation(name, turns, domain)


def _list_dialogues(path: Path, by_document: bool) -> Iterator[tuple[str, str, Row]]:
    """Stream the dialogues with their domain and document."""
    for domain, row in read_json_fields(path, "dial_data"):
        documents = row.list_fields() if by_document else [("", row)]
        yield from ((domain, document, each) for document, rows in documents for each in rows.read_items())


def _read_spoken(node: Row, document: str) -> _Spoken:
    role = node.require_text("role")
    if role not in _ROLES:
        raise node.error(f"the role must be user or agent, not {role!r}")
    spans = tuple(
        format_span(each.optional_text("doc_id") or document, each.require_id("id_sp", "sp_id"))
        for each in node.optional_items("references")
        if each.has("id_sp") or each.has("sp_id")
    )
    text, act = node.require_text("utterance"), node.optional_text("da")
    return _Spoken(role, node.require_number("turn_id"), text, act, spans, node)


def _read_turns(name: str, spoken: Sequence[_Spoken], passages: dict[str, Passage]) -> Iterator[Turn]:
    numbers = UniqueIds("turn")
    for each in spoken:
        numbers.add(str(each.number), each.node)
    for question, replies in pair_turns(spoken, lambda each: each.role == "user"):
        labels: dict[str, Any] = {"act": question.act}
        if replies:
            labels["reply"] = replies[-1].act
            unanswerable = any(reply.act == _NO_SOLUTION for reply in replies)
            labels["answerability"] = "UNANSWERABLE" if unanswerable else "ANSWERABLE"
        yield Turn(
            id=format_row_id(name, question.number),
            question=question.text,
            answer="\n".join(reply.text for reply in replies),
            passages=tuple(_find_passages(replies, passages)),
            labels={label: value for label, value in labels.items() if value},
        )


def _find_passages(replies: Sequence[_Spoken], passages: dict[str, Passage]) -> Iterator[Passage]:
    """The spans that an answer refers to, each once. Raises DataError for one that no document has."""
    for name, node in {name: reply.node for reply in replies for name in reply.spans}.items():
        if name not in passages:
            raise node.error(f"no document has the span {name!r}")
        yield passages[name]
