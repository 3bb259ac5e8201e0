"""Data sets: the bundled sample, the user's own files, and the MTRAG benchmark."""

from convrag import Register, hookimpl
from convrag_datasets.jsonl import JsonlDataset
from convrag_datasets.mtrag import MtragDataset
from convrag_datasets.sample import SampleDataset

__all__ = ["JsonlDataset", "MtragDataset", "SampleDataset", "convrag_register"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Offer the data sets."""
    register("dataset", "sample", SampleDataset)
    register("dataset", "jsonl", JsonlDataset)
    register("dataset", "mtrag", MtragDataset)
