import json
from pathlib import Path

import numpy as np
import pytest

from convrag.api.errors import ConvragError
from convrag.testing import EmbedderContract
from convrag_clusterers.embeddings import SimilarityClusterer
from convrag_spacy.embedder import SpacyEmbedder

spacy = pytest.importorskip("spacy")
pytestmark = pytest.mark.integration

SUBJECTS = {"hot": ["kettle", "Steam", "boils", "water"], "space": ["Moon", "orbit", "Laika", "capsule"]}


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline with vectors for a few words on two subjects, and a component that is not needed."""
    nlp = spacy.blank("en")
    chance = np.random.default_rng(0)
    for subject in SUBJECTS.values():
        middle = chance.normal(size=16)
        for word in subject:
            nlp.vocab.set_vector(word, (middle + 0.3 * chance.normal(size=16)).astype(np.float32))
    nlp.add_pipe("sentencizer")
    folder = tmp_path_factory.mktemp("pipelines") / "tiny"
    nlp.to_disk(folder)
    return folder


@pytest.fixture(scope="session")
def without_vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pipelines") / "blank"
    spacy.blank("en").to_disk(folder)
    return folder


class TestContract(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _tiny(self, tiny: Path) -> None:
        self.pipeline = str(tiny)

    def make(self) -> SpacyEmbedder:
        return SpacyEmbedder(pipeline=self.pipeline)


def test_similarities_are_those_of_spacy(tiny: Path) -> None:
    texts = ["Steam from the kettle.", "water boils", "Moon", "Laika in orbit,\n orbit", "kettle orbit"]
    rows = SpacyEmbedder(pipeline=str(tiny)).embed(texts)
    nlp = spacy.load(tiny)
    expected = [[nlp(" ".join(a.split())).similarity(nlp(" ".join(b.split()))) for a in texts] for b in texts]
    assert np.allclose(rows @ rows.T, expected, atol=1e-5)
    assert rows[0] @ rows[1] > 0.8 > 0.5 > rows[0] @ rows[2]


def test_unknown_texts_are_zero_rows(tiny: Path) -> None:
    rows = SpacyEmbedder(pipeline=str(tiny)).embed(["", " \n", "quokka zebra", "kettle"])
    assert rows.any(axis=1).tolist() == [False, False, False, True]
    assert rows.dtype == np.float32
    assert SpacyEmbedder(pipeline=str(tiny)).embed([]).shape == (0, 16)


def test_with_the_similarity_clusterer_it_finds_subjects(tiny: Path) -> None:
    texts = ["Steam of a kettle", "the Moon", "water boils", "Laika in orbit", "Laika in her capsule"]
    labels = SimilarityClusterer(threshold=0.7).cluster(texts, SpacyEmbedder(pipeline=str(tiny))).tolist()
    assert labels == [0, 1, 0, 1, 1]


def test_what_is_missing_is_said(tiny: Path, without_vectors: Path, tmp_path: Path) -> None:
    assert list(SpacyEmbedder(pipeline=str(tiny)).check()) == []
    for pipeline, problem in {
        "en_core_web_nosuch": "is not installed: python -m spacy download en_core_web_nosuch",
        "pipelines/nosuch": "there is no folder pipelines/nosuch: give a spaCy pipeline's, or the name of",
        str(tmp_path): "holds no spaCy pipeline",
        str(without_vectors): "has no word vectors: choose one that has, such as en_core_web_md",
        "json": "is not installed",
    }.items():
        embedder = SpacyEmbedder(pipeline=pipeline)
        (said,) = embedder.check()
        assert problem in said
        with pytest.raises(ConvragError, match=problem.split(":")[0]):
            embedder.embed(["kettle"])


def test_an_installed_pipeline_is_found_by_its_name(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `spacy download` installs them: a package with the folder of the release in it."""
    package = tmp_path / "en_tiny_md"
    meta = json.loads((tiny / "meta.json").read_text(encoding="utf-8")) | {"name": "tiny_md", "version": "1.0.0"}
    (package / "en_tiny_md-1.0.0").parent.mkdir()
    (package / "en_tiny_md-1.0.0").symlink_to(tiny, target_is_directory=True)
    (package / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    (package / "__init__.py").write_text(
        "from spacy.util import load_model_from_init_py\n\n"
        "def load(**overrides):\n    return load_model_from_init_py(__file__, **overrides)\n",
        encoding="utf-8",
    )
    (tmp_path / "en_tiny_md-1.0.0.dist-info").mkdir()
    (tmp_path / "en_tiny_md-1.0.0.dist-info" / "METADATA").write_text("Name: en_tiny_md\nVersion: 1.0.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    embedder = SpacyEmbedder(pipeline="en_tiny_md")
    assert list(embedder.check()) == []
    first = embedder.content_hash()
    assert embedder.embed(["kettle"]).tolist() == SpacyEmbedder(pipeline=str(tiny)).embed(["kettle"]).tolist()
    (package / "meta.json").write_text(json.dumps(meta | {"version": "1.0.1"}), encoding="utf-8")
    assert "" != first != SpacyEmbedder(pipeline="en_tiny_md").content_hash()


def test_another_pipeline_is_another_embedder(tiny: Path, without_vectors: Path) -> None:
    hashes = [SpacyEmbedder(pipeline=str(folder)).content_hash() for folder in (tiny, without_vectors)]
    assert "" not in hashes
    assert hashes[0] != hashes[1]
