"""`task=detect_nuggets`: the nuggets of given passages."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from convrag import ConfigError, Detector, Task
from convrag.sdk.files import open_atomically

if TYPE_CHECKING:
    from convrag_ginger.nugget_files import DetectedNuggets, QueryWithPassages


@dataclass(kw_only=True, eq=False)
class DetectNuggetsTask(Task):
    """Detect the nuggets of given passages, and write them for GINGER and metrics=nuggets.

    A line of the file has a query and its passages, best first: {"turn_id": ..., "query": ...,
    "passages": [{"id": ..., "text": ..., "title": ...}]}; a title is optional. Lines of a run's
    intermediate/ will do, too (`rewritten_query`, `contexts`). The first `top_n` passages of each
    query are read, by the run's detector. detector=replay and metrics.nuggets.nuggets read the
    file that is written: a line has the turn's id, the query, the ids of the passages, and nuggets
    with `text`, `passage_id`, `start` and `end`. The file appears when it is complete.

    Args:
        path: the file, or a folder whose *.jsonl files are read.
        output: the file to write; None writes nuggets.jsonl in the folder of this command.
    """

    path: Path
    output: Path | None = None

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Detect the nuggets of several queries at a time, write them and say how many there are.

        Raises:
            DataError: a line of the file is broken, or it has none.
            ConfigError: the output cannot be written.
            LLMError: the detector fails; nothing is written then.
        """
        from convrag.sdk.output.console import make_console
        from convrag.sdk.output.progress import show_step
        from convrag.sdk.tasks.configuration import read_settings
        from convrag.sdk.tasks.turns import Wiring
        from convrag_ginger.nugget_files import read_queries

        output = self.output or folder / "nuggets.jsonl"
        if output.is_dir():
            raise ConfigError(f"task.output={output} is a folder: name a file")
        settings = read_settings(config)
        queries = read_queries(self.path)
        wiring = Wiring(config)
        detector: Detector = wiring.get("detector")
        wiring.check()
        wiring.prepare(show_step)
        counts: Counter[str] = Counter()
        rows = _detect_all(detector, queries, settings.top_n, settings.workers, counts)
        _write_lines(output, rows)
        console = make_console()
        for line in [*_describe_counts(counts), *wiring.collect_notes(), f"Written: {output}"]:
            console.print(line, soft_wrap=True)
        return 0


def _detect_all(
    detector: Detector,
    queries: Sequence[QueryWithPassages],
    top_n: int,
    workers: int,
    counts: Counter[str],
) -> Iterator[DetectedNuggets]:
    """Detect the nuggets of all queries, in order, and count them."""
    from convrag.sdk.parallel import map_parallel

    def detect(query: QueryWithPassages) -> tuple[DetectedNuggets, int]:
        return _detect(detector, query, top_n)

    found = map_parallel(detect, queries, "nuggets", total=len(queries), workers=workers)
    for detected, untagged in found:
        counts["queries"] += 1
        counts["nuggets"] += len(detected.nuggets)
        counts["passages"] += len(detected.passages)
        counts["without"] += not detected.nuggets
        counts["untagged"] += untagged
        yield detected


def _detect(
    detector: Detector, query: QueryWithPassages, top_n: int
) -> tuple[DetectedNuggets, int]:
    """Detect the nuggets of a query's first passages; also count the replies without tags."""
    from convrag_ginger.detection import detect_in_passage
    from convrag_ginger.nugget_files import DetectedNuggets

    passages = query.passages[:top_n]
    found = [detect_in_passage(detector, query.query, passage) for passage in passages]
    nuggets = [nugget for each in found for nugget in each.nuggets]
    untagged = sum(each.untagged for each in found)
    ids = [passage.id for passage in passages]
    return DetectedNuggets(query.turn_id, query.query, ids, nuggets), untagged


def _write_lines(output: Path, rows: Iterable[DetectedNuggets]) -> None:
    """Write the file whole, or not at all. Raises ConfigError where it cannot be written."""
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with open_atomically(output) as file:
            for row in rows:
                file.write(json.dumps(row.format_row(), ensure_ascii=False) + "\n")
    except OSError as error:
        raise ConfigError(f"task.output={output} cannot be written: {error.strerror}") from error


def _describe_counts(counts: Mapping[str, int]) -> Iterator[str]:
    """Describe what was found, in sentences."""
    from convrag.sdk.output.printable import count
    from convrag_ginger.outcome_report import describe_untagged

    queries = "1 query" if counts["queries"] == 1 else f"{counts['queries']} queries"
    passages = count(counts["passages"], "passage")
    found = f"{count(counts['nuggets'], 'nugget')} in {passages} of {queries}"
    yield f"{found}, {counts['without']} of them without a nugget."
    if counts["untagged"]:
        yield describe_untagged(counts["untagged"])
