"""Data sets: the bundled sample, the user's own files, and the MTRAG benchmark.

The options: sample, jsonl, and mtrag with mtrag_files and mtrag_reference. A reader for each kind of file:
conversations, queries, corpus, qrels. What these use: json_rows (checked fields) and turns (ids, messages, grouping).
"""

from convrag import Register, hookimpl
from convrag_datasets.jsonl import JsonlDataset
from convrag_datasets.mtrag import MtragDataset
from convrag_datasets.sample import SampleDataset

__all__ = ["JsonlDataset", "MtragDataset", "SampleDataset", "convrag_register"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("dataset", "sample", SampleDataset)
    register("dataset", "jsonl", JsonlDataset)
    register("dataset", "mtrag", MtragDataset)
