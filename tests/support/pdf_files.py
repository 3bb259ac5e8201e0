"""Makes PDFs whose text is drawn at places, with bookmarks and form fields, for tests."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from pypdf import PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NullObject,
    NumberObject,
    TextStringObject,
)

_SIGNS = {"\ufb01": 0o200, "\ufb02": 0o201, "\u00ad": 0o255, "\u2010": 0o202}
"""Signs beyond ASCII that the font has, with their codes."""


@dataclass(frozen=True)
class Text:
    """A line that is drawn at a place, in 12 points unless said."""

    x: float
    y: float
    text: str
    size: float = 12
    turned: bool = False


@dataclass(frozen=True)
class Field:
    """A form field, or a widget of one: keys of its dictionary, as plain values."""

    keys: dict[str, Any]
    rectangle: Sequence[float] = (100, 600, 300, 620)
    parent: str = ""


@dataclass(frozen=True)
class Mark:
    """A bookmark: its title, the page from 0, and where it leads to ("/XYZ", left, top, zoom)."""

    title: str
    page: int
    fit: tuple[Any, ...] = ("/Fit",)
    level: int = 1
    name: str = ""


@dataclass(frozen=True)
class Page:
    """A page of 600 x 800 points."""

    texts: Sequence[Text] = ()
    fields: Sequence[Field] = ()
    rotate: int = 0
    picture: bool = False


@dataclass
class PdfFile:
    """A PDF; parents are fields that several widgets belong to, by name."""

    pages: Sequence[Page]
    marks: Sequence[Mark] = ()
    parents: dict[str, dict[str, Any]] = field(default_factory=dict)
    form: dict[str, Any] = field(default_factory=dict)
    root: dict[str, Any] = field(default_factory=dict)

    def write(self) -> bytes:
        writer = PdfWriter()
        parents = {name: writer._add_object(_plain(keys)) for name, keys in self.parents.items()}
        widgets = ArrayObject()
        for page in self.pages:
            added = writer.add_blank_page(600, 800)
            resources = DictionaryObject(
                {NameObject("/Font"): DictionaryObject({NameObject("/F1"): _make_font()})}
            )
            if page.picture:
                resources[NameObject("/XObject")] = DictionaryObject()
            added[NameObject("/Resources")] = writer._add_object(resources)
            stream = DecodedStreamObject()
            stream.set_data(b"\n".join(_draw(text) for text in page.texts))
            added[NameObject("/Contents")] = writer._add_object(stream)
            if page.rotate:
                added[NameObject("/Rotate")] = NumberObject(page.rotate)
            own = ArrayObject()
            for each in page.fields:
                widget = _plain({"/Type": "/Annot", "/Subtype": "/Widget", **each.keys})
                widget[NameObject("/Rect")] = _plain(list(each.rectangle))
                if each.parent:
                    widget[NameObject("/Parent")] = parents[each.parent]
                own.append(writer._add_object(widget))
            if own:
                added[NameObject("/Annots")] = own
            widgets.extend(own)
        if widgets:
            form = _plain(self.form)
            form[NameObject("/Fields")] = widgets
            writer.root_object[NameObject("/AcroForm")] = form
        for key, value in self.root.items():
            writer.root_object[NameObject(key)] = _plain(value)
        self._add_marks(writer)
        file = BytesIO()
        writer.write(file)
        return file.getvalue()

    def _add_marks(self, writer: PdfWriter) -> None:
        above: list[Any] = []
        for mark in self.marks:
            page = writer.pages[mark.page].indirect_reference
            target = ArrayObject([page, *(_plain(each) for each in mark.fit)])
            if mark.name:
                writer.add_named_destination_array(TextStringObject(mark.name), target)
            item = _plain({"/Title": TextStringObject(mark.title)})
            destination = TextStringObject(mark.name) if mark.name else target
            item[NameObject("/Dest")] = destination
            parent = above[mark.level - 2] if mark.level > 1 else None
            added = writer.add_outline_item_dict(item, parent)
            above[mark.level - 1 :] = [added]


def _draw(text: Text) -> bytes:
    codes = b"".join(
        b"\\%03o" % _SIGNS[sign] if sign in _SIGNS else sign.encode("ascii") for sign in text.text
    )
    matrix = "0 1 -1 0" if text.turned else "1 0 0 1"
    return f"BT /F1 {text.size} Tf {matrix} {text.x} {text.y} Tm (".encode() + codes + b") Tj ET"


def _make_font() -> DictionaryObject:
    names = {0o200: "/fi", 0o201: "/fl", 0o202: "/hyphentwo", 0o255: "/softhyphen"}
    differences: list[Any] = []
    for code, name in names.items():
        differences += [NumberObject(code), NameObject(name)]
    font = _plain({"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"})
    font[NameObject("/Encoding")] = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Encoding"),
            NameObject("/BaseEncoding"): NameObject("/WinAnsiEncoding"),
            NameObject("/Differences"): ArrayObject(differences),
        }
    )
    return font


def _plain(value: Any) -> Any:
    """Turn plain values into those of a PDF: texts that begin with / are names."""
    if value is None:
        return NullObject()
    if isinstance(value, bool):
        from pypdf.generic import BooleanObject

        return BooleanObject(value)
    if isinstance(value, dict):
        return DictionaryObject({NameObject(key): _plain(each) for key, each in value.items()})
    if isinstance(value, list | tuple):
        return ArrayObject([_plain(each) for each in value])
    if isinstance(value, int):
        return NumberObject(value)
    if isinstance(value, float):
        return FloatObject(value)
    if isinstance(value, TextStringObject):
        return value
    if isinstance(value, str):
        return NameObject(value) if value.startswith("/") else TextStringObject(value)
    return value
