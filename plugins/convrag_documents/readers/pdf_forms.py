"""The form fields of a PDF: their values, as lines on the pages of their widgets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from convrag_documents.readers.pdf_lines import Line, PageView, resolve

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

_ANCESTORS = 32
"""A field has at most so many fields above it; a damaged file may have a circle of them."""

# Flags of annotations and fields
_HIDDEN = 1 << 1
_PASSWORD = 1 << 13
_RADIO_BUTTON = 1 << 15
_PUSH_BUTTON = 1 << 16

_OFF = "Off"

_MOST_PAIRS = 1_000_000
"""Pairs of a line and a field that are compared at most."""


def is_dynamic_form(reader: PdfReader) -> bool:
    """Whether the file is a form of XFA alone, which only Adobe's programs show."""
    root = resolve(reader.trailer.get("/Root"))
    if not isinstance(root, Mapping):  # a damaged file
        return False
    form = resolve(root.get("/AcroForm"))
    has_xfa = isinstance(form, Mapping) and "/XFA" in form
    return has_xfa and bool(resolve(root.get("/NeedsRendering")))


def read_fields(page: PageObject) -> list[Line]:
    """Read the filled fields of a page, from its top.

    A check box that is not checked is "no" where another field of the page is filled. Passwords,
    signatures and hidden fields have no line.
    """
    view = PageView(page)
    filled: dict[tuple[str, str], Line] = {}
    unchecked: dict[str, Line] = {}
    for widget in _list_widgets(page):
        fields = list(_list_ancestors(widget))
        name = _find_name(fields)
        value = _read_value(widget, fields)
        if value:
            text = f"{name}: {value}" if name else value
            filled.setdefault((name, value), _make_line(text, widget, view))
        elif name and _is_check_box(fields):
            unchecked.setdefault(name, _make_line(f"{name}: no", widget, view))
    lines = list(filled.values())
    names = {name for name, _ in filled}
    if lines:
        lines += [line for name, line in unchecked.items() if name not in names]
    placed = [line for line in lines if line.place is not None]
    others = [line for line in lines if line.place is None]
    return sorted(placed, key=_sort_key) + others


def _list_widgets(page: PageObject) -> Iterator[Mapping[str, Any]]:
    """Yield the widgets of a page that are shown."""
    annotations = resolve(page.get("/Annots"))
    for reference in annotations if isinstance(annotations, list) else ():
        widget = resolve(reference)
        if not isinstance(widget, Mapping) or widget.get("/Subtype") != "/Widget":
            continue
        if not _read_flags(widget.get("/F")) & _HIDDEN:
            yield widget


def insert_fields(lines: Sequence[Line], fields: Sequence[Line]) -> list[Line]:
    """Insert each field after the nearest line of text that does not lie below it.

    On a page with very many lines and fields, the fields follow the text.
    """
    if len(lines) * len(fields) > _MOST_PAIRS:
        return [*lines, *fields]
    after: dict[int, list[Line]] = {}
    for field in fields:
        after.setdefault(_find_line_above(lines, field), []).append(field)
    merged = list(after.get(-1, ()))
    for number, line in enumerate(lines):
        merged.append(line)
        merged += after.get(number, ())
    return merged


def _find_line_above(lines: Sequence[Line], field: Line) -> int:
    """Find the nearest line that is beside a field or above it; -1 where none is.

    A field without a place belongs to the end.
    """
    if field.place is None:
        return len(lines) - 1
    best = -1
    nearest = float("inf")
    for number, line in enumerate(lines):
        if line.place is None:
            continue
        above = line.place.y - field.place.y
        beside = abs(line.place.x - field.place.x)
        distance = abs(above) + 0.2 * beside
        if above > -0.5 * line.size and distance <= nearest:
            best = number
            nearest = distance
    return best


def _sort_key(line: Line) -> tuple[float, float]:
    assert line.place is not None
    return (-round(line.place.y), line.place.x)


