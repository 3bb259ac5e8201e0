"""The choice of the documents that a turn shows in full, and of those that it shows as a hint."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class DeduplicatedTurn(NamedTuple):
    """The documents of a turn, by id.

    Args:
        shown: id -> the text that the model sees, in order: the full text, or a hint.
        novel: documents that are shown in full.
        hinted: documents that are shown as a hint.
        missing: documents without a hint and without a text, which are not shown.
    """

    shown: dict[str, str]
    novel: list[str]
    hinted: list[str]
    missing: list[str]


def normalise_id(document_id: object) -> str:
    """Return an id as it is compared: 1, "1" and " 1 " are one document."""
    return str(document_id).strip()


def first_by_id(documents: Iterable[tuple[object, T]]) -> dict[str, T]:
    """Map each normalised id to the first document of that id, in order."""
    distinct: dict[str, T] = {}
    for document_id, document in documents:
        distinct.setdefault(normalise_id(document_id), document)
    return distinct


def format_label(document_id: str) -> str:
    """Return the label of a document in prompts, in RAGBoost's format."""
    return f"[Doc_{document_id}]"


def format_block(document_id: str, text: str) -> str:
    """Format a document in full, in RAGBoost's format."""
    return f"{format_label(document_id)}: {text}"


def format_hint(document_id: str) -> str:
    """Format a location hint, in RAGBoost's wording and with its label."""
    return point_at(format_label(document_id))


def point_at(label: str) -> str:
    """Format a location hint at the document that has this label in a message."""
    return f"Please refer to {label} in the previous conversation."


def format_context(shown: Iterable[tuple[str, str]], hinted: Iterable[str]) -> str:
    """Format documents as one context, in RAGBoost's format: a blank line after each.

    Args:
        shown: id and text of each, in order.
        hinted: the ids of documents whose text is a hint already.
    """
    hints = set(hinted)
    blocks = [text if key in hints else format_block(key, text) for key, text in shown]
    return "".join(f"{block}\n\n" for block in blocks)


def deduplicate(
    ids: Iterable[str], find_hint: Callable[[str], str | None], get_text: Callable[[str], str]
) -> DeduplicatedTurn:
    """Divide the documents of a turn into novel, hinted and missing ones, in one pass.

    Args:
        ids: normalised and distinct, in order.
        find_hint: returns the hint in place of a document; None where it must be shown in full.
        get_text: returns the text of a document, which is missing if the text is blank.
    """
    turn = DeduplicatedTurn({}, [], [], [])
    for key in ids:
        hint = find_hint(key)
        if hint is not None:
            turn.shown[key] = hint
            turn.hinted.append(key)
            continue
        text = get_text(key)
        if text.strip():
            turn.shown[key] = text
            turn.novel.append(key)
        else:
            turn.missing.append(key)
    return turn
