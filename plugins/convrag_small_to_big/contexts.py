"""`context=window`, `context=section` and `context=document`: passages with the text around them.

Each passage keeps its number, so that a citation names it. It is shown with more of its document;
where two passages want the same text, it is shown once, and the passages are in the order of the
document.
"""

import threading
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from convrag import (
    LLM,
    Context,
    Dataset,
    Document,
    Evidence,
    EvidenceItem,
    Hit,
    Message,
    Passage,
    Question,
    Store,
)
from convrag.sdk.search.corpus import Corpus
from convrag_small_to_big.parts import Part, Span, divide_spans
from convrag_small_to_big.spans import CHARACTERS_OF_A_TOKEN, find_section, widen_by_sentences


@dataclass
class _Group:
    """Passages of one document, or a passage that is shown alone.

    Args:
        document: None for a passage alone.
        parts: what should be shown of the document for each of its passages.
        alone: the id of the passage that is shown alone.
    """

    document: Document | None
    parts: list[Part]
    alone: str = ""

    def show(self, passages: Mapping[str, Passage]) -> dict[str, str]:
        """Return passage id -> the text that is shown for it, in the order of the document."""
        if self.document is None:
            return {self.alone: passages[self.alone].content}
        texts = {}
        for part in divide_spans(self.parts):
            text = self.document.text[part.shown.start : part.shown.end].strip()
            texts[part.id] = add_title(passages[part.id], text)
        return texts


class WiderContext(Context):
    """Shows passages with text around them; a subclass says how much.

    A passage that does not know its document is shown in full, as by context=full, and so is one
    whose document is missing or has changed. The trace counts passages that are shown with more
    than their text (`widened`), those that lie within another one (`within`), those without a
    document (`alone`), and tokens that are shown beyond the passages' own (`tokens_added`).

    Args:
        dataset: has the documents.
        llm: counts tokens.
    """

    def __init__(self, *, dataset: Dataset, llm: LLM) -> None:
        self.dataset = dataset
        self.llm = llm

    @abstractmethod
    def find_span(self, document: Document, passage: Passage, own: Span, domain: str) -> Span:
        """Find what should be shown for a passage: a span of its document, with its own in it.

        Args:
            document: of the passage.
            passage: the passage.
            own: the span of the passage.
            domain: the name of the corpus.
        """

    def assemble(
        self, question: Question, hits: Sequence[Hit], messages: Sequence[Message]
    ) -> Evidence:
        """Show documents in the order of their best passages, numbered from 1."""
        passages: dict[str, Passage] = {}
        for hit in hits:  # the best copy of a passage comes first
            passages.setdefault(hit.passage.id, hit.passage)
        groups = self._group_by_document(list(passages.values()), question.domain)
        texts: dict[str, str] = {}
        for group in groups:
            texts |= group.show(passages)
        items = tuple(
            EvidenceItem(number, passages[id_], text)
            for number, (id_, text) in enumerate(texts.items(), 1)
        )
        trace = self._describe(items) | {
            "within": len(passages) - len(items),
            "alone": sum(group.document is None for group in groups),
        }
        return Evidence(items, trace)

    def _group_by_document(self, passages: Sequence[Passage], domain: str) -> list[_Group]:
        """Group passages by their documents; one without a document is a group of its own."""
        documents: dict[str, Document | None] = {}
        groups: dict[tuple[str, str], _Group] = {}
        for passage in passages:
            name = passage.document
            if name and name not in documents:
                documents[name] = self.dataset.document(domain, name)
            document = documents.get(name)
            own = find_own_span(document, passage) if document else None
            if document is None or own is None:
                groups["passage", passage.id] = _Group(None, [], passage.id)
                continue
            shown = self.find_span(document, passage, own, domain)
            group = groups.setdefault(("document", name), _Group(document, []))
            group.parts.append(Part(passage.id, own, shown))
        return list(groups.values())

    def _describe(self, items: Sequence[EvidenceItem]) -> dict[str, int]:
        """Count what is shown beyond the passages' own text, for the trace."""
        widened = [item for item in items if len(item.text) > len(item.passage.content)]
        added = 0
        for item in widened:
            shown = self.llm.count_tokens(item.text)
            added += shown - self.llm.count_tokens(item.passage.content)
        return {"widened": len(widened), "tokens_added": added}


