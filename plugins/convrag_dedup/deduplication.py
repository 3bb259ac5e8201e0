"""Which documents of a turn are shown in full, and which as a hint: used by context=dedup and by
RAGBoost's API.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class DeduplicatedTurn(NamedTuple):
    """The documents of a turn, by id.

    `shown` maps ids to what the model sees, in order: the full text, or a hint. `hinted` are those
    of them that became hints, `novel` the others; `missing` have neither a hint nor a text.
    """

    shown: dict[str, str]
    novel: list[str]
    hinted: list[str]
    missing: list[str]


def normalise_id(document_id: object) -> str:
    """An id as it is compared: 1, "1" and " 1 " are one document."""
    return str(document_id).strip()


def first_by_id(documents: Iterable[tuple[object, T]]) -> dict[str, T]:
    """Normalised id -> the first document of that id, in order."""
    distinct: dict[str, T] = {}
    for document_id, document in documents:
        distinct.setdefault(normalise_id(document_id), document)
    return distinct


def format_label(document_id: str) -> str:
    """What a document is called in prompts, in RAGBoost's format."""
    return f"[Doc_{document_id}]"


def format_block(document_id: str, text: str) -> str:
    """A document in full, in RAGBoost's format."""
    return f"{format_label(document_id)}: {text}"


def format_hint(document_id: str) -> str:
    """A location hint, in RAGBoost's wording and with its label."""
    return point_at(format_label(document_id))


def point_at(label: str) -> str:
    """A location hint, in RAGBoost's wording, at the document that has this label in a message."""
    return f"Please refer to {label} in the previous conversation."


def format_context(shown: Iterable[tuple[str, str]], hinted: Iterable[str]) -> str:
    """Documents as one context, in RAGBoost's format: a blank line after each.

    Args:
        shown: id and text of each, in order.
        hinted: the ids of those whose text is a hint already.
    """
    hints = set(hinted)
    return "".join(
        f"{text if key in hints else format_block(key, text)}\n\n" for key, text in shown
    )


def deduplicate(
    ids: Iterable[str], find_hint: Callable[[str], str | None], get_text: Callable[[str], str]
) -> DeduplicatedTurn:
    """Divide the documents of a turn into novel, hinted and missing ones, in one pass.

    Args:
        ids: normalised and distinct, in order.
        find_hint: what to show instead of a document; None where it must be shown in full.
        get_text: the text of a document; it is missing if that is blank.
    """
    turn = DeduplicatedTurn({}, [], [], [])
    for key in ids:
        if (hint := find_hint(key)) is not None:
            turn.shown[key] = hint
            turn.hinted.append(key)
        elif (text := get_text(key)) and not text.isspace():
            turn.shown[key] = text
            turn.novel.append(key)
        else:
            turn.missing.append(key)
    return turn
