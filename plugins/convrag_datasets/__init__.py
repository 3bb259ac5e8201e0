"""Data sets: the bundled sample, the user's own files, and those that the field publishes.

The options: sample, jsonl, questions, beir, huggingface with hub_rows, ir_datasets, and mtrag with mtrag_files and
mtrag_reference. A reader for each kind of file: conversations, queries, corpus, qrels. What these use: row_files (rows
of any format), json_rows (checked fields), tables (CSV, Parquet) and turns (ids, messages, grouping).

Published sets, read by streaming: cast (cast_topics, cast_trees), ikat (ikat_topics), topiocqa and qrecc
(rows_of_turns), doc2dial and multidoc2dial (doc2dial_dialogues, doc2dial_documents), coral, chatrag. Their base is
published; they use json_stream (values of large files), json_nodes (checked fields and their paths), passage_texts.
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
    register("dataset", "questions", "convrag_datasets.questions:QuestionsDataset")
    register("dataset", "mtrag", "convrag_datasets.mtrag:MtragDataset")
    register("dataset", "cast", "convrag_datasets.cast:CastDataset")
    register("dataset", "chatrag", "convrag_datasets.chatrag:ChatragDataset")
    register("dataset", "coral", "convrag_datasets.coral:CoralDataset")
    register("dataset", "doc2dial", "convrag_datasets.doc2dial:Doc2dialDataset")
    register("dataset", "ikat", "convrag_datasets.ikat:IkatDataset")
    register("dataset", "multidoc2dial", "convrag_datasets.doc2dial:Multidoc2dialDataset")
    register("dataset", "qrecc", "convrag_datasets.qrecc:QreccDataset")
    register("dataset", "topiocqa", "convrag_datasets.topiocqa:TopiocqaDataset")
