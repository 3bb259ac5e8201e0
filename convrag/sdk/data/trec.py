"""Files of TREC, read and written: columns between blanks, and ids with percent-encoded blanks.

Python's `split` and trec_eval end a column at any white space. So an id is written with `%20` for a
space, and its `%` as `%25` where it would be read as such a code. All else, such as `%2F` in an
address, stays as it is.
"""

import re
import struct
from collections.abc import Container, Iterable
from math import inf, isfinite
from reprlib import repr as brief
from urllib.parse import quote, unquote

from convrag.api.passages import Hit
from convrag.api.records import TurnRecord
from convrag.sdk.data.jsonl import Line

_CODE = (
    r"%(?:2[05]|0[9A-D]|1[C-F]|C2%(?:85|A0)|E1%9A%80|E2%80%(?:8[0-9A]|A[89F])|E2%81%9F|E3%80%80)"
)
_TO_ENCODE = re.compile(rf"\s|(?={_CODE})%")
_ENCODED = re.compile(_CODE)


def encode_id(name: str) -> str:
    """Write an id as one column.

    >>> encode_id("my file.txt 0"), encode_id("https://a.org/b%2Fc"), encode_id("a%20b")
    ('my%20file.txt%200', 'https://a.org/b%2Fc', 'a%2520b')
    """
    return _TO_ENCODE.sub(lambda match: quote(match[0]), name)


def decode_id(column: str, known: Container[str] = ()) -> str:
    """Return the id that `encode_id` wrote.

    Args:
        column: the written id.
        known: ids that are taken as they are, even if they look encoded.
    """
    if column in known:
        return column
    return _ENCODED.sub(lambda match: unquote(match[0]), column)


def split_columns(line: str) -> list[str]:
    """Split a line at its tabs; at its blanks, as TREC's tools write them, if it has no tabs."""
    if "\t" in line:
        return [column.strip() for column in line.split("\t")]
    return line.split()


def read_rank(line: Line, known: Container[str] = ()) -> tuple[str, str, str, float]:
    """Read a line of a run.

    Args:
        line: turn, Q0, passage, rank, score, tag.
        known: ids of passages that are taken as they are, such as those that are judged.

    Returns:
        The ids of the turn and of the passage, the rank as it is written, and the score.

    Raises:
        DataError: it has other columns, or the score is not a finite number.
    """
    columns = split_columns(line.text)
    if len(columns) != 6:
        raise line.error(
            f"a TREC run has six columns (turn Q0 passage rank score tag); here are {len(columns)}"
        )
    turn, _, passage, rank, score, _ = columns
    passage = decode_id(passage, known)
    try:
        number = float(score)
    except ValueError as error:
        raise line.error(f"the score {brief(score)} is no number") from error
    if not isfinite(number):
        raise line.error(
            f"the score of passage {passage!r} is {number}, which has no place in an order"
        )
    return decode_id(turn), passage, rank, number


def format_trec_lines(record: TurnRecord, tag: str = "convrag") -> list[str]:
    """Format a ranking as lines of a TREC run, which have six columns.

    White space in ids is percent-encoded.

    Args:
        record: the record of the turn.
        tag: the name of the run, which is the last column.
    """
    turn = encode_id(record.turn_id)
    scores = break_ties(record.hits)
    lines = []
    for rank, (hit, score) in enumerate(zip(record.hits, scores, strict=True), start=1):
        lines.append(f"{turn} Q0 {encode_id(hit.passage.id)} {rank} {score!r} {tag}")
    return lines


def break_ties(hits: Iterable[Hit]) -> list[float]:
    """Make the scores of hits strictly decreasing in single precision.

    trec_eval reads and sorts scores in that precision, and sorts hits with equal scores by their
    ids.
    """
    scores: list[float] = []
    ceiling = inf
    for hit in hits:
        score = min(round_to_single_precision(hit.score), ceiling)
        scores.append(score)
        ceiling = _find_next_below(score)
    return scores


def round_to_single_precision(value: float) -> float:
    """Round to the nearest 32-bit float; numbers beyond their range are returned unchanged."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return value


def _find_next_below(value: float) -> float:
    """Find the next smaller 32-bit float."""
    step = max(abs(value) * 2.0**-23, 2.0**-149)
    return round_to_single_precision(value - step)
