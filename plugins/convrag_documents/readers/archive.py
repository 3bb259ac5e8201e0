"""The members of a zip archive, which DOCX, PPTX, XLSX and EPUB files are.

They are unpacked within bounds, and the XML in them is parsed.
"""

import posixpath
import zlib
from collections.abc import Iterator
from io import BytesIO
from urllib.parse import unquote
from xml.etree.ElementTree import Element, ParseError, fromstring
from zipfile import BadZipFile, ZipFile

from convrag.sdk.text.unreadable import Unreadable

_MOST = 300_000_000
"""Bytes that are unpacked from one archive."""

_MOST_OF_SMALL = 10_000_000
_LARGEST_RATIO = 30
"""Bytes that are unpacked from an archive without a byte, and for each byte that it has.

The XML of long texts packs 10 to 20 times, while a bomb packs 1,000 times.
"""

_MOST_MARKUP_OF_SMALL = 2_000_000
_MARKUP_RATIO = 14
"""Bytes of markup in an archive without a byte, and for each byte that it has.

Markup takes several times its size: as bytes, as elements, and as text.
"""

_MOST_TAGS_OF_SMALL = 1_000_000
_TAGS_OF_BYTE = 0.3
"""Tags of the markup in an archive without a byte, and for each byte that it has.

An element takes 120 bytes of memory, however short its tag is.
"""

_DEEPEST = 500
"""Elements of XML within each other. Word's own files have less than a hundred."""

_OLE = b"\xd0\xcf\x11\xe0"


class Archive:
    """Reads members of an archive within bounds, so that none fills the memory.

    They may have 300 MB, or less where the archive itself is small.

    Args:
        content: the bytes of the archive.

    Raises:
        Unreadable: it is not an archive.
    """

    def __init__(self, content: bytes) -> None:
        if content.startswith(_OLE):
            raise Unreadable("it is protected by a password, or of Office 97 to 2003")
        try:
            self._zip = ZipFile(BytesIO(content))
        except (BadZipFile, NotImplementedError, ValueError) as error:
            raise Unreadable(f"it is damaged: {error}") from error
        self._names = set(self._zip.namelist())
        self._most = min(_MOST, _MOST_OF_SMALL + _LARGEST_RATIO * len(content))
        self._left = self._most
        self._most_markup = _MOST_MARKUP_OF_SMALL + _MARKUP_RATIO * len(content)
        self._markup_left = self._most_markup
        self._tags_left = _MOST_TAGS_OF_SMALL + _TAGS_OF_BYTE * len(content)

    def __contains__(self, name: str) -> bool:
        """Whether there is a member of this name."""
        return name in self._names

    def read(self, name: str) -> bytes:
        """Unpack a member. Raises Unreadable where it is missing, damaged, or too large."""
        try:
            with self._zip.open(name) as file:
                content = file.read(self._left + 1)
        except KeyError as error:
            raise Unreadable(f"it is damaged: {name} is missing in it") from error
        except (BadZipFile, EOFError, RuntimeError, ValueError, zlib.error) as error:
            raise Unreadable(f"it is damaged: {name}: {error}") from error
        self._left -= len(content)
        if self._left < 0:
            raise Unreadable(f"it grows beyond {self._most / 1e6:.3g} MB when it is unpacked")
        return content

    def read_xml(self, name: str) -> Element:
        """Unpack and parse a member. Raises Unreadable."""
        return _parse_xml(self.read_markup(name), name)

    def read_markup(self, name: str) -> bytes:
        """Unpack XML or HTML, which has a smaller bound. Raises Unreadable."""
        content = self.read(name)
        self._markup_left -= len(content)
        if self._markup_left < 0:
            raise Unreadable(f"its text grows beyond {self._most_markup / 1e6:.3g} MB of markup")
        self._tags_left -= content.count(b"<")
        if self._tags_left < 0:
            raise Unreadable("it has more tags than a text of its size can have")
        return content

    def read_all(self) -> Iterator[tuple[str, bytes]]:
        """Unpack all members one by one: name, contents. Raises Unreadable."""
        for name in self._zip.namelist():
            yield name, self.read(name)

    def find_main_part(self, default: str) -> str:
        """Find the part of an Office file that has its text or its list of slides."""
        kinds = dict(self.read_relations("").values())
        return kinds.get("officeDocument", default)

    def read_relations(self, name: str) -> dict[str, tuple[str, str]]:
        """Read the members that a part of an Office file refers to.

        Args:
            name: of the part; empty for the file itself.

        Returns:
            id -> (the last word of its type, the name of the member).
        """
        folder, file = posixpath.split(name)
        member = posixpath.join(folder, "_rels", f"{file}.rels")
        if member not in self:
            return {}
        relations = {}
        for relation in self.read_xml(member):
            if relation.get("TargetMode") == "External":
                continue
            kind = relation.get("Type", "").rpartition("/")[2]
            target = resolve_name(folder, relation.get("Target", ""))
            relations[relation.get("Id", "")] = (kind, target)
        return relations


def resolve_name(folder: str, target: str) -> str:
    """Return the name of a member that another one, in a folder of the archive, refers to."""
    path = unquote(target.partition("#")[0])
    return posixpath.normpath(posixpath.join("/", folder, path)).lstrip("/")


def _parse_xml(content: bytes, name: str) -> Element:
    """Parse XML. Expat itself refuses entities with which a line becomes gigabytes.

    Names lose their namespaces, since Office has two for each (transitional and strict); only
    attributes that are references begin with "r:", since others have the same names. Of contents
    that Office writes in several ways, for old programs, the first stays.

    Raises:
        Unreadable: it is damaged.
    """
    try:
        root = fromstring(content)
    except (ParseError, LookupError, ValueError) as error:
        raise Unreadable(f"it is damaged: {name}: {error}") from error
    _check_depth(root, name)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        attributes = element.items()
        if attributes:  # an element without attributes needs no dict for them
            element.attrib = {_strip_attribute(key): value for key, value in attributes}
    for alternatives in list(root.iter("AlternateContent")):
        del alternatives[1:]
    return root


def _check_depth(root: Element, name: str) -> None:
    """Refuse elements that are nested too deeply: what reads them goes through them level by level.

    Raises:
        Unreadable: they are.
    """
    level = [root]
    for _ in range(_DEEPEST):
        level = [child for element in level for child in element]
        if not level:
            return
    raise Unreadable(f"the elements of {name} are nested more than {_DEEPEST} deep")


def _strip_attribute(name: str) -> str:
    namespace, _, local = name.rpartition("}")
    return f"r:{local}" if namespace.endswith("/relationships") else local
