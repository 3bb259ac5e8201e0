"""report.html as a file: packed blocks of turns, within a limit of size, with the modules and the
styles.
"""

from __future__ import annotations

import re
from array import array
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from convrag import TurnRecord
from convrag.sdk.data.strict_json import format_json
from convrag.sdk.files import open_atomically
from convrag.sdk.text.support import find_unsupported
from convrag_web.report.turn_rows import (
    CHUNK,
    FindPassages,
    PassagePool,
    TurnIndex,
    TurnPacker,
    format_row,
    pack_bytes,
    pack_rows,
)

_CAUTION = 0.97  # the packed size of what is kept is an estimate


class TurnCost(NamedTuple):
    """What a turn takes: its need of a second look (lower is more urgent), bytes of its record, numbers of passages."""

    need: float
    size: float
    passages: array[int]


def choose_turns(
    turns: Sequence[TurnCost], passages: Sequence[float], room: float
) -> frozenset[int]:
    """Choose the turns whose records are kept, by their place in the report: those that need it
    most.

    Args:
        turns: all turns, in the order of the report.
        passages: the packed size of each passage, in characters.
        room: characters for the records and the passages in them.
    """
    left = room * _CAUTION
    kept: set[int] = set()
    texts: set[int] = set()
    for place in sorted(range(len(turns)), key=lambda place: (turns[place].need, place)):
        new = set(turns[place].passages) - texts
        left -= turns[place].size + sum(passages[number] for number in new)
        if left < 0:
            break
        kept.add(place)
        texts |= new
    return frozenset(kept)


Need = Callable[[str], float]
"""Turn id -> how much it needs a second look; lower is more urgent."""


@dataclass(frozen=True)
class RunTurns:
    """The turns of a run.

    Args:
        records: can be iterated several times; they come conversation by conversation.
        scores: turn id -> measure -> value.
        find_passages: looks up passages by a domain and ids.
    """

    records: Iterable[TurnRecord]
    scores: Mapping[str, Mapping[str, float]]
    find_passages: FindPassages = lambda domain, ids: ()


@dataclass
class TurnBlocks:
    """The packed blocks by their ids in the page.

    `index-0` lists the turns of the first run, `turns-0-3` holds its records from the 750th on,
    `passages-2` the texts of passages from the 500th on. Of all `turns`, some may be
    `without_record`.
    """

    blocks: dict[str, str] = field(default_factory=dict)
    turns: int = 0
    without_record: int = 0

    @property
    def size(self) -> int:
        """The characters of all blocks."""
        return sum(map(len, self.blocks.values()))


