"""The contract of the stage that cuts documents into passages."""

from __future__ import annotations

from typing import Any

from convrag.api.documents import Document, Heading
from convrag.testing.calls import CallContract
from convrag.testing.samples import BLANK_TEXTS, ODD_TEXTS, TEXTS


class ChunkerContract(CallContract):
    """A chunker cuts documents into passages that say where they stand."""

    group = "chunker"
    method = "chunk"

    def inputs(self) -> list[list[dict[str, Any]]]:
        return [[{"document": make_document(conversation + turn)} for turn in range(3)] for conversation in range(8)]

    def odd_inputs(self) -> list[dict[str, Any]]:
        return [{"document": document} for document in make_odd_documents()]

    def test_passages_stand_in_the_document(self) -> None:
        stage = self.make()
        for number in range(8):
            document = make_document(number)
            assert list(stage.chunk(document)), "a document with words has passages"
            check_passages(stage, document)

    def test_passages_have_ids_of_their_own(self) -> None:
        documents = [make_document(0), make_document(1)]
        ids = [passage.id for document in documents for passage in self.make().chunk(document)]
        assert len(ids) == len(set(ids)), "two documents of a corpus need passages with different ids"

    def test_odd_documents_do_no_harm(self) -> None:
        stage = self.make()
        for document in make_odd_documents():
            check_passages(stage, document)

    def test_nothing_is_in_a_blank_document(self) -> None:
        stage = self.make()
        assert [list(stage.chunk(Document("blank.txt", text))) for text in ("", " \n\t")] == [[], []]


def check_passages(stage: Any, document: Document) -> None:
    """Check the passages of a document: their texts, their offsets and their order."""
    found = list(stage.chunk(document))
    for passage in found:
        of, start, end = (passage.metadata.get(key) for key in ("document", "start", "end"))
        assert of == document.id, "metadata['document'] is the id of the document: use convrag.sdk.document_passages"
        assert isinstance(start, int), "metadata['start'] is a place in the document's text"
        assert isinstance(end, int), "metadata['end'] is a place in the document's text"
        assert passage.text == document.text[start:end], "a passage's text is document.text[start:end]"
        assert passage.text.strip(), "a passage has a text"
    starts = [passage.metadata["start"] for passage in found]
    assert starts == sorted(starts), "passages come in the order of the document"


def make_document(number: int) -> Document:
    """Make one of many different documents about tea, with headings and pages."""
    steps = number % len(TEXTS)
    text, headings, pages = "", [], [0]
    for place, paragraph in enumerate([*TEXTS[steps:], *TEXTS[:steps]]):
        headings.append(Heading(len(text), 1 + min(place, 2), f"Part {number + place}"))
        text += f"# Part {number + place}\n\n{paragraph} " + "It is said of tea. " * (number * place) + "\n\n"
        pages.append(len(text))
    return Document(f"tea/{number}.md", text, "Tea", headings=tuple(headings), pages=tuple(pages[:-1]))


def make_odd_documents() -> list[Document]:
    """Make documents that are hard to handle, without headings and with headings at odd places."""
    long = ["é" * 5_000, "茶は八十度で入れる。" * 300, "👩‍👩‍👧 " * 500, "\n" * 2_000 + "tea", "one. " * 2_000]
    texts = [*ODD_TEXTS, *BLANK_TEXTS, *long]
    plain = [Document(f"odd-{number}.txt", text) for number, text in enumerate(texts)]
    places = (0, 0, 1, 2)
    headed = [
        Document(f"odd/{number}.md", text, headings=tuple(Heading(place, 6 - place, "") for place in places))
        for number, text in enumerate(texts)
    ]
    return [*plain, *headed]
