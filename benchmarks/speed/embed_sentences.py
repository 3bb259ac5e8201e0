"""Writes real vectors of MTRAG's passages, sentences and questions for test_scale_dense.py.

    python benchmarks/speed/embed_sentences.py FOLDER MTRAG MODEL

MTRAG is the folder of the data set (with corpora, mtrag-human and rewrites), MODEL that of
all-MiniLM-L6-v2.
"""

import json
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer


def main(folder: Path, mtrag: Path, model: str) -> None:
    """Write passages.npy and queries.npy."""
    passages, sentences = [], {}
    for path in sorted(mtrag.glob("corpora/passage_level/*.zip")):
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as file:
            for row in map(json.loads, file):
                passages.append(f"{row['title']}\n{row['text']}".strip())
                sentences |= dict.fromkeys(re.split(r"(?<=[.!?])\s+|\n+", row["text"]))
    texts = passages + [text.strip() for text in sentences if len(text.strip()) >= 25]
    files = [*mtrag.glob("mtrag-human/retrieval_tasks/*/*.jsonl"), *mtrag.glob("rewrites/*.jsonl")]
    lines = [
        line for path in sorted(files) for line in path.read_text(encoding="utf-8").splitlines()
    ]
    questions = {json.loads(line)["text"].replace("|user|:", "").strip() for line in lines}
    encoder = SentenceTransformer(model, device="cpu")
    folder.mkdir(exist_ok=True)
    for name, these in (("queries", sorted(questions)), ("passages", texts)):
        rows = encoder.encode(these, normalize_embeddings=True, show_progress_bar=True)
        np.save(folder / f"{name}.npy", rows.astype(np.float32))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
