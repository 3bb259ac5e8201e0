"""PPTX: the texts of the slides, each with its title as a heading, and the speaker's notes."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from convrag import Document
from convrag_documents.readers.archive import Archive
from convrag_documents.readers.text_builder import TextBuilder
from convrag_documents.unreadable import Unreadable

_TITLES = {"title", "ctrTitle"}
_LEFT_OUT = {"sldNum", "dt", "ftr", "hdr", "sldImg"}
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
                lines = [line for shape in archive.read_xml(note).iter("sp") for line in _read_shape(shape)]
                builder.add("\n".join(["Notes:", *lines]) if lines else "")
    yield builder.build()


def _add_slide(builder: TextBuilder, slide: Element) -> None:
    shapes = [shape for shape in slide.iter() if shape.tag in ("sp", "tbl")]
    titles = [shape for shape in shapes if shape.tag == "sp" and _find_kind(shape) in _TITLES]
    for shape in titles:
        builder.add_heading(1, " ".join(_read_shape(shape)))
    for shape in shapes:
        if shape.tag == "tbl":
            rows = [[" ".join(_read_paragraphs(cell)) for cell in row.iter("tc")] for row in shape.iter("tr")]
            builder.add("\n".join(" | ".join(filter(None, cells)) for cells in rows if any(cells)))
        elif shape not in titles:
            builder.add("\n".join(_read_shape(shape)))


def _find_kind(shape: Element) -> str:
    place = next(shape.iter("ph"), None)
    return place.get("type", "body") if place is not None else ""


def _read_shape(shape: Element) -> list[str]:
    body = shape.find("txBody")
    return [] if body is None or _find_kind(shape) in _LEFT_OUT else _read_paragraphs(body)


def _read_paragraphs(body: Element) -> list[str]:
    """The lines of a text."""
    lines = []
    for paragraph in body.iter("p"):
        pieces = [" " if each.tag == "br" else each.text or "" for each in paragraph.iter() if each.tag in ("t", "br")]
        if line := " ".join("".join(pieces).split()):
            lines.append(line)
    return lines
