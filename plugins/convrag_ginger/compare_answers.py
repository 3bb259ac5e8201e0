"""`task=compare_answers`: the answers of finished runs, each pair of them cut to the shorter."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from omegaconf import DictConfig

from convrag import ConfigError, DataError, Metrics, Passage, Task, TurnRecord
from convrag.sdk.files import open_atomically
from convrag.sdk.jsonl import Line, read_lines_in
from convrag.sdk.parallel import map_parallel
from convrag_ginger.length_limit import count_words, cut_to_words

if TYPE_CHECKING:
    from rich.table import Table


_DECIMALS = 4


@dataclass(frozen=True)
class PairedMeans:
    """The means of a measure over the turns of two runs; `difference` is one minus the other, with its 95 % interval.

    The interval comes from a bootstrap over conversations; None where fewer than five have turns.
    """

    one: str
    other: str
    measure: str
    turns: int
    mean: float
    other_mean: float
    difference: float
    interval: tuple[float, float] | None


class CompareAnswersTask(Task):
    """Compare the answers of finished runs at equal length: each pair of answers is cut to the shorter one in words.

    Longer answers score higher, and GINGER's are longer than its baselines'. Citations are no words, and are
    left out. Every two runs are compared over the turns that both have, with the chosen metrics, such as
    `"metrics=[nuggets]"` or `"metrics=[answers]"`; measures that are equal in all turns are left out. The folder gets
    comparison.json.

        python -m convrag task=compare_answers "task.records=[outputs/A,outputs/B]" "metrics=[nuggets]"

    Args:
        records: the folders of two finished runs or more, of the same data set.

    Raises:
        ConfigError: there are fewer than two runs, two of the same folder, or two without a common turn.
        DataError: a folder holds no run.
    """

    def __init__(self, *, records: list[Path]) -> None:
        if len(records) < 2 or len(set(records)) < len(records):
            raise ConfigError('task.records="[FOLDER,FOLDER]": the folders of two different runs at least')
        self.folders = list(records)

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Measure each pair of runs and print the table; 1 where a metric failed."""
        from convrag.sdk.console import make_console
        from convrag.sdk.tasks.turns import Wiring

        wiring = Wiring(config)
        metrics = wiring.get_all("metrics")
        wiring.check()
        runs = {path.name: _read_run(path) for path in self.folders}
        if len(runs) < len(self.folders):
            runs = {str(path): _read_run(path) for path in self.folders}
        wiring.prepare()
        rows: list[PairedMeans] = []
        stopped = ""
        for one, other in combinations(runs, 2):
            found, reason = compare_pair(one, other, runs[one], runs[other], metrics)
            rows, stopped = rows + found, stopped or reason
        console = make_console()
        for pair in dict.fromkeys((row.one, row.other) for row in rows):
            console.print(_make_table([row for row in rows if (row.one, row.other) == pair]))
        if not rows:
            stopped = stopped or 'no metric tells these answers apart: choose one of answers, "metrics=[nuggets]"'
        folder.mkdir(parents=True, exist_ok=True)
        with open_atomically(folder / "comparison.json") as file:
            json.dump([asdict(row) for row in rows], file, indent=2)
        for line in filter(None, [stopped, *wiring.collect_notes(), f"Results: {folder}"]):
            console.print(line, soft_wrap=True)
        return int(bool(stopped))


def compare_pair(
    one: str,
    other: str,
    ours: Mapping[str, TurnRecord],
    theirs: Mapping[str, TurnRecord],
    metrics: Mapping[str, Metrics],
) -> tuple[list[PairedMeans], str]:
    """Measure the turns that two runs have in common, each pair of answers cut to the shorter.

    Args:
        one: name of the first run.
        other: name of the second run.
        ours: turn id -> record of the first run.
        theirs: turn id -> record of the second run.
        metrics: by name.

    Returns:
        The means of each measure that differs in a turn; and which metric failed, if one did.
    """
    from convrag.sdk.tasks.scores import measure

    shared = [turn for turn in ours if turn in theirs]
    if not shared:
        raise ConfigError(f"the runs {one} and {other} have no turn in common: are they of the same data set?")
    lengths = [min(count_words([run[turn].answer.text]) for run in (ours, theirs)) for turn in shared]
    values: list[dict[tuple[str, str], float]] = []
    for run in (ours, theirs):
        results = measure(metrics, [_cut(run[turn], words) for turn, words in zip(shared, lengths, strict=True)])
        if results.failures:
            return [], "; ".join(f"metrics.{name} failed: {reason}" for name, reason in results.failures.items())
        values.append(
            {
                (name, turn): value
                for by_turn in results.values.values()
                for turn, measures in by_turn.items()
                for name, value in measures.items()
            }
        )
    names = dict.fromkeys(name for name, _ in values[0])
    return [
        row
        for name in names
        if (row := _average(one, other, name, [ours[turn] for turn in shared], values)) is not None
    ], ""


