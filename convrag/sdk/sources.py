"""The numbered passages of an answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from convrag.api.records import TurnRecord
from convrag.api.types import Passage

__all__ = ["Source", "describe_passage", "find_source", "list_sources", "name_passage"]


@dataclass(frozen=True)
class Source:
    """A passage that an answer could cite.

    Args:
        number: by which it is cited, as [number].
        passage: the passage.
        cited: whether the answer cites it.
    """

    number: int
    passage: Passage
    cited: bool


def list_sources(records: Sequence[TurnRecord]) -> list[Source]:
    """List the passages of the last turn, and those of earlier turns that it cites, in the order of their numbers.

    Args:
        records: the turns of a conversation, up to the one that is asked for.
    """
    if not records:
        return []
    last = records[-1]
    passages = {item.passage.id: item.passage for record in records for item in record.evidence.items}
    numbers = {item.passage.id: item.number for item in last.evidence.items}
    numbers = dict(last.trace.get("generator", {}).get("numbers") or numbers)
    found = [
        Source(number, passages[passage_id], passage_id in last.answer.citations)
        for passage_id, number in numbers.items()
        if passage_id in passages
    ]
    return sorted(found, key=lambda source: source.number)


def find_source(records: Sequence[TurnRecord], number: int) -> tuple[int, Source] | None:
    """Find the passage with a number, in the newest turn that has one; None where no turn has.

    Returns:
        The place of the turn among the records, and the source.
    """
    for place in range(len(records), 0, -1):
        for source in list_sources(records[:place]):
            if source.number == number:
                return place - 1, source
    return None


def name_passage(passage: Passage) -> str:
    """Return the place of a passage in its document, else its title, else its first words."""
    if passage.place or passage.title:
        return passage.place or passage.title
    words = passage.text.split(maxsplit=10)
    return " ".join(words[:10]) + (" ..." if len(words) > 10 else "")


def describe_passage(passage: Passage) -> str:
    """Describe a passage in a line: its name, and its URL; its id where it has no URL and no place in a document."""
    return " - ".join(filter(None, [name_passage(passage), passage.url or ("" if passage.place else passage.id)]))
