"""The spaCy pipelines of this machine, by their meta.json: spaCy is not imported."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from convrag.sdk.identity import digest, file_hash

_META_FILE = "meta.json"


def find_problem(pipeline: str) -> str:
    """Why a pipeline cannot be used, and what to do; empty where it can."""
    meta = read_meta(pipeline)
    if not meta:
        if Path(pipeline).expanduser().is_dir():
            return f"the folder {pipeline} holds no spaCy pipeline"
        if not pipeline.isidentifier():
            return f"there is no folder {pipeline}: give that of a spaCy pipeline, or the name of an installed one"
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
