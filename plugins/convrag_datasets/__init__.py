"""Data sets: the bundled sample, the user's own files, and those that the field publishes.

Most options stand on file_dataset (what files say, once; the corpus of a domain by streaming). What
they read with:

* rows: fields of a row, checked, with the place in each error, and rows that each hold one turn and
  its context; row_files: rows of JSONL, JSON arrays, CSV and Parquet
* conversations: rows that become conversations; corpus: passages, their fingerprints, and qrels

The options: jsonl (sample too), beir, questions, simulated, huggingface, mtrag; and the published
sets cast, ikat, topiocqa and chatrag.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("dataset", "sample", "convrag_datasets.jsonl:SampleDataset")
    register("dataset", "jsonl", "convrag_datasets.jsonl:JsonlDataset")
    register("dataset", "beir", "convrag_datasets.beir:BeirDataset")
    register("dataset", "huggingface", "convrag_datasets.huggingface:HuggingfaceDataset")
    register("dataset", "questions", "convrag_datasets.questions:QuestionsDataset")
    register("dataset", "simulated", "convrag_datasets.simulated:SimulatedDataset")
    register("dataset", "mtrag", "convrag_datasets.mtrag:MtragDataset")
    register("dataset", "cast", "convrag_datasets.cast:CastDataset")
    register("dataset", "chatrag", "convrag_datasets.chatrag:ChatragDataset")
    register("dataset", "ikat", "convrag_datasets.ikat:IkatDataset")
    register("dataset", "topiocqa", "convrag_datasets.topiocqa:TopiocqaDataset")
