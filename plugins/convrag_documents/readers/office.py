"""Word and PowerPoint.

DOCX: paragraphs, lists and tables of a Word file, with its headings, and the pages that Word saw
last. PPTX: the texts of the slides, each with its title as a heading, and the speaker's notes.
"""

from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from convrag import Document
from convrag_documents.readers.archive import Archive
from convrag_documents.readers.text import TextBuilder, join_cells
from convrag_documents.unreadable import Unreadable

_LEFT_OUT = {"del", "moveFrom", "Fallback", "pPr", "rPr", "sectPr"}
"""Tracked deletions, the second form of a drawing for old programs, and properties."""

_SIGNS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_BODY_LEVEL = 9
_TITLE = 0


def read_docx(content: bytes) -> Iterator[Document]:
    """Read a Word file. Footnotes stand at the end. A paragraph of the style Title is the title."""
    archive = Archive(content)
    main = dict(archive.read_relations("").values()).get("officeDocument", "word/document.xml")
    related = dict(each for each in archive.read_relations(main).values() if each[1] in archive)
    body = archive.read_xml(main).find("body")
    if body is None:
        raise Unreadable("this is no text of Word")
    builder = TextBuilder()
    levels = _read_levels(archive.read_xml(related["styles"])) if "styles" in related else {}
    _Body(builder, levels, has_pages=body.find(".//lastRenderedPageBreak") is not None).add(body)
    for notes in ("footnotes", "endnotes"):
        if notes in related:
            for note in archive.read_xml(related[notes]):
                if note.get("type") is None:  # others are lines between text and notes
                    builder.add(_read_text(note))
    yield builder.build()


class _Body:
    """Adds the blocks of a body, a cell of a table, or a text box."""

    def __init__(self, builder: TextBuilder, levels: Mapping[str, int], has_pages: bool) -> None:
        self._builder = builder
        self._levels = levels
        self._list: list[str] = []
        self._has_pages = has_pages
        if has_pages:
            builder.begin_page()

    def add(self, body: Element) -> None:
        """Add all blocks."""
        waiting = list(reversed(body))
        while waiting:
            block = waiting.pop()
            if block.tag == "p":
                self._add_paragraph(block)
            elif block.tag == "tbl":
                self._end_list()
                rows = (row.findall("./tc") + row.findall("./sdt//tc") for row in block.iter("tr"))
                self._builder.add(join_cells(map(_read_text, cells) for cells in rows))
                self._turn_pages(block)
            elif block.tag in ("sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag"):
                waiting.extend(reversed(block))
        self._end_list()

    def _add_paragraph(self, paragraph: Element) -> None:
        properties = paragraph.find("pPr")
        level = self._find_level(properties)
        text = _read_text(paragraph)
        is_item = (
            properties is not None and properties.find("numPr") is not None and level == _BODY_LEVEL
        )
        if not is_item:
            self._end_list()
        begins_page = self._has_pages and _begins_page(paragraph)
        if begins_page:
            self._end_list()
            self._turn_pages(paragraph)
        if is_item and text.strip():
            self._list.append(f"- {' '.join(text.split())}")
        elif level == _TITLE and not self._builder.title:
            self._builder.title = text
            self._builder.add(text)
        elif level < _BODY_LEVEL:
            self._builder.add_heading(max(1, level), text)
        else:
            self._builder.add(text)
        if not begins_page:
            self._turn_pages(paragraph)

    def _turn_pages(self, block: Element) -> None:
        """Begin the pages that begin within a block: what follows it is on the last of them."""
        if self._has_pages and (breaks := len(block.findall(".//lastRenderedPageBreak"))):
            self._end_list()
            for _ in range(breaks):
                self._builder.begin_page()

    def _end_list(self) -> None:
        self._builder.add("\n".join(self._list))
        self._list = []

    def _find_level(self, properties: Element | None) -> int:
        if properties is None:
            return _BODY_LEVEL
        if (own := _read_outline_level(properties)) is not None:
            return own
        style = properties.find("pStyle")
        return (
            self._levels.get(style.get("val", ""), _BODY_LEVEL)
            if style is not None
            else _BODY_LEVEL
        )


def _read_levels(styles: Element) -> dict[str, int]:
    """Read which styles are headings: id -> level from 1, 0 for the title. Word keeps their English
    names.
    """
    own: dict[str, int] = {}
    base: dict[str, str] = {}
    for style in styles.iter("style"):
        style_id = style.get("styleId", "")
        name = next((each.get("val", "").lower() for each in style.iter("name")), "")
        if (parent := style.find("basedOn")) is not None:
            base[style_id] = parent.get("val", "")
        properties = style.find("pPr")
        level = _read_outline_level(properties) if properties is not None else None
        if name == "title":
            own[style_id] = _TITLE
        elif name.startswith("heading ") and name[8:].isdecimal():
            own[style_id] = int(name[8:])
        elif level is not None:
            own[style_id] = level
    for style_id in base:
        seen = {style_id}
        ancestor = base[style_id]
        while style_id not in own and ancestor not in seen:
            seen.add(ancestor)
            if own.get(ancestor, _TITLE) != _TITLE:
                own[style_id] = own[ancestor]
            ancestor = base.get(ancestor, style_id)
    return own