def _make_line(text: str, widget: Mapping[str, Any], view: PageView) -> Line:
    try:
        left, bottom, right, top = (float(each) for each in resolve(widget.get("/Rect")))
    except (TypeError, ValueError):  # a damaged file
        return Line(text, is_field=True)
    corners = [view.place(left, bottom), view.place(right, top)]
    place = type(corners[0])(min(each.x for each in corners), min(each.y for each in corners))
    return Line(text, place, is_field=True)


def _read_value(widget: Mapping[str, Any], fields: Sequence[Mapping[str, Any]]) -> str:
    """Return the value of a widget's field; empty without one."""
    kind = _find(fields, "/FT")
    flags = _read_flags(_find(fields, "/Ff"))
    if kind == "/Tx" and not flags & _PASSWORD:
        return _read_text(_find(fields, "/V"))
    if kind == "/Ch":
        return _read_choices(_find(fields, "/V"), _find(fields, "/Opt"))
    if kind == "/Btn" and not flags & _PUSH_BUTTON:
        return _read_button(widget, fields)
    return ""


def _is_check_box(fields: Sequence[Mapping[str, Any]]) -> bool:
    other_buttons = _PUSH_BUTTON | _RADIO_BUTTON
    flags = _read_flags(_find(fields, "/Ff"))
    return _find(fields, "/FT") == "/Btn" and not flags & other_buttons


def _read_flags(value: Any) -> int:
    flags = resolve(value)
    return int(flags) if isinstance(flags, int) else 0


def _find_name(fields: Sequence[Mapping[str, Any]]) -> str:
    """Find the name that a form shows to people, or else the nearest field's own name."""
    for key in ("/TU", "/T"):
        for field in fields:
            name = _read_text(field.get(key))
            if name:
                return name
    return ""


def _list_ancestors(widget: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a widget and the fields that it belongs to, the nearest first."""
    field: Any = widget
    for _ in range(_ANCESTORS):
        if not isinstance(field, Mapping):
            return
        yield field
        field = resolve(field.get("/Parent"))


def _find(fields: Sequence[Mapping[str, Any]], key: str) -> Any:
    """Return the value of a key, which a field inherits from those above it."""
    for field in fields:
        if key in field:
            return resolve(field[key])
    return None


def _read_button(widget: Mapping[str, Any], fields: Sequence[Mapping[str, Any]]) -> str:
    """Return the state of a check box or a radio button that is on; empty where it is off."""
    state = resolve(widget.get("/AS"))
    value = _find(fields, "/V")
    own_states = _list_states(widget)
    if state is None and (not own_states or value in own_states):
        state = value
    text = str(state or "").removeprefix("/")
    if text in ("", _OFF):
        return ""
    options = resolve(_find(fields, "/Opt"))
    if isinstance(options, Sequence) and text.isdecimal() and int(text) < len(options):
        return _read_text(options[int(text)])  # texts of buttons that have numbers as states
    return "yes" if text in ("On", "1") else text


def _list_states(widget: Mapping[str, Any]) -> list[str]:
    """List the states in which a button can be shown."""
    appearances = resolve(widget.get("/AP"))
    normal = resolve(appearances.get("/N")) if isinstance(appearances, Mapping) else None
    return [str(state) for state in normal] if isinstance(normal, Mapping) else []


def _read_choices(value: Any, options: Any) -> str:
    """Return the chosen entries of a list, as they are shown."""
    shown = {}
    for option in options if isinstance(options, list) else ():
        pair = resolve(option)
        if isinstance(pair, list) and len(pair) == 2:
            shown[_read_text(pair[0])] = _read_text(pair[1])
    chosen = value if isinstance(value, list) else [value]
    texts = [_read_text(each) for each in chosen]
    return ", ".join(shown.get(text, text) for text in texts if text)


def _read_text(value: Any) -> str:
    """Return a text on one line; empty for anything else, as damaged files have."""
    value = resolve(value)
    if hasattr(value, "get_data"):  # a long text is a stream
        value = value.get_data()
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return " ".join(value.split()) if isinstance(value, str) else ""