def _average(
    one: str, other: str, name: str, records: Sequence[TurnRecord], values: Sequence[Mapping[tuple[str, str], float]]
) -> PairedMeans | None:
    """The means of a measure; None where it is the same in all turns."""
    import numpy as np

    from convrag.sdk.tasks.scores import bootstrap_intervals

    measured = [record for record in records if all((name, record.turn_id) in each for each in values)]
    rows = np.array([[each[name, record.turn_id] for each in values] for record in measured]).reshape(-1, 2)
    differences = rows[:, 0] - rows[:, 1]
    if not differences.any():
        return None
    conversations = list(dict.fromkeys(record.conversation_id for record in measured))
    places = [conversations.index(record.conversation_id) for record in measured]
    sums, sizes = (np.bincount(places, each).astype(np.float64) for each in (differences, np.ones(len(places))))
    low, high = (float(bound) for bound in bootstrap_intervals(sums[:, None], sizes[:, None])[0])
    interval = None if low != low else (round(low, _DECIMALS), round(high, _DECIMALS))
    mean, other_mean, difference = (
        round(float(value), _DECIMALS) for value in (*rows.mean(axis=0), differences.mean())
    )
    return PairedMeans(one, other, name, len(measured), mean, other_mean, difference, interval)


def _read_run(folder: Path) -> dict[str, TurnRecord]:
    """Turn id -> record of a finished run. Raises DataError where the folder holds none."""
    from convrag.sdk.tasks.runs import read_records

    records = {record.turn_id: record for record in read_records(folder / "intermediate")}
    if not records:
        raise DataError("this is no folder of a finished run: there is no turn in its intermediate/", path=folder)
    return records


def _cut(record: TurnRecord, words: int) -> TurnRecord:
    return replace(record, answer=replace(record.answer, text=cut_to_words(record.answer.text, words)))


def _make_table(rows: Sequence[PairedMeans]) -> Table:
    """The table of one pair of runs."""
    from rich.table import Table

    one, other = rows[0].one, rows[0].other
    table = Table("measure", "turns", "first", "second", "difference", "95 %", title=f"{one} (first), {other} (second)")
    for row in rows:
        interval = "" if row.interval is None else f"{row.interval[0]:+.3f} to {row.interval[1]:+.3f}"
        means = (f"{row.mean:.3f}", f"{row.other_mean:.3f}", f"{row.difference:+.3f}")
        table.add_row(row.measure, str(row.turns), *means, interval)
    return table


_FIELD_NAMES = {
    "id": ("turn_id", "query_id", "_id", "id"),
    "query": ("rewritten_query", "query", "text"),
    "passages": ("passages", "contexts"),
}


class QueryWithPassages(NamedTuple):
    """A query and the passages that may answer it, best first."""

    id: str
    query: str
    passages: list[Passage]


class DetectNuggetsTask(Task):
    """Detect the nuggets in the passages of a file, and write them as JSONL: the second command of the GINGER seed.

    Each line is a query with its passages, best first: {"turn_id": ..., "query": ..., "passages": [{"id": ..., "text":
    ..., "title": ...}]}, title optional. The `intermediate/` files of a run have such lines too (`rewritten_query`,
    `contexts`). Only the first `top_n` passages of a query are read. A line of the result has the turn id, the query,
    the number of passages, and the nuggets with passage id, text, start and end.

    Args:
        path: the file, or a folder whose *.jsonl files are read.
        output: where to write the nuggets; None: nuggets.jsonl in the folder of this run.
    """

    def __init__(self, *, path: Path, output: Path | None = None) -> None:
        self.path = path
        self.output = output

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Detect the nuggets of `workers` queries at a time; the file appears when it is complete."""
        from convrag.sdk.console import make_console
        from convrag.sdk.tasks.configuration import settings_of
        from convrag.sdk.tasks.turns import Wiring

        settings = settings_of(config)
        wiring = Wiring(config)
        detector = wiring.get("detector")
        wiring.check()
        queries = [_parse_line(line) for line in read_lines_in(self.path, ".jsonl")]
        if not queries:
            raise DataError("there is no query in it", path=self.path)
        wiring.prepare()
        output = self.output or folder / "nuggets.jsonl"
        output.parent.mkdir(parents=True, exist_ok=True)

        def detect(query: QueryWithPassages) -> dict[str, Any]:
            passages = query.passages[: settings.top_n]
            nuggets = [asdict(nugget) for passage in passages for nugget in detector.detect(query.query, passage)]
            return {"turn_id": query.id, "query": query.query, "passages": len(passages), "nuggets": nuggets}

        found = 0
        with open_atomically(output) as file:
            for row in map_parallel(detect, queries, "nuggets", total=len(queries), workers=settings.workers):
                found += len(row["nuggets"])
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        console = make_console()
        console.print(f"{found} nuggets for {len(queries)} queries")
        console.print(f"Results: {output}", soft_wrap=True)
        return 0


def _parse_line(line: Line) -> QueryWithPassages:
    row = line.json()
    try:
        given = {field: next(row[name] for name in names if name in row) for field, names in _FIELD_NAMES.items()}
        passages = [Passage(str(p["id"]), p["text"], p.get("title") or "") for p in given["passages"]]
        if wrong := [text for p in passages for text in (p.text, p.title) if not isinstance(text, str)]:
            raise TypeError(wrong)
        if not isinstance(given["query"], str):
            raise TypeError(given["query"])
    except (TypeError, KeyError, AttributeError, StopIteration) as error:
        raise line.error(
            'each line needs a "turn_id", a "query" and "passages", each of them with "id" and "text"'
        ) from error
    return QueryWithPassages(str(given["id"]), given["query"], passages)