def _read_outline_level(properties: Element) -> int | None:
    level = properties.find("outlineLvl")
    value = level.get("val", "") if level is not None else ""
    return int(value) + 1 if value.isdecimal() and len(value) == 1 else None


def _begins_page(paragraph: Element) -> bool:
    """Whether a page begins before the first word of a paragraph."""
    for element in _walk_tree(paragraph):
        if element.tag == "lastRenderedPageBreak":
            return True
        if element.tag == "t" and (element.text or "").strip():
            return False
    return False


def _read_text(block: Element) -> str:
    """The text of a paragraph, or of several, with a line break between them."""
    pieces = []
    for element in _walk_tree(block):
        if element.tag == "t":
            pieces.append(element.text or "")
        elif element.tag == "p" and pieces:
            pieces.append("\n")
        elif element.tag in _SIGNS:
            pieces.append(_SIGNS[element.tag])
    return "".join(pieces)


def _walk_tree(root: Element) -> Iterator[Element]:
    """Yield an element and all within it, in the order of the text, without what is left out."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if element.tag not in _LEFT_OUT:
            yield element
            waiting.extend(reversed(element))


_TITLES = {"title", "ctrTitle"}
_NOT_SHOWN = {"sldNum", "dt", "ftr", "hdr", "sldImg"}
"""Number, date, footer and header of a slide, and its picture beside the notes."""


def read_pptx(content: bytes) -> Iterator[Document]:
    """Read a presentation; its pages are slides."""
    archive = Archive(content)
    main = dict(archive.read_relations("").values()).get("officeDocument", "ppt/presentation.xml")
    related = archive.read_relations(main)
    builder = TextBuilder(page_name="slide")
    for entry in archive.read_xml(main).iter("sldId"):
        kind, name = related.get(entry.get("r:id", ""), ("", ""))
        if kind != "slide":
            raise Unreadable("it is damaged: a slide is missing in it")
        builder.begin_page()
        _add_slide(builder, archive.read_xml(name))
        for note_kind, note in archive.read_relations(name).values():
            if note_kind == "notesSlide" and note in archive:
                lines = [
                    line
                    for shape in archive.read_xml(note).iter("sp")
                    for line in _read_shape(shape)
                ]
                builder.add("\n".join(["Notes:", *lines]) if lines else "")
    yield builder.build()


def _add_slide(builder: TextBuilder, slide: Element) -> None:
    shapes = [shape for shape in slide.iter() if shape.tag in ("sp", "tbl")]
    titles = [shape for shape in shapes if shape.tag == "sp" and _find_kind(shape) in _TITLES]
    for shape in titles:
        builder.add_heading(1, " ".join(_read_shape(shape)))
    for shape in shapes:
        if shape.tag == "tbl":
            rows = (
                (" ".join(_read_paragraphs(cell)) for cell in row.iter("tc"))
                for row in shape.iter("tr")
            )
            builder.add(join_cells(rows))
        elif shape not in titles:
            builder.add("\n".join(_read_shape(shape)))


def _find_kind(shape: Element) -> str:
    place = next(shape.iter("ph"), None)
    return place.get("type", "body") if place is not None else ""


def _read_shape(shape: Element) -> list[str]:
    body = shape.find("txBody")
    return [] if body is None or _find_kind(shape) in _NOT_SHOWN else _read_paragraphs(body)


def _read_paragraphs(body: Element) -> list[str]:
    """The lines of a text."""
    lines = []
    for paragraph in body.iter("p"):
        pieces = [
            " " if each.tag == "br" else each.text or ""
            for each in paragraph.iter()
            if each.tag in ("t", "br")
        ]
        if line := " ".join("".join(pieces).split()):
            lines.append(line)
    return lines


_ODT_SIGNS = {"s": " ", "tab": " ", "line-break": "\n", "annotation": "", "tracked-changes": ""}


def read_odt(content: bytes) -> Iterator[Document]:
    """Read a text of OpenDocument (LibreOffice): headings, paragraphs, lists and tables."""
    body = Archive(content).read_xml("content.xml").find("./body/text")
    if body is None:
        raise Unreadable("this is no OpenDocument text")
    builder = TextBuilder()
    waiting = list(reversed(body))
    while waiting:
        block = waiting.pop()
        if block.tag == "h":
            builder.add_heading(int(block.get("outline-level", "1")), _read_odt_text(block))
        elif block.tag == "p":
            builder.add(_read_odt_text(block))
        elif block.tag == "list":
            builder.add(
                "\n".join(f"- {_read_odt_text(paragraph)}" for paragraph in block.iter("p"))
            )
        elif block.tag == "table":
            builder.add(
                join_cells(
                    map(_read_odt_text, row.iter("table-cell")) for row in block.iter("table-row")
                )
            )
        elif block.tag not in _ODT_SIGNS:
            waiting.extend(reversed(block))
    yield builder.build()


def _read_odt_text(block: Element) -> str:
    pieces = [block.text or ""]
    for child in block:
        pieces += [
            _ODT_SIGNS[child.tag] if child.tag in _ODT_SIGNS else _read_odt_text(child),
            child.tail or "",
        ]
    return "".join(pieces)
