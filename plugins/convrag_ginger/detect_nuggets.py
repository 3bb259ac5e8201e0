"""`task=detect_nuggets`: the nuggets in the passages of a file of queries."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import DictConfig

from convrag import DataError, Passage, Task
from convrag.sdk.files import open_atomically
from convrag.sdk.jsonl import Line, read_lines_in
from convrag.sdk.parallel import map_parallel

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
