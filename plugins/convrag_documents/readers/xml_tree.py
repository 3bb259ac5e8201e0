"""The XML of Office files and books, as a tree whose names have no namespaces."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree.ElementTree import Element, ParseError, fromstring

from convrag_documents.unreadable import Unreadable

_DEEPEST = 400  # elements within each other; reading nested tables takes the square of their number


def parse_xml(content: bytes, name: str) -> Element:
    """Parse XML. Expat itself refuses entities with which a line becomes gigabytes.

    Names have no namespaces, since Office has two for each (transitional and strict); only attributes that are
    references begin with "r:", beside others of the same name.

    Args:
        content: the XML.
        name: what it is, for the message.

    Raises:
        Unreadable: it is damaged, or its elements are nested more than 400 deep.
    """
    try:
        root = fromstring(content)
    except (ParseError, LookupError, ValueError) as error:
        raise Unreadable(f"it is damaged: {name}: {error}") from error
    depth, level = 1, [root]
    while level := [child for element in level for child in element]:
        depth += 1
        if depth > _DEEPEST:
            raise Unreadable(f"the elements of {name} are nested more than {_DEEPEST} deep")
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {_strip_attribute(key): value for key, value in element.attrib.items()}
    return root


def walk_tree(root: Element, skip: Callable[[Element], bool]) -> list[Element]:
    """List an element and all within it, in the order of the text, without those to skip and what is within them."""
    found = []
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if not skip(element):
            found.append(element)
            waiting.extend(reversed(element))
    return found


def _strip_attribute(name: str) -> str:
    namespace, _, local = name.rpartition("}")
    return f"r:{local}" if namespace.endswith("/relationships") else local
