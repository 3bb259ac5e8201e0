"""`context=window`, `section` and `document`: what is shown of a document around its passages."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import toys
from convrag import Context, Conversation, Dataset, Document, Hit, Passage, Pipeline, Question
from convrag.api.documents import Heading
from convrag.sdk.data.document_passages import cut_passages
from convrag.testing import ContextContract, TinyDataset
from convrag_small_to_big.contexts import DocumentContext, SectionContext, WindowContext
from convrag_small_to_big.parts import Span
from convrag_small_to_big.spans import find_section, widen_by_sentences

SENTENCES = [
    "# Leave",
    "Ask in time.",
    "## Sick leave",
    "Call before nine.",
    "Send a note.",
    "## Parental leave",
    "It takes a year.",
    "Both may take it.",
    "# Pay",
    "Pay comes monthly.",
]
TEXT = "\n\n".join(SENTENCES)
HEADINGS = tuple(
    Heading(TEXT.index(line), line.count("#"), line.lstrip("# "))
    for line in SENTENCES
    if line.startswith("#")
)
HANDBOOK = Document("handbook.md", TEXT, headings=HEADINGS)
OTHER = Document("other.md", "Tea is hot. Bread rises. Kettles whistle.")


def cut(document: Document, *texts: str) -> list[Passage]:
    spans = []
    for text in texts:
        start = document.text.index(text)
        spans.append((start, start + len(text)))
    return list(cut_passages(document, spans))


PROSE = [line for line in SENTENCES if not line.startswith("#")]
PASSAGES = {passage.text: passage for passage in cut(HANDBOOK, *PROSE)}
TEA = {
    passage.text: passage
    for passage in cut(OTHER, "Tea is hot.", "Bread rises.", "Kettles whistle.")
}


class Handbook(Dataset):
    """Two documents, a sentence a passage."""

    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def corpus(self, domain: str) -> Iterator[Passage]:
        yield from PASSAGES.values()
        yield from TEA.values()

    def document(self, domain: str, document_id: str) -> Document | None:
        known = {document.id: document for document in (HANDBOOK, OTHER)}
        return known.get(document_id)


class StoredContract(ContextContract):
    @pytest.fixture(autouse=True)
    def _with_store(self, convrag_store: Any) -> None:
        self.store = convrag_store


class TestWindow(StoredContract):
    def make(self) -> WindowContext:
        return WindowContext(dataset=TinyDataset(), store=self.store, llm=toys.EchoLLM())


class TestSection(ContextContract):
    def make(self) -> SectionContext:
        return SectionContext(dataset=Handbook(), llm=toys.EchoLLM())


class TestDocument(ContextContract):
    def make(self) -> DocumentContext:
        return DocumentContext(dataset=Handbook(), llm=toys.EchoLLM())


@pytest.fixture
def window(convrag_store: Any) -> WindowContext:
    return WindowContext(dataset=Handbook(), store=convrag_store, llm=toys.EchoLLM())


def show(context: Context, *passages: Passage) -> list[tuple[int, str, str]]:
    """The number, the passage's text and the shown text without its title, of each item."""
    hits = [Hit(passage, 9.0 - place) for place, passage in enumerate(passages)]
    evidence = context.assemble(Question("q", standalone="q"), hits, [])
    shown = []
    for item in evidence.items:
        title = item.passage.title
        text = item.text.removeprefix(f"{title}\n")
        assert item.text == f"{title}\n{text}"
        shown.append((item.number, item.passage.text, text))
    return shown


def test_a_window_has_the_neighbours_and_the_text_between(window: WindowContext) -> None:
    assert show(window, PASSAGES["Send a note."]) == [
        (1, "Send a note.",
         "Call before nine.\n\nSend a note.\n\n## Parental leave\n\nIt takes a year."),
    ]  # fmt: skip


def test_a_window_ends_with_its_document(window: WindowContext) -> None:
    assert show(window, TEA["Tea is hot."]) == [(1, "Tea is hot.", "Tea is hot. Bread rises.")]
    assert show(window, PASSAGES["Pay comes monthly."])[0][2].endswith(
        "# Pay\n\nPay comes monthly."
    )


def test_windows_that_overlap_merge_in_the_order_of_the_document(window: WindowContext) -> None:
    """Documents come in the order of their best passages."""
    shown = show(
        window, TEA["Kettles whistle."], PASSAGES["It takes a year."], PASSAGES["Call before nine."]
    )
    assert shown == [
        (1, "Kettles whistle.", "Bread rises. Kettles whistle."),
        (2, "Call before nine.",
         "Ask in time.\n\n## Sick leave\n\nCall before nine.\n\nSend a note."),
        (3, "It takes a year.", "## Parental leave\n\nIt takes a year.\n\nBoth may take it."),
    ]  # fmt: skip


def test_before_and_after_may_differ(convrag_store: Any) -> None:
    none = WindowContext(
        dataset=Handbook(), store=convrag_store, llm=toys.EchoLLM(), before=0, after=0
    )
    assert show(none, PASSAGES["Send a note."])[0][2] == "Send a note."
    two = WindowContext(
        dataset=Handbook(), store=convrag_store, llm=toys.EchoLLM(), before=2, after=0
    )
    assert show(two, PASSAGES["Send a note."])[0][2].startswith("Ask in time.")


def section(tokens: int = 500) -> SectionContext:
    return SectionContext(dataset=Handbook(), llm=toys.EchoLLM(), tokens=tokens)


def test_a_section_goes_to_the_next_heading_of_its_level() -> None:
    assert show(section(), PASSAGES["Send a note."]) == [
        (1, "Send a note.", "## Sick leave\n\nCall before nine.\n\nSend a note."),
    ]  # fmt: skip
    (above,) = show(section(), PASSAGES["Ask in time."])
    assert above[2].startswith("# Leave\n\nAsk")
    assert above[2].endswith("Both may take it.")


