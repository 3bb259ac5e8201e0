"""Turns that their generator leaves out of every metric."""

from collections.abc import Iterable, Iterator

from convrag.api.records import TurnRecord


def find_exclusion(record: TurnRecord) -> str:
    """Return why the generator leaves a turn out of every metric; empty if it does not."""
    return str(record.trace.get("generator", {}).get("excluded", ""))


class MeasuredTurns(Iterable[TurnRecord]):
    """The records of the turns that are measured, which can be iterated several times.

    Args:
        records: the records of all turns; they must allow several iterations.
    """

    def __init__(self, records: Iterable[TurnRecord]) -> None:
        self._records = records

    def __iter__(self) -> Iterator[TurnRecord]:
        return (record for record in self._records if not find_exclusion(record))
