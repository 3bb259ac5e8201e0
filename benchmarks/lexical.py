"""Lexical search: rank_bm25, bm25s (numpy and numba) and tantivy beside convrag's `retriever=bm25`."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import ir_measures

from convrag import Dataset
from convrag.config.compose import compose
from convrag.turn.wiring import Wiring
from environments import ROOT, list_pinned, make_environment
from options import Options
from pages import format_number, make_table
from plots import Bars
from programs import run_peer

PROGRAMS = {
    "rank_bm25": ("lexical_rank_bm25",),
    "bm25s, numpy": ("lexical_bm25s", "numpy"),
    "bm25s, numba": ("lexical_bm25s", "numba"),
    "tantivy": ("lexical_tantivy",),
}
LARGEST = {"rank_bm25": 200_000}
"""The most passages that a library is measured with.

rank_bm25 has a dictionary for each passage, some 10 GB for a million.
"""

COLUMNS = {
    "index_cpu_s": "index, s",
    "peak_mib": "memory, MiB",
    "first_query_cpu_s": "first query, s",
    "query_cpu_ms": "query, ms",
    "query_95_cpu_ms": "95 %, ms",
    "nDCG@10": "nDCG@10",
}


def measure(options: Options) -> dict[str, Any]:
    """Index and search corpora of each size with each library.

    Returns:
        `sizes`: the corpus's name -> library -> figures; `versions` of the peers.
    """
    python = make_environment("lexical")
    found = {
        title: _measure_corpus(python, folder, passages)
        for title, folder, passages in _write_corpora(options)
    }
    return {"versions": list_pinned("lexical"), "sizes": found}


def _measure_corpus(python: Path, folder: Path, passages: int) -> dict[str, Any]:
    files = [folder / "corpus.jsonl", folder / "queries.jsonl"]
    qrels = json.loads((folder / "qrels.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = {}
    for name, (program, *arguments) in PROGRAMS.items():
        if passages <= LARGEST.get(name, passages):
            found[name] = run_peer(python, program, *files, folder / "ranking.json", *arguments)
            found[name] |= _score(folder / "ranking.json", qrels)
    found["convrag"] = run_peer(
        Path(sys.executable), "lexical_convrag", *files, folder / "ranking.json", folder / "store"
    )
    found["convrag"] |= _score(folder / "ranking.json", qrels)
    return found


def _score(path: Path, qrels: dict[str, dict[str, int]]) -> dict[str, float]:
    if not qrels:
        return {}
    run = {
        id_: {p: -place for place, p in enumerate(found)}
        for id_, found in json.loads(path.read_text()).items()
    }
    return {
        "nDCG@10": round(
            ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)[ir_measures.nDCG @ 10],
            4,
        )
    }


def _write_corpora(options: Options) -> Iterator[tuple[str, Path, int]]:
    """Write each corpus with its queries and judgements: title, folder, number of passages."""
    if options.mtrag:
        yield "MTRAG's pool of clapnq, 11,909 passages", *_write_pool(options, "clapnq")
    sizes = (2000,) if options.small else options.passages
    sys.path.insert(0, str(ROOT / "benchmarks/speed"))
    from zipf_passages import ZipfPassages  # type: ignore[import-not-found]

    for size in sizes:
        made = ZipfPassages(size)
        queries = {
            f"q{n}": words.text
            for n, (words,) in enumerate(made.queries(30 if size > 1e5 else 100))
        }
        yield f"{size:,} made passages", *_write(options.scratch / str(size), made, queries, {})


def _write_pool(options: Options, domain: str) -> tuple[Path, int]:
    chosen = compose("dataset=mtrag", f"dataset.path={options.mtrag}", f"dataset.domain={domain}")
    dataset: Dataset = Wiring(chosen).get("dataset")
    qrels = {turn: dict(grades) for turn, grades in dataset.qrels().items()}
    turns = [turn for talk in dataset.conversations() for turn in talk.turns if turn.id in qrels]
    return _write(
        options.scratch / domain, dataset, {turn.id: turn.question for turn in turns}, qrels, domain
    )


def _write(
    folder: Path,
    dataset: Dataset,
    queries: dict[str, str],
    qrels: dict[str, Any],
    domain: str = "default",
) -> tuple[Path, int]:
    folder.mkdir()
    written = _write_texts(
        folder / "corpus.jsonl", ((each.id, each.content) for each in dataset.corpus(domain))
    )
    _write_texts(folder / "queries.jsonl", queries.items())
    (folder / "qrels.json").write_text(json.dumps(qrels), encoding="utf-8")
    return folder, written


def _write_texts(path: Path, texts: Iterable[tuple[str, str]]) -> int:
    number = 0
    with path.open("w", encoding="utf-8") as file:
        for number, (id_, text) in enumerate(texts, 1):  # noqa: B007 - the last one is how many there are
            file.write(json.dumps({"_id": id_, "text": text}) + "\n")
    return number


def list_bars(measured: dict[str, Any]) -> Bars:
    """A query's milliseconds in the largest corpus."""
    corpus, rows = list(measured["sizes"].items())[-1]
    return Bars(
        f"{corpus}: a query, ms of the processor",
        {name: row["query_cpu_ms"] for name, row in rows.items()},
    )


def format_result(measured: dict[str, Any]) -> str:
    """A table for each corpus."""
    parts = []
    for corpus, rows in measured["sizes"].items():
        columns = {
            key: title for key, title in COLUMNS.items() if any(key in row for row in rows.values())
        }
        cells = [
            [name, *(format_number(row.get(key)) for key in columns)] for name, row in rows.items()
        ]
        parts.append(f"{corpus}:\n\n{make_table(['', *columns.values()], cells)}")
    return "\n\n".join(parts)