def pack_turns(runs: Iterable[RunTurns], need: Need, room: int) -> TurnBlocks:
    """Pack the turns of runs into blocks of at most `room` characters.

    Where they are more, the records and passages of the turns that need them least are left out.
    Every turn stays in the list.
    """
    runs = list(runs)
    whole = _Packing(runs, need, room)
    packed, allowed = whole.result, room
    while (
        packed.size > room and allowed > 0
    ):  # a second time only where the estimate of the packed sizes was too low
        kept = whole.choose_turns(allowed)
        whole.release()
        packed = _Packing(runs, need, room, kept).result
        allowed -= max(packed.size - room, room // 50)
    return packed


class _Packing:
    """One pass over the records of all runs.

    Args:
        runs: have the records.
        need: how urgent each turn is.
        room: blocks that are longer together will not be used; packing stops there.
        kept: the turns whose records are packed, by their place in the report; None for all.
    """

    def __init__(
        self, runs: list[RunTurns], need: Need, room: int, kept: frozenset[int] | None = None
    ) -> None:
        self._need = need
        self._room = room
        self._kept = kept
        self._pool = PassagePool(room)
        self._costs: list[TurnCost] = []
        self._packed = self._unpacked = 0
        self.result = TurnBlocks()
        self._index_size = 0
        for number, run in enumerate(runs):
            self._add_run(number, run)
        chunks = self._pool.list_chunks()
        self.result.blocks |= {f"passages-{number}": chunk for number, chunk in enumerate(chunks)}

    def choose_turns(self, room: int) -> frozenset[int]:
        """Choose the turns whose records are kept within so many characters."""
        pool = self._pool
        share, passage_share = (
            self._packed / max(self._unpacked, 1),
            pool.packed / max(pool.unpacked, 1),
        )
        costs = [cost._replace(size=cost.size * share) for cost in self._costs]
        return choose_turns(
            costs, [size * passage_share for size in pool.sizes], room - self._index_size
        )

    def release(self) -> None:
        """Forget the blocks, so that memory does not hold the blocks of two passes."""
        self.result.blocks.clear()
        self._pool.release()

    def _add_run(self, number: int, run: RunTurns) -> None:
        index, packer = TurnIndex(), TurnPacker(self._pool, run.find_passages)
        for place, rows in enumerate(_split(self._pack_records(run, index, packer))):
            self._add_block(f"turns-{number}-{place}", rows)
        listed = pack_bytes(format_row(index.to_data()))
        self.result.blocks[f"index-{number}"] = listed
        self._index_size += len(listed)

    def _pack_records(self, run: RunTurns, index: TurnIndex, packer: TurnPacker) -> Iterator[bytes]:
        for record in run.records:
            index.add(record, run.scores.get(record.turn_id, {}))
            place = self.result.turns
            self.result.turns += 1
            if self._kept is not None and place not in self._kept:
                self.result.without_record += 1
                yield b"null"
                continue
            judged = "trust_unsupported" in run.scores.get(record.turn_id, {})
            turn = packer.pack(record, find_unsupported(record) if judged else ())
            self._costs.append(TurnCost(self._need(record.turn_id), len(turn.row), turn.passages))
            yield turn.row

    def _add_block(self, name: str, rows: list[bytes]) -> None:
        if self._packed <= self._room:
            self.result.blocks[name] = pack_rows(rows)
            self._packed += len(self.result.blocks[name])
            self._unpacked += sum(map(len, rows))


def _split(rows: Iterator[bytes]) -> Iterator[list[bytes]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk


REPORT = "report.html"

LIMIT = 30_000_000
"""Characters of a report that still opens at once and goes into an e-mail. What is above is left
out, and said so.
"""


def write_page(path: Path, title: str, head: Mapping[str, Any], blocks: Mapping[str, str]) -> None:
    """Write a report.

    Args:
        path: of the file.
        title: of the page.
        head: what the page shows first, as plain data.
        blocks: packed data by id; see `convrag_web.report.page`.

    Raises:
        OSError: the file cannot be written.
    """
    with open_atomically(path) as file:
        for part in _list_parts(title, head, blocks):
            file.write(part)


def _list_parts(title: str, head: Mapping[str, Any], blocks: Mapping[str, str]) -> Iterator[str]:
    style = read_view_file("turn.css") + read_view_file("report.css")
    script = bundle_modules("report.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        "<noscript>This report needs JavaScript, which is in this file; it loads nothing.</noscript>\n"
    )
    yield f'<script type="text/plain" id="head">{_escape_json(format_json(head))}</script>\n'
    for name, text in blocks.items():
        yield f'<script type="text/plain" id="{escape(name)}">{text}</script>\n'
    yield f'<script type="module">{script}</script>\n</body>\n</html>\n'


def _escape_json(text: str) -> str:
    """JSON without a character that could end the element it stands in, or begin another one."""
    return text.replace("<", "\\u003c").replace("\x00", "\\u0000").replace("\r", "\\r")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}"


_IMPORT = re.compile(
    r'^import \{ (?P<names>\w+(?:, \w+)*) \} from "\./(?P<module>\w+)\.js";$', re.MULTILINE
)
_EXPORT = re.compile(
    r"^export (?=(?:async )?function (?P<function>\w+)|const (?P<constant>\w+))", re.MULTILINE
)
_OTHER = re.compile(r"^(?:import|export)\b.*|</script|<!--", re.MULTILINE | re.IGNORECASE)


def read_view_file(name: str) -> str:
    """Read a file of view/."""
    return files("convrag_web").joinpath("view", name).read_text(encoding="utf-8")


@cache
def bundle_modules(entry: str) -> str:
    """Join a module of view/ and all that it imports into one script.

    Raises:
        ValueError: a module has a form that is not allowed here.
    """
    functions: dict[str, str] = {}
    _add_module(entry, functions)
    return "\n".join(functions.values())


def _add_module(name: str, functions: dict[str, str]) -> None:
    if name in functions:
        return
    text = read_view_file(name)
    for found in _IMPORT.finditer(text):
        _add_module(f"{found['module']}.js", functions)
    exported = [found["function"] or found["constant"] for found in _EXPORT.finditer(text)]
    body = _EXPORT.sub("", _IMPORT.sub(r"const { \g<names> } = \g<module>_js;", text))
    if odd := _OTHER.search(body):
        raise ValueError(f"view/{name}: {odd[0]!r} cannot be bundled")
    functions[name] = (
        f"const {PurePath(name).stem}_js = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();"
    )
