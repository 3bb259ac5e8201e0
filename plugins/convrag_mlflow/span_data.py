"""A span as plain data, and the passages of a turn in the forms that spans show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class SpanData:
    """A span.

    Args:
        name: of the stage or of the task of a language model.
        type: as MLflow names it: "RETRIEVER", "CHAT_MODEL", ...
        start: in nanoseconds since 1970.
        end: likewise.
        inputs: plain data; None for none.
        outputs: plain data; None for none.
        attributes: name -> plain data.
        parent: the parent's place in the list of the turn's spans; None for the root.
        error: why it failed; empty if it did not.
        events: a name and attributes (texts) each.
    """

    name: str
    type: str
    start: int
    end: int
    inputs: Any = None
    outputs: Any = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    parent: int | None = None
    error: str = ""
    events: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)


class Passages:
    """The passages of a turn.

    Args:
        record: of the turn, as `TurnRecord.to_dict` gives it.
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        self._retrieved: list[dict[str, Any]] = record["contexts"]
        self._evidence: list[dict[str, Any]] = record["evidence"]
        self._citations: list[str] = record["citations"]
        self._by_id = {each["id"]: each for each in [*self._evidence, *self._retrieved]}

    def list_documents(self, ranking: Iterable[tuple[str, float | None]]) -> list[dict[str, Any]]:
        """What a retriever found, best first, in the form that MLflow's page shows as documents.

        Args:
            ranking: the passages' ids and scores, as the retriever gave them.
        """
        return [
            {
                "page_content": (passage := self._by_id.get(identifier, {})).get("text", ""),
                "id": identifier,
                "metadata": {
                    "title": passage.get("title", ""),
                    "score": score,
                    "rank": rank,
                    "chunk_id": identifier,
                    "doc_uri": passage.get("url") or _name(passage) or identifier,
                },
            }
            for rank, (identifier, score) in enumerate(ranking, 1)
        ]

    def list_ranking(self) -> list[dict[str, Any]]:
        """The passages as the reranker ordered them, without their texts."""
        return [
            {"rank": rank, "score": each["score"], "title": _name(each), "id": each["id"]}
            for rank, each in enumerate(self._retrieved, 1)
        ]

    def list_evidence(self, *, texts: bool) -> list[dict[str, Any]]:
        """The passages that the model saw, in the order in which it saw them.

        Args:
            texts: whether with what was shown of each.
        """
        return [
            {"number": each["number"], "title": _name(passage), "id": each["id"]}
            | ({"text": each.get("shown", passage.get("text", "")), "hint": each["hint"]} if texts else {})
            for each in self._evidence
            for passage in [self._by_id[each["id"]]]
        ]

    def list_cited(self) -> list[dict[str, Any]]:
        """The passages that the answer cites, in the order in which it first names them."""
        numbers = {each["id"]: each["number"] for each in self._evidence}
        return [
            {"number": numbers.get(identifier), "title": _name(self._by_id.get(identifier, {})), "id": identifier}
            for identifier in self._citations
        ]


def _name(passage: Mapping[str, Any]) -> str:
    """What people know a passage by, as `Passage.name` has it."""
    metadata = passage.get("metadata", {})
    place = metadata.get("place") if "document" in metadata else None
    return str(place or passage.get("title") or "")
