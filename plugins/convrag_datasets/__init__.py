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
    register(
        "dataset",
        "sample",
        "convrag_datasets.jsonl:SampleDataset",
        "A small bundled data set about the Moon and spaceflight: for a first run, with "
        "no download.",
    )
    register(
        "dataset",
        "jsonl",
        "convrag_datasets.jsonl:JsonlDataset",
        "Your own files: conversations, or queries and qrels as BEIR has them, and a corpus.",
    )
    register(
        "dataset",
        "beir",
        "convrag_datasets.beir:BeirDataset",
        "A folder in BEIR's layout: corpus.jsonl, queries.jsonl and qrels/test.tsv.",
    )
    register(
        "dataset",
        "huggingface",
        "convrag_datasets.huggingface:HuggingfaceDataset",
        "A copy of a data set of the Hugging Face hub: a folder of Parquet, JSONL or CSV files.",
    )
    register(
        "dataset",
        "questions",
        "convrag_datasets.questions:QuestionsDataset",
        "Questions that `task=questions` wrote about your data set, with judgements and answers.",
    )
    register(
        "dataset",
        "simulated",
        "convrag_datasets.simulated:SimulatedDataset",
        "Users with a goal who talk with the pipeline until they have reached it.",
    )
    register(
        "dataset",
        "mtrag",
        "convrag_datasets.mtrag:MtragDataset",
        "The MTRAG benchmarks, from a clone of github.com/IBM/mt-rag-benchmark.",
    )
    register(
        "dataset",
        "cast",
        "convrag_datasets.cast:CastDataset",
        "TREC CAsT 2019 to 2022, from a clone of github.com/daltonj/treccastweb.",
    )
    register(
        "dataset",
        "chatrag",
        "convrag_datasets.chatrag:ChatragDataset",
        "ChatRAG-Bench: ten sets of questions in conversations, each question with its contexts.",
    )
    register(
        "dataset",
        "ikat",
        "convrag_datasets.ikat:IkatDataset",
        "TREC iKAT 2023 to 2025, from a clone of github.com/irlabamsterdam/iKAT.",
    )
    register(
        "dataset",
        "topiocqa",
        "convrag_datasets.topiocqa:TopiocqaDataset",
        "TopiOCQA: conversations that go from one Wikipedia page to another.",
    )
