"""`embedder=spacy`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from convrag import ConvragError, Embedder
from convrag.sdk.identity import digest, file_hash
from convrag.sdk.lazy import Lazy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from spacy.language import Language

_META_FILE = "meta.json"


class SpacyEmbedder(Embedder):
    """Average the word vectors of a spaCy pipeline: with `clusterer=similarity`, GINGER's spaCy variant.

    Similarities are spaCy's: the cosine of the means. Words without a vector count as nothing; a text without
    any that has one is a zero row. Of the pipeline, only tokenizer and vectors are loaded.

    Args:
        pipeline: an installed pipeline that has vectors (their names end in _md or _lg), or the folder of one. Install
            it with `python -m spacy download en_core_web_md`.

    Raises:
        ConvragError: when it is used, the pipeline cannot be loaded, or has no vectors.
    """

    libraries = ("numpy",)
    requires: ClassVar[Mapping[str, str]] = {"spacy": "convrag[spacy]"}

    def __init__(self, *, pipeline: str = "en_core_web_md") -> None:
        self.pipeline = pipeline
        self._lock = threading.Lock()  # a pipeline adds the words that it meets to its vocabulary
        self._language = Lazy(self._load)

    def check(self) -> Iterator[str]:
        """Whether the pipeline is installed and has vectors, by its meta.json alone."""
        if problem := find_problem(self.pipeline):
            yield problem

    def content_hash(self) -> str:
        """A hash of the version of an installed pipeline, or of the files of one in a folder."""
        return hash_pipeline(self.pipeline)

    def prepare(self) -> None:
        """Load the pipeline."""
        self._language()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """N texts -> (n, d) float32 unit rows; zero rows for texts without a word that has a vector."""
        import numpy as np

        nlp = self._language()
        with self._lock:
            rows = np.zeros((len(texts), nlp.vocab.vectors_length), dtype=np.float32)
            for row, text in zip(rows, texts, strict=True):
                row[:] = nlp.make_doc(" ".join(text.split())).vector
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: NDArray[np.float32] = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        return unit

    def _load(self) -> Language:
        import warnings

        import spacy

        if problem := find_problem(self.pipeline):
            raise ConvragError(problem)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of another release of spaCy, which does not concern the vectors
                return spacy.load(self.pipeline, exclude=list(read_meta(self.pipeline).get("components", ())))
        except Exception as error:  # spaCy raises many kinds
            raise ConvragError(f"the pipeline {self.pipeline!r} cannot be loaded: {error}") from error


def find_problem(pipeline: str) -> str:
    """Why a pipeline cannot be used, and what to do; empty where it can."""
    meta = read_meta(pipeline)
    if not meta:
        if Path(pipeline).expanduser().is_dir():
            return f"the folder {pipeline} holds no spaCy pipeline"
        if not pipeline.isidentifier():
            return f"there is no folder {pipeline}: give a spaCy pipeline's, or the name of an installed one"
        return f"the pipeline {pipeline!r} is not installed: python -m spacy download {pipeline}"
    if not (meta.get("vectors") or {}).get("width"):
        return f"the pipeline {pipeline!r} has no word vectors: choose one that has, such as en_core_web_md"
    return ""


def read_meta(pipeline: str) -> dict[str, Any]:
    """The meta.json of an installed pipeline, or of one in a folder; empty where there is none."""
    try:
        found = json.loads((_find_folder(pipeline) / _META_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def hash_pipeline(pipeline: str) -> str:
    """A hash of the release of an installed pipeline, or of the files of one in a folder; empty where there is none."""
    if not (meta := read_meta(pipeline)):
        return ""
    folder = Path(pipeline).expanduser()
    if not folder.is_dir():
        return digest([meta.get("lang"), meta.get("name"), meta.get("version")])
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return digest([[path.relative_to(folder).as_posix(), file_hash(path)] for path in files])


def _find_folder(pipeline: str) -> Path:
    folder = Path(pipeline).expanduser()
    if folder.is_dir():
        return folder
    found = find_spec(pipeline) if pipeline.isidentifier() else None
    return Path(found.origin).parent if found and found.origin else folder
