"""Data sets: the bundled sample, the user's own files, and the MTRAG benchmark.

The options: sample, jsonl, questions, and mtrag with mtrag_files and mtrag_reference. A reader for each kind of file:
conversations, queries, corpus, qrels. What these use: json_rows (checked fields) and turns (ids, messages, grouping).
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("dataset", "sample", "convrag_datasets.sample:SampleDataset")
    register("dataset", "jsonl", "convrag_datasets.jsonl:JsonlDataset")
    register("dataset", "questions", "convrag_datasets.questions:QuestionsDataset")
    register("dataset", "mtrag", "convrag_datasets.mtrag:MtragDataset")
