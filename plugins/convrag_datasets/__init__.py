"""Data sets: the bundled sample, the user's own files, and those that the field publishes.

The options: sample, jsonl, beir, huggingface with hub_rows, ir_datasets, and mtrag with mtrag_files and
mtrag_reference. A reader for each kind of file: conversations, queries, corpus, qrels. What these use: row_files (rows
of any format), json_rows (checked fields), tables (CSV, Parquet) and turns (ids, messages, grouping).
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("dataset", "sample", "convrag_datasets.sample:SampleDataset")
    register("dataset", "jsonl", "convrag_datasets.jsonl:JsonlDataset")
    register("dataset", "beir", "convrag_datasets.beir:BeirDataset")
    register("dataset", "huggingface", "convrag_datasets.huggingface:HuggingfaceDataset")
    register("dataset", "ir_datasets", "convrag_datasets.ir_datasets:IrDatasetsDataset")
    register("dataset", "mtrag", "convrag_datasets.mtrag:MtragDataset")
