"""A data set whose ids, titles, texts, addresses and questions do harm where they are taken for
HTML.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from web.scripted_llm import HOSTILE

LINK = "https://elsewhere.example/page"
"""The only address of a passage that a browser may follow."""


def write_hostile_corpus(folder: Path) -> list[str]:
    """Write the data set into a folder, and return the overrides that choose it where the command
    runs there.
    """
    passages = [
        {
            "_id": f"{number}{HOSTILE}",
            "title": f"Moon {HOSTILE}",
            "text": f"The Moon is hostile. {HOSTILE}",
            "url": url,
        }
        for number, url in enumerate(["javascript:window.hurt=1", LINK, HOSTILE])
    ]
    _write_rows(folder / "corpus.jsonl", passages)
    _write_rows(
        folder / "conversations.jsonl",
        [{"id": "a", "turns": [{"question": f"Is the Moon {HOSTILE}?"}]}],
    )
    return [
        "dataset=jsonl",
        "dataset.corpus=corpus.jsonl",
        "dataset.conversations=conversations.jsonl",
    ]


def _write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
