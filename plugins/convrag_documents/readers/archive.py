"""The members of a zip archive, which DOCX, PPTX, XLSX and EPUB files are, without letting them
grow beyond bounds.
"""

import posixpath
import zlib
from collections.abc import Iterator
from io import BytesIO
from urllib.parse import unquote
from xml.etree.ElementTree import Element, ParseError, fromstring
from zipfile import BadZipFile, ZipFile

from convrag_documents.unreadable import Unreadable

_MOST = 300_000_000
"""Bytes that are unpacked of one archive."""

_OLE = b"\xd0\xcf\x11\xe0"


class Archive:
    """Reads members of an archive. Unpacks at most 300 MB of it, so that none fills the memory.

    Args:
        content: the bytes of the archive.

    Raises:
        Unreadable: it is none.
    """

    def __init__(self, content: bytes) -> None:
        if content.startswith(_OLE):
            raise Unreadable("it is protected by a password, or of Office 97 to 2003")
        try:
            self._zip = ZipFile(BytesIO(content))
        except (BadZipFile, NotImplementedError, ValueError) as error:
            raise Unreadable(f"it is damaged: {error}") from error
        self._names = set(self._zip.namelist())
        self._left = _MOST

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
            raise Unreadable(f"it grows beyond {_MOST / 1e6:g} MB when it is unpacked")
        return content

    def read_xml(self, name: str) -> Element:
        """Unpack and parse a member. Raises Unreadable."""
        return _parse_xml(self.read(name), name)

    def read_all(self) -> Iterator[tuple[str, bytes]]:
        """Unpack all members one by one: name, contents. Raises Unreadable."""
        for name in self._zip.namelist():
            yield name, self.read(name)

    def read_relations(self, name: str) -> dict[str, tuple[str, str]]:
        """Read what a part of an Office file refers to: id -> (the last word of its type, name of
        the member).

        Args:
            name: of the part; empty for the file itself.
        """
        folder, file = posixpath.split(name)
        relations = posixpath.join(folder, "_rels", f"{file}.rels")
        if relations not in self:
            return {}
        found = {}
        for each in self.read_xml(relations):
            if each.get("TargetMode") != "External":
                kind = each.get("Type", "").rpartition("/")[2]
                found[each.get("Id", "")] = kind, resolve_name(folder, each.get("Target", ""))
        return found


def resolve_name(folder: str, target: str) -> str:
    """The name of a member that another one, in a folder of the archive, refers to."""
    path = unquote(target.partition("#")[0])
    return posixpath.normpath(posixpath.join("/", folder, path)).lstrip("/")


def _parse_xml(content: bytes, name: str) -> Element:
    """Parse XML. Expat itself refuses entities with which a line becomes gigabytes.

    Names have no namespaces, since Office has two for each (transitional and strict); only
    attributes that are references begin with "r:", beside others of the same name.

    Raises Unreadable where it is damaged.
    """
    try:
        root = fromstring(content)
    except (ParseError, LookupError, ValueError) as error:
        raise Unreadable(f"it is damaged: {name}: {error}") from error
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {_strip_attribute(key): value for key, value in element.attrib.items()}
    return root


def _strip_attribute(name: str) -> str:
    namespace, _, local = name.rpartition("}")
    return f"r:{local}" if namespace.endswith("/relationships") else local
