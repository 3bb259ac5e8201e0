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
from convrag_datasets.ikat import IkatDataset
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
