"""The core, free of any state: which documents of a turn are shown in full, and which as a hint."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class Overlap(NamedTuple):
    """The documents of a turn.

    `shown` maps ids to what stands for them, in order; `hinted` are those of them that became hints; `missing` have no
    text; `repeated` counts how often an id came again.
    """

    shown: dict[str, str]
    hinted: dict[str, None]
    missing: dict[str, None]
    repeated: int


def normalised(document_id: object) -> str:
    """An id as it is compared: 1, "1" and " 1 " are one document."""
    return str(document_id).strip()


def block(document_id: str, text: str) -> str:
    """A document in full, in the seed's format."""
    return f"[Doc_{document_id}]: {text}"


def reference(document_id: str) -> str:
    """A location hint, in the seed's format."""
    return f"Please refer to [Doc_{document_id}] in the previous conversation."


def overlap(ids: Iterable[str], text: Callable[[str], str], hint: Callable[[str], str]) -> Overlap:
    """Divide the documents of a turn, in one pass.

    Args:
        ids: normalised, in order; one that comes again counts once.
        text: the text of a document; a blank one is missing.
        hint: what to show instead of a document; empty where it must be shown in full.
    """
    shown: dict[str, str] = {}
    hinted: dict[str, None] = {}
    missing: dict[str, None] = {}
    repeated = 0
    for key in ids:
        if key in shown or key in missing:
            repeated += 1
        elif pointer := hint(key):
            shown[key] = pointer
            hinted[key] = None
        elif (content := text(key)) and not content.isspace():
            shown[key] = block(key, content)
        else:
            missing[key] = None
    return Overlap(shown, hinted, missing, repeated)


def joined(texts: Iterable[str]) -> str:
    """Blocks and hints as one context, a blank line behind each, as in the seed."""
    return "".join(f"{text}\n\n" for text in texts)


def counts(found: Overlap) -> dict[str, Any]:
    """The statistics of a turn under the seed's names. The rate is a fraction from 0 to 1."""
    deduplicated, shown = len(found.hinted), len(found.shown)
    retrieved = shown + len(found.missing)
    return {
        "num_retrieved": retrieved,
        "num_novel": shown - deduplicated,
        "num_deduplicated": deduplicated,
        "deduplication_rate": rate(deduplicated, retrieved),
    }


def rate(deduplicated: int, retrieved: int) -> float:
    """The share of retrieved documents that became hints; 0 where nothing was retrieved."""
    return deduplicated / retrieved if retrieved else 0.0
