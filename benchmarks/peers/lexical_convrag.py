"""convrag's retriever=bm25: an index in a folder, memory-mapped."""

import sys
from typing import Any

from convrag import Query
from convrag.config.compose import compose
from convrag.turn.wiring import Wiring
from measuring import Clock, answer, read_peak_mib
from searching import FOUND, measure_queries


def make_retriever() -> Any:
    """Make the retriever over the first argument's passages, with a store in the fourth's folder."""
    corpus, _, _, folder = sys.argv[1:]
    data = ["dataset=jsonl", f"dataset.corpus={corpus}", f"store.path={folder}"]
    return Wiring(
        compose(*data, "retriever=bm25", "rewriter=none", "generator=none", "tracker=none")
    ).get("retriever")


if __name__ == "__main__":
    retriever = make_retriever()
    before = read_peak_mib()
    clock = Clock()
    retriever.prepare()
    built = clock.read("index") | {"corpus_mib": before, "index_mib": read_peak_mib()}
    answer(
        built
        | measure_queries(
            lambda text: [hit.passage.id for hit in retriever.retrieve([Query(text)], FOUND)]
        )
    )
