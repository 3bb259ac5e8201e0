"""XML of files that nobody vouches for, as a tree whose names have no namespaces."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers.expat import ExpatError, ParserCreate

from convrag_documents.unreadable import Unreadable

_DEEPEST = 400
_MOST_ELEMENTS = 3_000_000


def parse_xml(content: bytes, name: str) -> Element:
    """Parse XML. Entities that it declares itself, with which a line can become gigabytes, are refused.

    Names have no namespaces, since Office has two for each (transitional and strict); only attributes that are
    references begin with "r:", beside others of the same name.

    Args:
        content: the XML.
        name: what it is, for the message.

    Raises:
        Unreadable: it is damaged, too large or too deep, or declares entities.
    """
    builder = TreeBuilder()
    depth = elements = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, elements
        depth, elements = depth + 1, elements + 1
        if depth > _DEEPEST or elements > _MOST_ELEMENTS:
            raise Unreadable(f"{name} has more than {_MOST_ELEMENTS:,} elements, or more than {_DEEPEST} in each other")
        builder.start(_strip(tag), {_strip_attribute(key): value for key, value in attributes.items()})

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(_strip(tag))

    def refuse(*declaration: object) -> None:
        raise Unreadable(f"{name} declares entities, which no such file needs")

    parser = ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except (ExpatError, LookupError, ValueError) as error:
        raise Unreadable(f"it is damaged: {name}: {error}") from error
    return builder.close()


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


def _strip(name: str) -> str:
    return name.rpartition(" ")[2]


def _strip_attribute(name: str) -> str:
    namespace, _, local = name.rpartition(" ")
    return f"r:{local}" if namespace.endswith("/relationships") else local
