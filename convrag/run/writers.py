"""The files of a run, written by observers: whole lines as turns finish, whole files when the run has."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Iterable
from math import inf
from pathlib import Path

from convrag.api.hookspecs import hookimpl
from convrag.api.records import Run, TurnRecord
from convrag.api.types import Hit
from convrag.run.records import to_json
from convrag.sdk.utterances import USER

UNFINISHED = ".unfinished"


class RunFolder:
    """A run's folder. Files grow in a hidden subfolder and take their places together, when the run has ended well."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.unfinished = folder / UNFINISHED
        shutil.rmtree(self.unfinished, ignore_errors=True)
        self.unfinished.mkdir(parents=True)

    def append(self, name: str, lines: Iterable[str]) -> None:
        """Append lines to a file of the run."""
        path = self.unfinished / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def publish(self) -> None:
        """Put every file into its place, over what a former run left there."""
        for path in sorted(self.unfinished.iterdir()):
            place = self.folder / path.name
            if place.is_dir():
                shutil.rmtree(place)
            path.replace(place)
        self.unfinished.rmdir()

    def discard(self) -> None:
        """Drop what is unfinished."""
        shutil.rmtree(self.unfinished, ignore_errors=True)


class Writers:
    """Writes the rewrites (BEIR), the intermediate records and the TREC run of every turn."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    @hookimpl
    def convrag_turn_finished(self, run: Run, record: TurnRecord) -> None:
        """Append the turn to its files."""
        self.folder.append(f"datasets/{record.domain}.jsonl", [beir_line(record)])
        self.folder.append(f"intermediate/{record.domain}.jsonl", [to_json(record)])
        self.folder.append("run.trec", trec_lines(record))


def beir_line(record: TurnRecord) -> str:
    """A rewritten query as a BEIR line, with the answer; the `|user|: ` prefix is MTRAG's."""
    line = {
        "_id": record.turn_id,
        "text": f"{USER}{record.rewritten_query}",
        "agent_response": record.answer.text,
    }
    return json.dumps(line, ensure_ascii=False)


def trec_lines(record: TurnRecord) -> list[str]:
    """A ranking as six TREC columns. Ids with white space, which TREC cannot hold, get underscores."""
    turn = "_".join(record.turn_id.split())
    ranked = zip(record.hits, strictly_falling(record.hits), strict=True)
    return [
        f"{turn} Q0 {'_'.join(hit.passage.id.split())} {rank} {score!r} convrag"
        for rank, (hit, score) in enumerate(ranked, 1)
    ]


def strictly_falling(hits: Iterable[Hit]) -> list[float]:
    """The hits' scores, strictly falling also in the single precision of trec_eval, which breaks ties its own way."""
    scores: list[float] = []
    ceiling = inf
    for hit in hits:
        score = min(single_precision(hit.score), ceiling)
        scores.append(score)
        ceiling = _single_below(score)
    return scores


def single_precision(value: float) -> float:
    """The nearest number that a 32-bit float can hold; one beyond its range is returned as it is."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return value


def _single_below(value: float) -> float:
    """The next smaller number in single precision."""
    return single_precision(value - max(abs(value) * 2.0**-23, 2.0**-149))