def test_passages_of_one_section_divide_it() -> None:
    shown = show(section(), PASSAGES["Send a note."], PASSAGES["Call before nine."])
    assert shown == [
        (1, "Call before nine.", "## Sick leave\n\nCall before nine."),
        (2, "Send a note.", "Send a note."),
    ]
    nested = show(section(), PASSAGES["Send a note."], PASSAGES["Ask in time."])
    assert [text for _, _, text in nested] == [
        "# Leave\n\nAsk in time.\n\n## Sick leave\n\nCall before nine.",
        "Send a note.\n\n## Parental leave\n\nIt takes a year.\n\nBoth may take it.",
    ]


def test_a_section_that_is_too_long_is_cut_around_the_passage() -> None:
    """Sentences of it after and before the passage, in turn: 4 tokens are its title."""
    (shown,) = show(section(tokens=13), PASSAGES["It takes a year."])
    assert shown[2] == "It takes a year.\n\nBoth may take it."
    (alone,) = show(section(tokens=1), PASSAGES["It takes a year."])
    assert alone[2] == "It takes a year."


def test_a_passage_over_several_sections_is_in_the_section_above_them() -> None:
    def find(start: str, end: str) -> str:
        own = Span(TEXT.index(start), TEXT.index(end) + len(end))
        return TEXT[slice(*find_section(HANDBOOK, own))]

    assert find("Send", "a year.").startswith("# Leave")
    assert find("Send", "a year.").endswith("Both may take it.")
    assert find("Both", "monthly.") == TEXT


def test_sentences_are_added_in_turn() -> None:
    text = "One is. Two is. Three is. Four is. Five is."
    own = Span(text.index("Three"), text.index(" Four"))
    for tokens, shown in (
        (2, "Three is."),
        (4, "Three is. Four is."),
        (6, "Two is. Three is. Four is."),
        (8, "Two is. Three is. Four is. Five is."),
        (99, text),
    ):

        def fits(span: Span, most: int = tokens) -> bool:
            return len(text[span.start : span.end].split()) <= most

        span = widen_by_sentences(text, own, Span(0, len(text)), tokens, fits)
        assert text[slice(*span)] == shown
    inner = widen_by_sentences(text, own, Span(own.start, own.end), 99, lambda span: True)
    assert inner == own


def test_short_documents_are_whole_and_long_ones_are_not() -> None:
    context = DocumentContext(dataset=Handbook(), llm=toys.EchoLLM(), tokens=8)
    shown = show(context, PASSAGES["Send a note."], TEA["Bread rises."], TEA["Kettles whistle."])
    assert shown == [
        (1, "Send a note.", "Send a note."),
        (2, "Bread rises.", "Tea is hot. Bread rises."),
        (3, "Kettles whistle.", "Kettles whistle."),
    ]


def make_contexts(store: Any) -> Sequence[Context]:
    llm = toys.EchoLLM()
    return (
        WindowContext(dataset=Handbook(), store=store, llm=llm),
        SectionContext(dataset=Handbook(), llm=llm),
        DocumentContext(dataset=Handbook(), llm=llm),
    )


def test_a_passage_without_a_document_or_of_another_version_is_alone(convrag_store: Any) -> None:
    known = PASSAGES["Send a note."]
    changed = Passage("handbook.md#5", "Send two notes.", "T", metadata=known.metadata)
    gone = Passage("x", "Gone.", "T", metadata={"document": "gone.md", "start": 0, "end": 5})
    plain = Passage("y", "Plain.", "T")
    odd = Passage("z", "Odd.", "T", metadata={"document": "other.md", "start": "0"})
    for context in make_contexts(convrag_store):
        hits = [Hit(passage, 1.0) for passage in (changed, gone, plain, odd, plain)]
        evidence = context.assemble(Question("q", standalone="q"), hits, [])
        texts = [item.text for item in evidence.items]
        assert texts == [f"T\n{passage.text}" for passage in (changed, gone, plain, odd)]
        assert evidence.trace == {"widened": 0, "tokens_added": 0, "within": 0, "alone": 4}


def test_the_trace_counts_what_was_added(window: WindowContext) -> None:
    hits = [Hit(TEA["Tea is hot."], 1.0)]
    evidence = window.assemble(Question("q", standalone="q"), hits, [])
    assert evidence.trace == {"widened": 1, "tokens_added": 2, "within": 0, "alone": 0}


@pytest.mark.parametrize("name", ["window", "section", "document"])
def test_an_answer_from_the_text_around_cites_the_passage(name: str, tmp_path: Path) -> None:
    """The steam is searched for; the degrees, which are asked for, stand in the next passage."""
    steam = "Steam leaves the kettle through the lid. " * 3
    heat = "The kettle heats the water to ninety degrees. " * 3
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "kettle.md").write_text(f"# Kettle\n\n{steam}\n\n{heat}\n", encoding="utf-8")
    chat = Pipeline.compose(
        "dataset=documents", f"dataset.path={folder}", f"store.path={tmp_path / 'store'}",
        "dataset.chunker=sentences", "dataset.chunker.tokens=30", "dataset.chunker.overlap=0",
        "retriever=bm25", "generator=direct", "llm=extractive", f"context={name}", "top_n=1",
        "tracker=none",
    )  # fmt: skip
    record = chat.turn("c", "How many degrees does the water have, and where does steam leave?")
    (item,) = record.evidence.items
    assert "ninety degrees" in item.text
    assert "through the lid" in item.text
    assert record.answer.citations == (item.passage.id,)
    assert record.trace["context"]["widened"] == 1
