"""Data sets: the bundled sample, the user's own files, and those that the field publishes.

The user's own files:

* `jsonl`: `dataset=jsonl`, and the bundled `dataset=sample`.
* `beir`: `dataset=beir`: BEIR's layout.
* `huggingface`: `dataset=huggingface`: a data set of the Hugging Face hub, or a copy of one.
* `hub`: its downloads.
* `ir_datasets`: `dataset=ir_datasets`: any collection of the library ir_datasets.
* `questions`: `dataset=questions`: the questions that `task=questions` wrote.
* `simulated`: `dataset=simulated`: users with a goal, by rules or by a model.
* `model_user`: a user of `dataset=simulated` who is played by a language model.

Published data sets:

* `mtrag`: MTRAG and MTRAG-UN.
* `cast`: TREC CAsT, and the files of topics that iKAT has too.
* `ikat`: TREC iKAT.
* `topiocqa`: TopiOCQA.
* `qrecc`: QReCC.
* `coral`: CORAL.
* `doc2dial`: Doc2Dial and MultiDoc2Dial.
* `doc2dial_documents`: their documents and spans.
* `doc2dial_dialogues`: their dialogues.
* `chatrag`: the ten sets of ChatRAG-Bench.

Shared by several:

* `file_dataset`: the base of data sets that are read from files.
* `published_dataset`: the base of published data sets.
* `corpus_file`: a corpus in a file.
* `document_judgements`: judgements of passages, pages and whole documents.
* `borrowed_corpus`: the base of data sets about the passages of another data set.
* `files`: readers of rows, conversations, queries, passages and qrels.
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
        "A data set of the Hugging Face hub, or a folder of Parquet, JSONL or CSV files.",
    )
    register(
        "dataset",
        "ir_datasets",
        "convrag_datasets.ir_datasets:IrDatasetsDataset",
        "Any collection of the library ir_datasets, by its id: trec-cast/v1/2020, "
        "beir/scifact/test.",
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
    register(
        "dataset",
        "qrecc",
        "convrag_datasets.qrecc:QreccDataset",
        "QReCC: conversations with a rewrite of each question by people, and an answer from the "
        "web.",
    )
    register(
        "dataset",
        "coral",
        "convrag_datasets.coral:CoralDataset",
        "CORAL: long answers with citations over Wikipedia, in four kinds of conversation flow.",
    )
    register(
        "dataset",
        "doc2dial",
        "convrag_datasets.doc2dial:Doc2dialDataset",
        "Doc2Dial: dialogues of users with agents, each about one document of a public service.",
    )
    register(
        "dataset",
        "multidoc2dial",
        "convrag_datasets.doc2dial:Multidoc2dialDataset",
        "MultiDoc2Dial: dialogues of users with agents that go from document to document.",
    )