def find_own_span(document: Document, passage: Passage) -> Span | None:
    """Find a passage in its document; None if it is not there, since the document changed."""
    start = passage.metadata.get("start")
    end = passage.metadata.get("end")
    if not isinstance(start, int) or not isinstance(end, int):
        return None
    is_there = 0 <= start < end and document.text[start:end] == passage.text
    return Span(start, end) if is_there else None


def add_title(passage: Passage, text: str) -> str:
    """Put the title of a passage above a text, unless the text begins with it."""
    title = passage.title.strip()
    if not title or passage.begins_with_title(text):
        return text
    return f"{title}\n{text}"


class WindowContext(WiderContext):
    """Show the model each passage with the passages before and after it in its document.

    Passages are searched small, and read with their surroundings. Windows that overlap are merged:
    no text is shown twice, and the passages of a document are in its order. Each passage is cited
    by its own number.

    Args:
        dataset: has the documents.
        store: has the copy of the passages, in their order.
        llm: counts tokens.
        before: passages before each one.
        after: passages after each one.
    """

    def __init__(
        self,
        *,
        dataset: Dataset,
        store: Store,
        llm: LLM,
        before: Annotated[int, Ge(0)] = 1,
        after: Annotated[int, Ge(0)] = 1,
    ) -> None:
        super().__init__(dataset=dataset, llm=llm)
        self.before = before
        self.after = after
        self._store = store
        self._corpora: dict[str, Corpus] = {}
        self._lock = threading.Lock()

    def find_span(self, document: Document, passage: Passage, own: Span, domain: str) -> Span:
        """Return the span from the first neighbour to the last one."""
        near = self._open_corpus(domain).get_around(passage.id, self.before, self.after)
        start, end = own
        for neighbour in near:
            place = None
            if neighbour.document == passage.document:
                place = find_own_span(document, neighbour)
            if place is not None:
                start = min(start, place.start)
                end = max(end, place.end)
        return Span(start, end)

    def _open_corpus(self, domain: str) -> Corpus:
        with self._lock:
            if domain not in self._corpora:
                self._corpora[domain] = Corpus(self.dataset, domain, self._store)
            return self._corpora[domain]


class SectionContext(WiderContext):
    """Show the model the whole section of each passage, within a number of tokens.

    The section goes from the heading above the passage to the next one of its level, so that its
    subsections are part of it. Of a section that has too many tokens, the sentences after and
    before the passage are shown, as many as fit. A document without headings is one section.
    Sections that overlap are merged, in the order of the document; each passage is cited by its own
    number.

    Args:
        dataset: has the documents.
        llm: counts tokens.
        tokens: of a section, with its title; a longer passage is shown all the same.
    """

    def __init__(self, *, dataset: Dataset, llm: LLM, tokens: Annotated[int, Ge(1)] = 500) -> None:
        super().__init__(dataset=dataset, llm=llm)
        self.tokens = tokens

    def find_span(self, document: Document, passage: Passage, own: Span, domain: str) -> Span:
        """Return the section, or as much of it around the passage as fits."""

        def fits(span: Span) -> bool:
            return self._fits(passage, document.text, span)

        section = find_section(document, own)
        if fits(section):
            return section
        return widen_by_sentences(document.text, own, section, self.tokens, fits)

    def _fits(self, passage: Passage, text: str, span: Span) -> bool:
        if span.end - span.start > self.tokens * CHARACTERS_OF_A_TOKEN:
            return False
        shown = add_title(passage, text[span.start : span.end])
        return self.llm.count_tokens(shown) <= self.tokens


class DocumentContext(WiderContext):
    """Show the model the whole documents of the passages where they are short.

    A longer document is shown by its passages alone. The passages of a document divide its text
    among them: each is cited by its own number, with the text up to the next one.

    Args:
        dataset: has the documents.
        llm: counts tokens.
        tokens: of the longest document that is shown whole.
    """

    def __init__(self, *, dataset: Dataset, llm: LLM, tokens: Annotated[int, Ge(1)] = 1000) -> None:
        super().__init__(dataset=dataset, llm=llm)
        self.tokens = tokens

    def find_span(self, document: Document, passage: Passage, own: Span, domain: str) -> Span:
        """Return the document, or the passage alone."""
        text = document.text
        is_short = len(text) <= self.tokens * CHARACTERS_OF_A_TOKEN
        if is_short and self.llm.count_tokens(text) <= self.tokens:
            return Span(0, len(text))
        return own
