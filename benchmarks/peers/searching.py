"""The measure of every lexical index: build it from texts, then search with one thread.

A peer's program is `measure(build, search)`, called with the files of passages, queries and
rankings.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from measuring import Clock, answer, read_jsonl, read_peak_mib

FOUND = 10
"""Passages of a ranking."""


def measure(build: Callable[[list[str]], Any], search: Callable[[Any, str], Sequence[int]]) -> None:
    """Build an index of texts, and search it for each query.

    Args:
        build: makes the index of the texts.
        search: the positions of the FOUND best texts for a query, the best first.
    """
    passages = read_jsonl(sys.argv[1])
    ids, texts = [each["_id"] for each in passages], [each["text"] for each in passages]
    before = read_peak_mib()
    clock = Clock()
    index = build(texts)
    built = clock.read("index") | {"corpus_mib": before, "index_mib": read_peak_mib()}
    answer(built | measure_queries(lambda query: [ids[place] for place in search(index, query)]))


def measure_queries(search: Callable[[str], list[str]]) -> dict[str, float]:
    """Measure a query's milliseconds of the processor after a warm-up; write the rankings."""
    queries = read_jsonl(sys.argv[2])
    clock = Clock()
    search(queries[0]["text"])
    first = clock.read("first_query")
    took, rankings = [], {}
    for query in queries:
        start = time.process_time()
        rankings[query["_id"]] = search(query["text"])
        took.append(1000 * (time.process_time() - start))
    Path(sys.argv[3]).write_text(json.dumps(rankings), encoding="utf-8")
    slowest = sorted(took)[int(0.95 * len(took))]
    return first | {
        "query_cpu_ms": round(statistics.median(took), 4),
        "query_95_cpu_ms": round(slowest, 4),
        "peak_mib": read_peak_mib(),
    }
