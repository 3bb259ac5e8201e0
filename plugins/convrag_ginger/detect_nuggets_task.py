"""`task=detect_nuggets`: the nuggets of given passages."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from convrag import Detector, Task
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
            LLMError: the detector fails; nothing is written then.
        """
        from convrag.sdk.output.console import make_console
        from convrag.sdk.output.progress import show_step
        from convrag.sdk.parallel import map_parallel
        from convrag.sdk.tasks.configuration import read_settings
        from convrag.sdk.tasks.turns import Wiring
        from convrag_ginger.nugget_files import read_queries
        from convrag_ginger.outcome_report import describe_untagged

        settings = read_settings(config)
        queries = read_queries(self.path)
        wiring = Wiring(config)
        detector: Detector = wiring.get("detector")
        wiring.check()
        wiring.prepare(show_step)

        def detect(query: QueryWithPassages) -> tuple[DetectedNuggets, int]:
            return _detect(detector, query, settings.top_n)

        output = self.output or folder / "nuggets.jsonl"
        output.parent.mkdir(parents=True, exist_ok=True)
        counts: Counter[str] = Counter()
        with open_atomically(output) as file:
            found = map_parallel(
                detect, queries, "nuggets", total=len(queries), workers=settings.workers
            )
            for detected, untagged in found:
                counts["nuggets"] += len(detected.nuggets)
                counts["passages"] += len(detected.passages)
                counts["without"] += not detected.nuggets
                counts["untagged"] += untagged
                file.write(json.dumps(detected.format_row(), ensure_ascii=False) + "\n")
        console = make_console()
        console.print(
            f"{counts['nuggets']} nuggets in {counts['passages']} passages of {len(queries)} "
            f"queries, {counts['without']} of them without a nugget"
        )
        if counts["untagged"]:
            console.print(describe_untagged(counts["untagged"]), soft_wrap=True)
        for note in wiring.collect_notes():
            console.print(note, soft_wrap=True)
        console.print(f"Written: {output}", soft_wrap=True)
        return 0


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
