"""Readers of published data sets as fuzz targets: the bytes of one file, in a folder with the
others that it needs.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from convrag.api.stages import Dataset
from convrag_datasets.cast import CastDataset
from convrag_datasets.chatrag import ChatragDataset
from convrag_datasets.coral import CoralDataset
from convrag_datasets.doc2dial import Doc2dialDataset, Multidoc2dialDataset
from convrag_datasets.ikat import IkatDataset
from convrag_datasets.qrecc import QreccDataset
from convrag_datasets.topiocqa import TopiocqaDataset

Make = Callable[[Path], Dataset]

_UTTERANCE = {
    "number": 1,
    "raw_utterance": "How far?",
    "manual_rewritten_utterance": "How far is the Moon?",
}
_CAST_2020 = [{"number": 81, "turn": [_UTTERANCE | {"manual_canonical_result_id": "MARCO_1"}]}]
_TREE = [
    {
        "number": "1-1",
        "participant": "User",
        "utterance": "How far?",
        "manual_rewritten_utterance": "How far is it?",
    },
    {
        "number": "1-2",
        "parent": "1-1",
        "participant": "System",
        "response": "Far.",
        "provenance": ["MARCO_1-2"],
    },
    {"number": "1-3", "parent": "1-2", "participant": "User", "utterance": "And Mars?"},
]
_IKAT_TURN = {
    "turn_id": 1,
    "utterance": "A diet?",
    "resolved_utterance": "A diet for a vegetarian?",
    "response": "Lentils.",
    "ptkb_provenance": [1],
    "response_provenance": ["clueweb22-en0035-25-01897:1"],
}
_TOPIOCQA = {
    "Conversation_no": 7,
    "Turn_no": 1,
    "Question": "How far?",
    "Answer": "Far.",
    "Topic": "Moon",
    "Topic_section": "Orbit",
    "Gold_passage": {"id": "wiki:71", "title": "Moon [SEP] Orbit", "text": "The Moon is far."},
}
_QRECC = {
    "Context": ["Is it near?", "No."],
    "Question": "How far?",
    "Rewrite": "How far is the Moon?",
    "Answer": "Far.",
    "Conversation_no": 74,
    "Turn_no": 2,
    "Conversation_source": "trec",
}
_CORAL_TURN = {
    "turn_id": 1,
    "question": "What is tea?",
    "response": "A drink.",
    "golden_rewrite": "What is tea?",
    "golden_docs_pids": [6],
    "golden_docs_text": ["Tea is a drink."],
}
_SPAN = {
    "id_sp": "1",
    "start_sp": 0,
    "end_sp": 4,
    "text_sp": "Tea.",
    "title": "Tea",
    "start_sec": 0,
    "parent_titles": {"text": []},
}
_DOCUMENT = {"title": "D#1", "domain": "dmv", "doc_text": "Tea.", "spans": {"1": _SPAN}}
_DOCUMENTS = {"doc_data": {"dmv": {"D#1_0": _DOCUMENT}}}
_UTTERANCES = [
    {"turn_id": 1, "role": "user", "da": "query", "references": [], "utterance": "Why?"},
    {
        "turn_id": 2,
        "role": "agent",
        "da": "respond_solution",
        "references": [{"id_sp": "1", "doc_id": "D#1_0", "label": "solution"}],
        "utterance": "Tea.",
    },
]
_DIALOGUE = {"dial_id": "9", "turns": _UTTERANCES}
_DIALOGUES = {"dial_data": {"dmv": [_DIALOGUE]}}
_CHATRAG = {
    "messages": [{"role": "user", "content": "I moved."}],
    "ctxs": [{"title": "Address", "text": "Report it."}],
    "ground_truth_ctx": {"title": "Address", "ctx": "Report it.", "index": 0},
    "answers": ["Report it."],
}


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        if not (folder / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


def _read(name: str, make: Make, others: Mapping[str, str]) -> Callable[[Path], Any]:
    def read(path: Path) -> Any:
        folder = path.parents[name.count("/")]
        _write(folder, others)
        dataset = make(folder)
        conversations = list(dataset.conversations())
        passages = [list(dataset.corpus(domain)) for domain in dataset.domains()]
        return conversations, dataset.qrels(), dataset.rewrites(), passages

    return read


_SETS: dict[str, tuple[str, Make, dict[str, str], Any]] = {
    "cast_2020": (
        "2020/2020_manual_evaluation_topics_v1.0.json",
        lambda folder: CastDataset(path=folder, year=2020),
        {"2020/2020qrels.txt": "81_1 0 MARCO_1 2\n"},
        _CAST_2020,
    ),
    "cast_2022": (
        "2022/2022_evaluation_topics_tree_v1.0.json",
        lambda folder: CastDataset(path=folder, year=2022),
        {},
        [{"number": 132, "turn": _TREE}],
    ),
    "ikat": (
        "2023/data/2023_test_topics.json",
        lambda folder: IkatDataset(path=folder, year=2023),
        {"2023/2023-qrels.all-turns.txt": "9-1_1 0 clueweb22-en0035-25-01897:1 3\n"},
        [
            {
                "number": "9-1",
                "title": "Diet",
                "ptkb": {"1": "I'm vegetarian."},
                "turns": [_IKAT_TURN],
            }
        ],
    ),
    "topiocqa": (
        "data/topiocqa_valid.jsonl",
        lambda folder: TopiocqaDataset(path=folder),
        {},
        _TOPIOCQA,
    ),
    "qrecc": (
        "qrecc_test.json",
        lambda folder: QreccDataset(path=folder),
        {},
        [_QRECC],
    ),
    "coral": (
        "test/new_test_conversation.json",
        lambda folder: CoralDataset(path=folder),
        {
            "passage_corpus.json": '{"ref_id": 6, "ref_string": "Tea is a drink."}\n',
            "test/new_test_qrel.trec": "Test_a_2_1 0 6 1\n",
        },
        [{"conv_id": "Test_a_2", "turns": [_CORAL_TURN]}],
    ),
    "doc2dial_documents": (
        "doc2dial_doc.json",
        lambda folder: Doc2dialDataset(path=folder),
        {
            "doc2dial_dial_validation.json": json.dumps(
                {"dial_data": {"dmv": {"D#1_0": [_DIALOGUE]}}}
            )
        },
        _DOCUMENTS,
    ),
    "multidoc2dial_dialogues": (
        "multidoc2dial_dial_validation.json",
        lambda folder: Multidoc2dialDataset(path=folder),
        {"multidoc2dial_doc.json": json.dumps(_DOCUMENTS)},
        _DIALOGUES,
    ),
    "chatrag": (
        "data/doc2dial/test.json",
        lambda folder: ChatragDataset(path=folder, part="doc2dial"),
        {},
        [_CHATRAG],
    ),
}

PUBLISHED_READERS = {
    name: (_read(file, make, others), [f"{json.dumps(seed)}\n".encode()])
    for name, (file, make, others, seed) in _SETS.items()
}

PUBLISHED_NAMES = {name: file for name, (file, *_) in _SETS.items()}
"""Target -> where its file is in the folder."""
