"""Noun phrases and names found by a spaCy pipeline, in the place of the rules."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convrag import ConvragError
from convrag.sdk.errors import MissingExtra
from convrag.sdk.identity import digest, file_hash
from convrag_resolve.noun_phrases import find_noun_phrases
from convrag_resolve.reading import Reading, read_text
from convrag_resolve.tags import OPEN, Tag, Token

if TYPE_CHECKING:
    from spacy.language import Language

_NUMBERS = frozenset(("DATE", "TIME", "CARDINAL", "ORDINAL", "PERCENT", "MONEY", "QUANTITY"))
_TAGS: dict[str, Tag] = {"NOUN": "noun", "PROPN": "name", "ADJ": "adj", "VERB": "verb", "NUM": "num"}


class SpacyReader:
    """Reads texts with a spaCy pipeline, one at a time: threads share it.

    The rules still tag closed word classes; the pipeline tells nouns, names, adjectives and verbs apart, which is where
    rules err.
    """

    def __init__(self, pipeline: str) -> None:
        self.pipeline = pipeline
        self._lock = threading.Lock()
        self._language: Language | None = None
        self._read = lru_cache(maxsize=1024)(self._read_now)

    def read(self, text: str) -> Reading:
        """The words and noun phrases of a text."""
        return self._read(text)

    def _read_now(self, text: str) -> Reading:
        plain = read_text(text)
        with self._lock:
            doc = self._load()(text)
        tags: dict[int, Tag] = {}
        for word in doc:
            if word.pos_ in _TAGS:
                tags[word.idx] = _TAGS[word.pos_]
        for entity in doc.ents:
            if entity.label_ not in _NUMBERS:
                tags |= {word.idx: "name" for word in entity if word.pos_ in ("NOUN", "PROPN", "ADJ")}
        tokens = [_retag(token, tags.get(token.start)) for token in plain.tokens]
        return Reading(text, tokens, find_noun_phrases(tokens))

    def _load(self) -> Any:
        if self._language is None:
            if problem := find_problem(self.pipeline):
                raise ConvragError(problem)
            self._language = _load_pipeline(self.pipeline)
        return self._language


def _retag(token: Token, tag: Tag | None) -> Token:
    """The pipeline's tag, where both say that the word is of an open class."""
    return replace(token, tag=tag) if tag and (token.tag in OPEN or token.tag == "verb") else token


def find_problem(pipeline: str) -> str:
    """Why a pipeline cannot be used, and what to do; empty where it can."""
    if find_spec("spacy") is None:
        return str(MissingExtra("spacy", "convrag[spacy]", f"rewriter.pipeline={pipeline}"))
    if _read_meta(pipeline):
        return ""
    if Path(pipeline).expanduser().is_dir():
        return f"rewriter.pipeline: the folder {pipeline} holds no spaCy pipeline"
    return (
        f"rewriter.pipeline: the spaCy pipeline {pipeline!r} is not installed: python -m spacy download {pipeline}"
        if pipeline.isidentifier()
        else f"rewriter.pipeline: there is no folder {pipeline}; give one, or the name of an installed spaCy pipeline"
    )


def hash_pipeline(pipeline: str) -> str:
    """A hash of spaCy's version and the pipeline's release, or its files in a folder; empty where there is none."""
    if not (meta := _read_meta(pipeline)):
        return ""
    folder = Path(pipeline).expanduser()
    if not folder.is_dir():
        return digest([_find_version(), meta.get("lang"), meta.get("name"), meta.get("version")])
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return digest([_find_version(), *([path.relative_to(folder).as_posix(), file_hash(path)] for path in files)])


def _find_version() -> str:
    try:
        return version("spacy")
    except PackageNotFoundError:
        return ""


def _read_meta(pipeline: str) -> dict[str, Any]:
    folder = Path(pipeline).expanduser()
    if not folder.is_dir():
        found = find_spec(pipeline) if pipeline.isidentifier() else None
        folder = Path(found.origin).parent if found and found.origin else folder
    try:
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return meta if isinstance(meta, dict) else {}


def _load_pipeline(pipeline: str) -> Any:
    import warnings

    import spacy

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of another release of spaCy
            return spacy.load(pipeline)
    except Exception as error:  # spaCy raises many kinds
        raise ConvragError(f"the spaCy pipeline {pipeline!r} cannot be loaded: {error}") from error
