"""Files of queries with their passages, and of the nuggets that were detected in these."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AliasChoices, Field

from convrag import DataError, Nugget, Passage
from convrag.sdk.data.jsonl import read_lines, read_lines_in


@dataclass(frozen=True)
class _PassageRow:
    text: str
    id: Annotated[
        str | int, Field(validation_alias=AliasChoices("id", "_id", "passage_id", "document_id"))
    ]
    title: str | None = None


@dataclass(frozen=True)
class _QueryLine:
    id: Annotated[
        str | int, Field(validation_alias=AliasChoices("turn_id", "query_id", "qid", "_id", "id"))
    ]
    query: Annotated[
        str, Field(validation_alias=AliasChoices("rewritten_query", "query", "question", "text"))
    ]
    passages: Annotated[
        list[_PassageRow], Field(validation_alias=AliasChoices("passages", "contexts"))
    ]


@dataclass(frozen=True)
class _NuggetRow:
    text: str
    passage_id: str
    start: int
    end: int


@dataclass(frozen=True)
class _NuggetLine:
    query: str
    passages: list[str]
    nuggets: list[_NuggetRow]


class QueryWithPassages(NamedTuple):
    """A query, and the passages in which it is looked for.

    Args:
        turn_id: of the turn that asks.
        query: the question, understandable by itself.
        passages: the passages, best first.
    """

    turn_id: str
    query: str
    passages: Sequence[Passage]


class DetectedNuggets(NamedTuple):
    """The nuggets of a query in several passages.

    Args:
        turn_id: of the turn that asks.
        query: the question.
        passages: the ids of the passages that were read, also of those without a nugget.
        nuggets: the nuggets of all of them.
    """

    turn_id: str
    query: str
    passages: Sequence[str]
    nuggets: Sequence[Nugget]

    def format_row(self) -> dict[str, Any]:
        """Return a line of a file of nuggets, as plain data."""
        nuggets = [asdict(nugget) for nugget in self.nuggets]
        return {**self._asdict(), "passages": list(self.passages), "nuggets": nuggets}


def read_queries(path: Path) -> list[QueryWithPassages]:
    """Read queries with their passages from a file, or from a folder's *.jsonl files.

    Raises:
        DataError: a line is broken, which is named, or there is none.
    """
    found: dict[str, QueryWithPassages] = {}
    for line in read_lines_in(path, ".jsonl"):
        row = line.parse(_QueryLine, "a query with its passages")
        turn_id = str(row.id)
        if turn_id in found:
            raise line.error(
                f"{turn_id!r} is in an earlier line: each query needs an id of its own"
            )
        if not row.query.strip():
            raise line.error("the query is empty")
        passages = [Passage(str(each.id), each.text, each.title or "") for each in row.passages]
        found[turn_id] = QueryWithPassages(turn_id, row.query, passages)
    if not found:
        raise DataError("there is no query in it", path=path)
    return list(found.values())


def read_detected(path: Path) -> Mapping[tuple[str, str], list[Nugget]]:
    """Read (query, passage id) -> nuggets, from a file that task=detect_nuggets has written.

    If several lines have the same query and passage, the first one counts.

    Raises:
        DataError: a line is broken, which is named, or there is none.
    """
    found: dict[tuple[str, str], list[Nugget]] = {}
    for line in read_lines(path):
        row = line.parse(_NuggetLine, "a line of task=detect_nuggets")
        of_line: dict[str, list[Nugget]] = {passage_id: [] for passage_id in row.passages}
        for nugget in row.nuggets:
            if nugget.passage_id not in of_line:
                raise line.error(
                    f"a nugget is from passage {nugget.passage_id!r}, which `passages` lacks"
                )
            of_line[nugget.passage_id].append(Nugget(**asdict(nugget)))
        for passage_id, nuggets in of_line.items():
            found.setdefault((row.query, passage_id), nuggets)
    if not found:
        raise DataError("there are no nuggets in it", path=path)
    return found
