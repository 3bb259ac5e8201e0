"""PowerPoint files: each slide is a page, with its title as a heading, and the speaker's notes."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from convrag import Document
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.readers.archive import Archive
from convrag_documents.readers.formulas import format_formula
from convrag_documents.readers.merged_cells import Cell
from convrag_documents.readers.raised_text import Position, join_runs
from convrag_documents.readers.tables import format_table
from convrag_documents.readers.text_builder import TextBuilder

_TITLES = {"title", "ctrTitle"}
_NOT_SHOWN = {"sldNum", "dt", "ftr", "hdr", "sldImg"}
"""Number, date, footer and header of a slide, and its picture next to the notes."""

_YES = ("1", "true", "on")
_MOST_DIGITS = 7
"""Digits from which a number of spanned cells is damaged."""


def read_pptx(content: bytes) -> Iterator[Document]:
    """Read a presentation."""
    archive = Archive(content)
    main = archive.find_main_part("ppt/presentation.xml")
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
                _add_notes(builder, archive.read_xml(note))
    yield builder.build()


def _add_slide(builder: TextBuilder, slide: Element) -> None:
    shapes = [shape for shape in slide.iter() if shape.tag in ("sp", "tbl")]
    titles = [shape for shape in shapes if shape.tag == "sp" and _find_kind(shape) in _TITLES]
    for shape in titles:
        builder.add_heading(1, " ".join(_read_shape(shape)))
    for shape in shapes:
        if shape.tag == "tbl":
            builder.add(_read_table(shape))
        elif shape not in titles:
            builder.add("\n".join(_read_shape(shape)))


def _add_notes(builder: TextBuilder, notes: Element) -> None:
    lines = []
    for shape in notes.iter("sp"):
        lines += _read_shape(shape)
    if lines:
        builder.add("\n".join(["Notes:", *lines]))


def _read_table(table: Element) -> str:
    """Read a table; its properties say whether the first row and the first column have headings."""
    properties = table.find("tblPr")
    has_head = properties is not None and properties.get("firstRow") in _YES
    rows = []
    for number, row in enumerate(table.findall("tr")):
        is_head = has_head and number == 0
        rows.append([_read_cell(cell, is_heading=is_head) for cell in _list_cells(row)])
    return format_table(rows)


def _list_cells(row: Element) -> list[Element]:
    """List the cells of a row, without the places that a merged cell spans."""
    return [
        cell
        for cell in row.findall("tc")
        if cell.get("hMerge") not in _YES and cell.get("vMerge") not in _YES
    ]


def _read_cell(cell: Element, *, is_heading: bool) -> Cell:
    text = " ".join(_read_paragraphs(cell))
    columns = _read_span(cell.get("gridSpan", ""))
    return Cell(text, columns, _read_span(cell.get("rowSpan", "")), is_heading)


def _read_span(value: str) -> int:
    is_number = value.isdecimal() and len(value) < _MOST_DIGITS
    return int(value) if is_number else 1


def _find_kind(shape: Element) -> str:
    placeholder = next(shape.iter("ph"), None)
    return "" if placeholder is None else placeholder.get("type", "body")


def _read_shape(shape: Element) -> list[str]:
    body = shape.find("txBody")
    if body is None or _find_kind(shape) in _NOT_SHOWN:
        return []
    return _read_paragraphs(body)


def _read_paragraphs(body: Element) -> list[str]:
    """Return the paragraphs of a text that are not blank, a line each."""
    lines = []
    for paragraph in body.iter("p"):
        line = " ".join(join_runs(_list_runs(paragraph)).split())
        if line:
            lines.append(line)
    return lines


def _list_runs(paragraph: Element) -> list[tuple[str, Position]]:
    """List the runs of a paragraph, each with its position, in the order of the text."""
    runs: list[tuple[str, Position]] = []
    waiting: list[tuple[Element, Position]] = [(paragraph, "")]
    while waiting:
        element, position = waiting.pop()
        if element.tag == "t":
            runs.append((element.text or "", position))
        elif element.tag == "br":
            runs.append((" ", ""))
        elif element.tag == "oMath":
            runs.append((format_formula(element), ""))
        else:
            here = _find_position(element) if element.tag in ("r", "fld") else position
            waiting.extend((child, here) for child in reversed(element))
    return runs


def _find_position(run: Element) -> Position:
    """Find whether a run is above or below the line, by its baseline, in 1/1000 of a percent."""
    properties = run.find("rPr")
    baseline = "" if properties is None else properties.get("baseline", "")
    if not baseline.strip("-0%"):
        return ""
    return "sub" if baseline.startswith("-") else "super"
